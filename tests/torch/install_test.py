#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pip installs the package from the build tree, and it works where it was put, by its name and in Gloo's place:
install_test.py BUILD/python."""

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


# site reads the file weir_torch.pth as Python does when it starts.
REPLACED = """
import site, sys
site.addsitedir(sys.argv[1])
assert "torch" not in sys.modules and "weir_torch" not in sys.modules
import torch, torch.distributed as dist
dist.init_process_group("gloo", init_method=sys.argv[2], rank=int(sys.argv[3]), world_size=2)
tensor = torch.ones(3)
dist.all_reduce(tensor)
assert tensor.tolist() == [2.0] * 3, tensor
name = dist.get_backend()
dist.destroy_process_group()
print("weir" if "weir_torch" in sys.modules else "Gloo", "is called", name)
"""


def run_ranks(program, place, folder, name, environment=None):
  """What two ranks print, without what Gloo says of its connections (PyTorch 2.10); None if one has failed."""
  results = harness.collect(harness.start_ranks(
      lambda rank: [sys.executable, "-c", program, place, f"file://{folder}/{name}", str(rank)], 2, environment))
  texts = ["\n".join(line for line in text.strip().splitlines() if not line.startswith("[Gloo] ")) for _, text in results]
  print(*texts, sep="\n")
  return texts if all(code == 0 for code, _ in results) else None


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
    right = (run_ranks(PROGRAM, place, folder, "named") == ["installed"] * 2 and
             run_ranks(REPLACED, place, folder, "plain") == ["Gloo is called gloo"] * 2 and
             run_ranks(REPLACED, place, folder, "replaced", {"WEIR_TORCH_REPLACE": "gloo"}) == ["weir is called gloo"] * 2)
    wrong = run_ranks(REPLACED, place, folder, "wrong", {"WEIR_TORCH_REPLACE": "mpi"}) or [""]
  sentence = "weir: WEIR_TORCH_REPLACE is 'mpi' and has no effect; expected gloo"
  return 0 if right and all(text == f"{sentence}\nGloo is called gloo" for text in wrong) else 1


if __name__ == "__main__":
  sys.exit(main())
