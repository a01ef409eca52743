#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/python/fsdp.py learns over weir what it learns over Gloo: torch_test.py BUILD_FOLDER SOURCE_FOLDER. Skipped where the
back end was built for a PyTorch without fully_shard on CPUs (tests/torch has the tests of ddp.py)."""

import os
import re
import subprocess
import sys

from commands import environment

SKIPPED = 77
SMALL = ["--ranks", "2", "--steps", "10", "--width", "32", "--layers", "1", "--heads", "2", "--batch", "2", "--length", "16"]


def losses(python, build, source, backend):
  done = subprocess.run([python, f"{source}/examples/python/fsdp.py", "--backend", backend, *SMALL], capture_output=True, text=True,
                        check=False, timeout=240, env=environment(PYTHONPATH=f"{build}/python"))
  if done.returncode == SKIPPED or "No module named 'torch'" in done.stderr:
    print(done.stdout or "skipped: there is no PyTorch")
    sys.exit(SKIPPED)
  found = re.search(rf"{backend}, 2 ranks: loss ([\d.]+) to ([\d.]+); rank 0 keeps (\d+) of (\d+) parameters", done.stdout)
  assert done.returncode == 0 and found, f"{done.stdout}\n{done.stderr}"
  first, last, own, whole = (float(number) for number in found.groups())
  assert own <= 0.55 * whole, f"rank 0 keeps {own} of {whole} parameters"
  return first, last


def main():
  build, source, python = (os.path.abspath(path) for path in sys.argv[1:4])
  ours, gloos = losses(python, build, source, "weir"), losses(python, build, source, "gloo")
  # A sum of two has one order only.
  assert ours == gloos and ours[1] < ours[0], f"losses {ours} over weir, {gloos} over Gloo"
  print(f"losses {ours} over both")


if __name__ == "__main__":
  main()
