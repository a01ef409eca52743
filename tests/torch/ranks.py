# SPDX-License-Identifier: Apache-2.0
"""Runs ranks of PyTorch's process groups as processes of the same script, for the tests beside this file.

A script calls main({"name": check, ...}) with functions check(ranks). Its options: the folder of the package, how many
ranks, which checks. A check raises Wrong. The exit code is 0, 1, or 77 where PyTorch or the back end is not there.
"""

import argparse
import datetime
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SKIPPED = 77
DEBIANS = "/usr/bin/python3"
LONGEST = 500  # seconds, for all ranks of a script


class Wrong(Exception):
  """A result is not what it has to be."""


def expect(right, *what):
  if not right:
    raise Wrong(" ".join(str(word) for word in what))


def expect_same(what, got, wanted):
  """The same shape, type and bits (where a number is none, both have none)."""
  import torch
  expect(got.shape == wanted.shape, what, "has shape", tuple(got.shape), "and not", tuple(wanted.shape))
  expect(got.dtype == wanted.dtype, what, "is", got.dtype, "and not", wanted.dtype)
  expect(torch.equal(got, wanted), what, "is", got.flatten()[:8], "and not", wanted.flatten()[:8])


def error_of(what, act):
  """The words of the error that act() raises."""
  try:
    act()
  except (RuntimeError, ValueError) as error:  # the latter is PyTorch's own from 2 on, before weir is asked
    return str(error)
  raise Wrong(f"{what} has raised nothing")


class Ranks:
  """What a rank knows: its number, and a group over Gloo to compare with."""

  def __init__(self, options):
    import torch
    import torch.distributed as dist
    import weir_torch
    self.torch, self.dist, self.weir = torch, dist, weir_torch
    self.rank, self.size, self.folder = options.rank, options.ranks, options.folder
    self.gloo = None

  def start(self, timeout=120.0, gloo=True):
    """Joins the default group, over weir, and one over Gloo."""
    self.dist.init_process_group("weir", init_method=f"file://{self.folder}/meeting", rank=self.rank,
                                 world_size=self.size, timeout=datetime.timedelta(seconds=timeout))
    if gloo:
      self.gloo = self.dist.new_group(backend="gloo")

  def meet(self, name, wait=True):
    """A barrier by files, which needs none of what is tested: in the folder, each rank leaves one."""
    with open(f"{self.folder}/{name}.{self.rank}", "w", encoding="utf-8"):
      pass
    while wait and not all(os.path.exists(f"{self.folder}/{name}.{rank}") for rank in range(self.size)):
      time.sleep(0.01)


def _be_a_rank(options, checks, at_once):
  try:
    ranks = Ranks(options)
    for name in options.checks or checks:
      checks[name](ranks)
      if ranks.rank == 0:
        print(f"{name}: right", flush=True)
    if at_once:
      sys.stdout.flush()
      os._exit(0)
  except Exception as error:  # whatever it is: the others must not wait for this rank in vain
    if not isinstance(error, Wrong):
      traceback.print_exc()
    print(f"rank {options.rank}: {type(error).__name__}: {error}", flush=True)
    sys.stdout.flush()
    os._exit(1)
  return 0


def start_ranks(command, count, environment=None):
  """One process per rank, command(rank) each, with what they print."""
  # When a call fails, PyTorch 2.15 writes a trace with symbols of the stack, and ends by SIGABRT if it takes longer than the process lives.
  fixed = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "TORCH_FR_DUMP_ON_TIMEOUT": "0"}
  processes = []
  for rank in range(count):
    log = tempfile.TemporaryFile("w+", encoding="utf-8")
    processes.append((subprocess.Popen(command(rank), stdout=log, stderr=subprocess.STDOUT,
                                       env={**os.environ, **fixed, **(environment or {})}), log))
  return processes


def collect(processes, may_die=False):
  """Waits for all, and ends the others when one has failed (unless it may). (exit code, text) of each."""
  deadline = time.monotonic() + LONGEST
  codes = [None] * len(processes)
  while None in codes:
    time.sleep(0.02)
    codes = [process.poll() for process, _ in processes]
    failed = any(code not in (None, 0) for code in codes) and not may_die
    if failed or time.monotonic() > deadline:
      time.sleep(2)  # for the others to say what they saw
      for process, _ in processes:
        if process.poll() is None:
          process.kill()
  texts = []
  for _, log in processes:
    log.seek(0)
    texts.append(log.read())
    log.close()
  return list(zip(codes, texts))


def find_torch(package):
  """Goes on with Debian's Python where this one has no PyTorch. Ends with 77 and a sentence without it."""
  sys.path.insert(0, package)
  if not importlib.util.find_spec("torch"):  # to import it would take a second
    if sys.executable != DEBIANS and os.access(DEBIANS, os.X_OK):
      os.execv(DEBIANS, [DEBIANS, *sys.argv])
    print("skipped: PyTorch is not installed (python3-torch)")
    sys.exit(SKIPPED)
  if not os.path.isdir(os.path.join(package, "weir_torch")):
    print("skipped: the back end is not built (libtorch-dev, pybind11-dev, python3-dev)")
    sys.exit(SKIPPED)


def options_of(argv=None):
  parser = argparse.ArgumentParser()
  parser.add_argument("package", help="folder that has weir_torch")
  parser.add_argument("--ranks", type=int, default=2)
  parser.add_argument("--rank", type=int, default=-1)
  parser.add_argument("--folder", help="that all ranks share")
  parser.add_argument("checks", nargs="*")
  return parser.parse_intermixed_args(argv)


def started(check, gloo=False):
  """The check, with the ranks begun before the first one."""
  def run(ranks):
    if not ranks.dist.is_initialized():
      ranks.start(gloo=gloo)
    check(ranks)
  return run


def main(checks, killed=(), at_once=False):
  """`killed`: ranks that have to end by SIGKILL. `at_once`: a rank that is right leaves without destructors."""
  options = options_of()
  find_torch(options.package)
  if options.rank >= 0:
    sys.exit(_be_a_rank(options, checks, at_once))
  with tempfile.TemporaryDirectory() as folder:
    def command(rank):
      return [sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:], "--rank", str(rank), "--folder", folder]
    results = collect(start_ranks(command, options.ranks), may_die=bool(killed))
  wrong = [rank for rank, (code, _) in enumerate(results) if code != (-signal.SIGKILL if rank in killed else 0)]
  for rank, (code, text) in enumerate(results):
    if text.strip() or code != 0:
      print(f"--- rank {rank} ended with {code}\n{text.strip()}")
  print(f"wrong: ranks {wrong}" if wrong else f"{options.ranks} ranks are right")
  sys.exit(1 if wrong else 0)
