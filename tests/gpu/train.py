#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole program on a GPU trains as on the CPU: train.py WEIR_TRAIN [FOLDER_OF_STAND_INS].

With a folder on stand-ins of the driver and of cuBLAS: one rank, two ranks with a GPU each, two that share a model by
stages or slices, two on one GPU with halves on the wire, and a tied output layer. Without one on the GPU that is there: 1, 2 and 4 ranks on
it, also with parts of models, and more steps. Losses are the CPU's within rounding, and a run's parameters have the same
bits once more.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

TOLERANCE = 1e-5
# Of 40 steps, in which what differs in rounding grows.
REAL_TOLERANCE = 5e-3
HALVES_TOLERANCE = 2e-3
GPU_MIB = 1024  # of a stand-in
SHORT = ["--preset", "tiny", "--evaluate-every", "0", "--evaluation-sequences", "2", "--sample", "1"]
RUN = [*SHORT, "--blocks", "1", "--steps", "2", "--batch", "3", "--micro-batch", "1"]
LONGER = [*SHORT, "--blocks", "4", "--steps", "40", "--batch", "16", "--micro-batch", "4"]


def environment(folder, gpus):
  return os.environ | {
      "LD_LIBRARY_PATH": folder,
      "WEIR_TRAIN_KERNELS": os.path.join(folder, "libfake_train_image.so"),
      "WEIR_GPU_KERNELS": os.path.join(folder, "libfake_gpu_image.so"),
      "WEIR_FAKE_GPUS": str(gpus),
      "WEIR_FAKE_GPU_BYTES": str(GPU_MIB << 20),
  }


