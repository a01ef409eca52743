# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a PyTorch script as processes on one device, and tells each what it is.

A script calls run(check); check(ranks) raises Wrong or Skip, or returns a sentence about what was right. Options of the
script: --ranks N, --backend nccl|gloo, --device cuda|cpu. The last line that it prints says how it went; the exit code is 0,
1 or, for what this machine cannot do, 77. Gloo on the CPU tests the scripts themselves.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile

SKIPPED = 77


class Wrong(Exception):
  """A result is not what it has to be."""


class Skip(Exception):
  """This machine, this PyTorch or this backend cannot do what is to be tested."""


def version(torch):
  """(major, minor) of PyTorch."""
  return tuple(int(part) for part in torch.__version__.split(".")[:2])


def expect_close(what, got, wanted, tolerance=0.0):
  """Raises Wrong unless the tensors have the same shape, and values as near as this relative to the largest one."""
  got, wanted = got.detach().cpu().double(), wanted.detach().cpu().double()
  if got.shape != wanted.shape:
    raise Wrong(f"{what}: the shape is {tuple(got.shape)}, expected {tuple(wanted.shape)}")
  if got.numel() == 0:
    return
  difference = (got - wanted).abs().max().item()
  allowed = tolerance * max(1.0, wanted.abs().max().item())
  if not difference <= allowed:
    raise Wrong(f"{what}: off by {difference:g}, at most {allowed:g} is allowed")


class Ranks:
  """What a rank knows: its number, the tensors' device, and a group over Gloo to compare with."""

  def __init__(self, options):
    import torch
    import torch.distributed as dist
    self.torch, self.dist = torch, dist
    self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    self.backend, self.kind = options.backend, options.device
    self.meeting = os.environ["ACCEPT_MEETING"]
    if self.kind == "cuda":
      torch.cuda.set_device(0)  # all ranks share the one GPU
    self.device = torch.device("cuda", 0) if self.kind == "cuda" else torch.device("cpu")
    self.gloo = None

  def start(self, **options):
    """Joins the process group, as programs do; options are those of init_process_group."""
    self.dist.init_process_group(self.backend, init_method=f"file://{self.meeting}", rank=self.rank,
                                 world_size=self.size, **options)
    self.gloo = self.dist.new_group(backend="gloo")

  def barrier(self):
    """Over Gloo, which needs nothing of what is tested."""
    self.dist.barrier(group=self.gloo)

  def synchronize(self):
    if self.kind == "cuda":
      self.torch.cuda.synchronize()

  def only_with_a_gpu(self, what):
    if self.kind != "cuda" or self.backend != "nccl":
      raise Skip(f"{what} needs a GPU and the backend nccl")

  def needs(self, major, minor, what):
    if version(self.torch) < (major, minor):
      raise Skip(f"{what} needs PyTorch {major}.{minor}; this is {self.torch.__version__}")


def _library():
  """The file whose ncclAllReduce PyTorch calls: the first in the order of loading. PyTorch may load its own beside it."""
  try:
    address = ctypes.cast(ctypes.CDLL(None).ncclAllReduce, ctypes.c_void_p).value
  except AttributeError:
    return "no library"
  with open("/proc/self/maps", encoding="utf-8") as maps:
    for line in maps:
      begin, end = (int(bound, 16) for bound in line.split()[0].split("-"))
      if begin <= address < end:
        return line.split()[-1]
  return "no file"


def _expect_library(backend):
  wanted = os.environ.get("ACCEPT_LIBRARY")
  if backend != "nccl" or not wanted:
    return
  found = _library()
  if found != os.path.realpath(wanted):
    raise Wrong(f"ncclAllReduce is that of {found}, expected {os.path.realpath(wanted)}")


def _be_a_rank(options, check):
  try:
    ranks = Ranks(options)
    _expect_library(options.backend)
    said = check(ranks)
  except Skip as reason:
    print(f"skipped: {reason}", flush=True)
    return SKIPPED
  except Exception as error:  # whatever it is, the others must not wait for this rank in vain
    if not isinstance(error, Wrong):
      import traceback
      traceback.print_exc()
    print(f"rank {os.environ['RANK']}: {type(error).__name__}: {error}", flush=True)
    return 1
  if said:
    print(said, flush=True)
  return 0


def _start(options, folder):
  """One process per rank, each with a file for what it prints."""
  processes = []
  for rank in range(options.ranks):
    environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(options.ranks), LOCAL_RANK="0",
                       ACCEPT_MEETING=os.path.join(folder, "meeting"), OMP_NUM_THREADS="1")
    log = open(os.path.join(folder, f"rank{rank}"), "w+", encoding="utf-8")  # closed with the process of this script
    processes.append((subprocess.Popen([sys.executable, *sys.argv], env=environment, stdout=log,
                                       stderr=subprocess.STDOUT), log))
  return processes


def _collect(processes):
  """Waits for all; after one has failed the others are given up. (code, text) of each."""
  codes = [None] * len(processes)
  while None in codes:
    for index, (process, _) in enumerate(processes):
      try:
        codes[index] = process.wait(timeout=0.05)
      except subprocess.TimeoutExpired:
        continue
      if codes[index] not in (0, SKIPPED):
        for other, _ in processes:
          other.poll() is None and other.terminate()
  texts = []
  for _, log in processes:
    log.seek(0)
    texts.append(log.read())
    log.close()
  return codes, texts


def run(check):
  """Runs check in every rank and exits."""
  parser = argparse.ArgumentParser()
  parser.add_argument("--ranks", type=int, default=2)
  parser.add_argument("--backend", default="nccl", choices=["nccl", "gloo"])
  parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
  options = parser.parse_args()
  try:
    import torch
  except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(SKIPPED)
  if "ACCEPT_MEETING" in os.environ:
    code = _be_a_rank(options, check)
    sys.stdout.flush()
    os._exit(code)  # what an aborted group leaves behind is not to decide
  if options.device == "cuda" and not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(SKIPPED)
  with tempfile.TemporaryDirectory() as folder:
    codes, texts = _collect(_start(options, folder))
  # A rank that was given up ends by a signal: those that failed by themselves come last, where people look.
  for _, text in sorted(zip(codes, texts), key=lambda pair: (pair[0] > 0 and pair[0] != SKIPPED, pair[0] == 0)):
    sys.stdout.write(text)
  sys.exit(1 if any(code not in (0, SKIPPED) for code in codes) else max(codes))
