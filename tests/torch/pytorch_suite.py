#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of torch.distributed that PyTorch's package carries, over Gloo and over weir in Gloo's place.

pytorch_suite.py PACKAGE [--ranks N] [--match TEXT]... [--limit SECONDS] [--tools FOLDER] [--table]

Unchanged: torch.testing._internal.distributed.distributed_test, which has the back end's name from the environment. Each rank
is a fork of this process, so that PyTorch is imported once. Each test ends after --limit seconds. Prints each test whose
result differs, with a line of its error, then a table; without --table, Gloo runs only what does not pass over weir. The exit
code is 1 if a test fails that passes over Gloo, and is not in EXPLAINED.
"""

import argparse
import collections
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import ranks as harness

EXPLAINED = {
    "test_ddp_logging_data_cpu": "DDP's log names a back end by its type, which is 'custom' for all but PyTorch's own",
}


def options_of():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("package", help="folder that has weir_torch")
  parser.add_argument("--ranks", type=int, default=2)
  parser.add_argument("--match", action="append", default=[], help="only tests whose names contain one of these")
  parser.add_argument("--limit", type=int, default=120, help="seconds for a test")
  parser.add_argument("--tools", help="folder to which expecttest is installed, once, where an index of packages answers")
  parser.add_argument("--table", action="store_true", help="run each test over Gloo, too")
  parser.add_argument("--one", help=argparse.SUPPRESS)
  return parser.parse_args()


def find_expecttest(folder):
  """PyTorch's tests import it; Debian does not have it."""
  if importlib.util.find_spec("expecttest") or folder is None:
    return
  sys.path.insert(0, folder)
  if not importlib.util.find_spec("expecttest"):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, "expecttest==0.2.1"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    importlib.invalidate_caches()


def suite_of(ranks):
  """The class of PyTorch's tests, whose ranks are forks."""
  os.environ.update(BACKEND="gloo", WORLD_SIZE=str(ranks), TEMP_DIR=tempfile.mkdtemp(), OMP_NUM_THREADS="1")
  from torch.testing._internal.distributed import distributed_test
  import torch

  class Suite(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def _spawn_processes(self):
      self._start_processes(torch.multiprocessing.get_context("fork").Process)

    def setUp(self):
      super().setUp()
      self._spawn_processes()

  Suite.__name__ = Suite.__qualname__ = "TestDistBackendWithSpawn"  # its tests may ask
  sys.modules["__main__"].TestDistBackendWithSpawn = Suite
  return Suite


def run_one(options):
  """Runs the test `options.one` over weir or Gloo; the result is the exit code, what it prints the error."""
  sys.path.insert(0, options.package)
  import torch.distributed
  if os.environ.get("SUITE_OVER") == "weir":
    import weir_torch
    weir_torch.replace("gloo")
  result = unittest.TestResult()
  unittest.TestSuite([suite_of(options.ranks)(options.one)]).run(result)
  for _, text in result.errors + result.failures:
    print(text)
  sys.stdout.flush()
  os._exit(harness.SKIPPED if result.skipped else 0 if result.wasSuccessful() and result.testsRun else 1)


def outcome(child, log, limit):
  """What became of a test that is run by a forked process, and what it has printed."""
  deadline = time.monotonic() + limit
  while True:
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended:
      break
    if time.monotonic() > deadline:
      os.killpg(child, signal.SIGKILL)
      os.waitpid(child, 0)
      return "late", f"not done after {limit} s"
    time.sleep(0.02)
  try:
    os.killpg(child, signal.SIGKILL)  # ranks that are left
  except ProcessLookupError:
    pass
  log.seek(0)
  text = log.read()
  code = os.waitstatus_to_exitcode(status)
  return {0: "passed", harness.SKIPPED: "skipped"}.get(code, "failed"), text


def run(options, over, name):
  os.environ["SUITE_OVER"] = over
  with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log, tempfile.TemporaryDirectory() as folder:
    child = os.fork()
    if child == 0:
      os.setpgid(0, 0)
      os.environ["TMPDIR"] = tempfile.tempdir = folder  # PyTorch's tests leave files there
      os.dup2(log.fileno(), 1)
      os.dup2(log.fileno(), 2)
      options.one = name
      try:
        run_one(options)
      finally:
        os._exit(1)
    return outcome(child, log, options.limit)


def reason(text):
  """The line of a failure's text that says most."""
  lines = [line.strip() for line in text.splitlines() if line.strip()]
  errors = [line for line in lines if "Error:" in line and "Process" not in line and "exited with" not in line]
  return (errors or lines or ["no output"])[-1][:200]


def main():
  options = options_of()
  harness.find_torch(options.package)
  find_expecttest(options.tools)
  try:
    import torch
    import torch.distributed
    import weir_torch  # noqa: F401
    names = unittest.TestLoader().getTestCaseNames(suite_of(options.ranks))
  except ImportError as error:
    print(f"skipped: {error}")
    return harness.SKIPPED
  if options.match:
    names = [name for name in names if any(text in name for text in options.match)]
  counts = {over: collections.Counter() for over in ("gloo", "weir")}
  wrong = []
  for name in names:
    result, text = run(options, "weir", name)
    counts["weir"][result] += 1
    if result == "passed" and not options.table:
      continue
    gloo, _ = run(options, "gloo", name)
    counts["gloo"][gloo] += 1
    if result != gloo:
      print(f"{name}: Gloo {gloo}, weir {result}: {EXPLAINED.get(name) or reason(text)}", flush=True)
      if result in ("failed", "late") and gloo == "passed" and name not in EXPLAINED:
        wrong.append(name)
  print(f"PyTorch {torch.__version__}, {options.ranks} ranks, {len(names)} tests")
  for over, count in counts.items():
    print(f"{over:>5}, {sum(count.values())} tests: " + ", ".join(f"{count[result]} {result}" for result in ("passed", "failed", "late", "skipped")))
  print(f"wrong: {', '.join(wrong)}" if wrong else "right: nothing fails that passes over Gloo")
  return 1 if wrong else 0


if __name__ == "__main__":
  sys.exit(main())
