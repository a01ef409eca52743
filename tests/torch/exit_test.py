#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How processes with a group end, in which the group outlives the interpreter: exit_test.py PACKAGE."""

import atexit
import os
import signal
import subprocess
import sys
import tempfile

from ranks import find_torch


def use_the_group_too_late():
  import torch
  try:
    torch.distributed.all_reduce(torch.ones(2))
  except RuntimeError as error:
    print(error, flush=True)


def be_a_rank(forks):
  if not forks:
    atexit.register(use_the_group_too_late)  # before weir_torch, whose own handler comes first then
  import torch
  import weir_torch  # noqa: F401
  with tempfile.TemporaryDirectory() as folder:
    torch.distributed.init_process_group("weir", init_method=f"file://{folder}/meeting", rank=0, world_size=1)
    torch.distributed.all_reduce(torch.ones(2))
  if forks:
    child = os.fork()
    if child == 0:
      signal.alarm(60)  # in case that it waits for threads which it does not have
    else:
      print("child ended with", os.waitpid(child, 0)[1])
    sys.exit()


def check(package, kind, expected):
  done = subprocess.run([sys.executable, os.path.abspath(__file__), package, kind], capture_output=True, text=True, check=False,
                        timeout=100)
  assert done.returncode == 0 and expected in done.stdout, (kind, done)


def main():
  find_torch(sys.argv[1])
  if len(sys.argv) > 2:
    return be_a_rank(sys.argv[2] == "forks")
  check(sys.argv[1], "late", "the group was closed, by shutdown() or because the interpreter is shutting down")
  check(sys.argv[1], "forks", "child ended with 0")
  return None


if __name__ == "__main__":
  main()