def train(program, options, env, run=RUN):
  """(losses by step, digest, what was printed)."""
  with tempfile.NamedTemporaryFile("r") as metrics:
    done = subprocess.run([program, *run, "--metrics", metrics.name, *options], env=env, timeout=240,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
      sys.exit(f"{' '.join(options)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    losses = [line["loss"] for line in map(json.loads, metrics) if "loss" in line]
  return losses, re.search(r"parameters and moments: (\w+)", done.stdout).group(1), done.stdout


def compare(name, got, expected, tolerance):
  if len(got) != len(expected) or not got:
    sys.exit(f"{name}: {len(got)} losses, expected {len(expected)}")
  worst = max(abs(a - b) for a, b in zip(got, expected))
  print(f"{name}: losses at most {worst:.1e} from the CPU's")
  if worst > tolerance:
    sys.exit(f"{name}: {got}, expected {expected} within {tolerance}")


def on_real_gpu(program):
  """1, 2 and 4 ranks on one GPU, which must be the first; 77 where there is none."""
  libraries = os.environ.get("LD_LIBRARY_PATH", "") + ":/usr/local/cuda/lib64"
  env = os.environ | {"CUDA_VISIBLE_DEVICES": "0", "LD_LIBRARY_PATH": libraries}
  first = subprocess.run([program, *RUN, "--device", "gpu"], env=env, capture_output=True, text=True, check=False)
  if first.returncode != 0:
    print(f"skipped: {first.stderr.strip()}")
    sys.exit(77)
  expected, _, _ = train(program, ["--device", "cpu"], env, LONGER)
  for ranks in ("", "--ranks 2", "--ranks 4", "--ranks 2 --pipeline 2", "--ranks 2 --tensor 2"):
    options = ["--device", "gpu", *ranks.split()]
    losses, digest, _ = train(program, options, env, LONGER)
    compare(ranks or "one rank", losses, expected, REAL_TOLERANCE)
    if train(program, options, env, LONGER)[1] != digest:
      sys.exit(f"{ranks or 'one rank'}: a second run has other bits")


def checkpoints(program, folder, options):
  """What ranks on GPUs save is what ranks on CPUs have after loading it, and the other way."""
  for first, then in (("gpu", "cpu"), ("cpu", "gpu")):
    with tempfile.TemporaryDirectory() as kept:
      keep = [*options, "--checkpoints", kept, "--stop-after", "2"]
      losses, digest, _ = train(program, [*keep, "--device", first, "--ranks", "2"], environment(folder, 2))
      none, loaded, _ = train(program, [*keep, "--device", then], environment(folder, 1))
      if len(losses) != 2 or none or loaded != digest:
        sys.exit(f"a checkpoint from a {first} on a {then}: {len(losses)} and {len(none)} steps, {digest} and {loaded}")


def canonical_digest(program, folder, options, rankings):
  """That of canonical sums, which all numbers of ranks and strategies have."""
  canonical = ["--device", "gpu", "--deterministic", "canonical", *options]
  digests = {train(program, [*canonical, *ranks.split()], environment(folder, 2))[1] for ranks in rankings}
  if len(digests) != 1:
    sys.exit(f"canonical sums on GPUs {' '.join(options)} depend on who makes them: {digests}")
  return digests.pop()


def tied(program, folder):
  """One table for embedding and output layer: gathered once, with gradients from both."""
  expected, _, _ = train(program, ["--tied", "--device", "cpu"], os.environ)
  for ranks, gpus in (("", 1), ("--ranks 2", 2), ("--ranks 2 --tensor 2", 1), ("--ranks 2 --strategy gradients --recompute full", 1)):
    options = ["--tied", "--device", "gpu", *ranks.split()]
    losses, digest, _ = train(program, options, environment(folder, gpus))
    compare(f"tied, {ranks or 'one rank'}", losses, expected, TOLERANCE)
    if train(program, options, environment(folder, gpus))[1] != digest:
      sys.exit(f"tied, {ranks or 'one rank'}: a second run has other bits")
  canonical_digest(program, folder, ["--tied"], ("", "--ranks 2", "--ranks 3 --strategy none"))
  checkpoints(program, folder, ["--tied"])


def automatic(program, folder, expected):
  """A plan for two ranks that share a GPU, made from what it measures and the memory that the GPU has left."""
  losses, _, printed = train(program, ["--device", "gpu", "--ranks", "2", "--auto"], environment(folder, 1))
  compare("--auto", losses, expected, TOLERANCE)
  budget = re.search(r"predicted, [\d.]+ of (\d+) MiB", printed)
  most = GPU_MIB * 4 / 5 / 2
  if "measured here" not in printed or budget is None or not most / 2 < int(budget.group(1)) <= most:
    sys.exit(f"--auto: expected a half of four fifths of what is left of {GPU_MIB} MiB:\n{printed}")


def main():
  program = sys.argv[1]
  if len(sys.argv) == 2:
    on_real_gpu(program)
    return
  folder = sys.argv[2]
  expected, _, _ = train(program, ["--device", "cpu"], os.environ)
  one, digest, printed = train(program, ["--device", "gpu"], environment(folder, 1))
  if "cuBLAS" not in printed:
    sys.exit(f"not on a GPU:\n{printed}")
  compare("one rank", one, expected, TOLERANCE)
  if train(program, ["--device", "auto"], environment(folder, 1))[1] != digest:
    sys.exit("a second run, which takes the GPU that it finds, has other bits")
  two = ["--device", "gpu", "--ranks", "2"]
  compare("two GPUs", train(program, two, environment(folder, 2))[0], expected, TOLERANCE)
  for part, gpus in (("--pipeline", 2), ("--tensor", 1)):
    compare(f"two ranks, {part} 2", train(program, [*two, part, "2"], environment(folder, gpus))[0], expected, TOLERANCE)
  halves = [*two, "--gather", "bf16", "--reduce", "bf16"]
  compare("one GPU for two", train(program, halves, environment(folder, 1))[0], expected, HALVES_TOLERANCE)
  canonical_digest(program, folder, [],
                   ("", "--ranks 2", "--ranks 2 --strategy none", "--ranks 3 --strategy hybrid --shard-ranks 1"))
  checkpoints(program, folder, [])
  tied(program, folder)
  automatic(program, folder, expected)
  none = subprocess.run([program, *RUN, "--device", "gpu"], env=os.environ | {"LD_LIBRARY_PATH": "/nowhere"},
                        capture_output=True, text=True, check=False)
  if none.returncode == 0 or "GPU" not in none.stderr:
    sys.exit(f"no GPU: {none.returncode} {none.stderr}")


if __name__ == "__main__":
  main()
