#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pip installs the package from the build tree, and it works where it was put: install_test.py BUILD/python."""

import importlib.util
import os
import subprocess
import sys
import tempfile

import ranks as harness

PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
import torch, torch.distributed as dist, weir_torch
assert weir_torch.__file__.startswith(sys.argv[1]), weir_torch.__file__
dist.init_process_group("weir", init_method=sys.argv[2], rank=int(sys.argv[3]), world_size=2)
tensor = torch.ones(3)
dist.all_reduce(tensor)
assert tensor.tolist() == [2.0] * 3, tensor
maps = open("/proc/self/maps").read()
assert sys.argv[1] + "/weir_torch/libweir.so" in maps and maps.count("/libweir.so.0\\n") == maps.count(sys.argv[1] + "/weir_torch/libweir.so.0\\n")
print("installed")
"""


def main():
  built = os.path.abspath(sys.argv[1])
  harness.find_torch(built)
  sys.path.remove(built)
  missing = [name for name in ("pip", "setuptools", "wheel") if importlib.util.find_spec(name) is None]
  if missing:
    print("skipped: there is no " + " and no ".join(f"python3-{name}" for name in missing))
    return harness.SKIPPED
  with tempfile.TemporaryDirectory() as folder:
    folder = os.path.realpath(folder)
    place = os.path.join(folder, "packages")
    subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation",
                    "--disable-pip-version-check", "--no-cache-dir", "--target", place, built], check=True)
    results = harness.collect(harness.start_ranks(
        lambda rank: [sys.executable, "-c", PROGRAM, place, f"file://{folder}/meeting", str(rank)], 2))
  for code, text in results:
    print(text.strip())
  return 0 if all(code == 0 and "installed" in text for code, text in results) else 1


if __name__ == "__main__":
  sys.exit(main())
