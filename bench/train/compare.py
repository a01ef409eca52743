#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares tokens per second of weir-train and PyTorch over Gloo: compare.py build/bin.

weir-train's --strategy none is compared with PyTorch's DistributedDataParallel, its strategy full with FSDP2 (PyTorch 2.6 or later).
Model, batch and optimizer are the same (torch_gpt.py), with one thread per rank and the built-in text. The programs alternate within
a round; a figure is the median over all rounds of the medians of the steps after the first three. PyTorch is that of the interpreter
that runs this program, or else Debian's. PyPI's package includes MKL. Debian's needs a fast BLAS beside it (libopenblas0-pthread):
without one the comparison is refused. OpenBLAS mistakes processors that are newer than itself for very old ones; therefore it gets
the name of the core whose matrix products are the fastest on this machine.
"""

import argparse
import collections
import json
import lzma
import os
import socket
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "..", "trainer", "data", "kjv.txt.xz")
LENGTHS = {"tiny": 64, "small": 128, "medium": 256, "124M": 1024}
WARM_UP = 3
# OpenBLAS's name of a core, and the processor features that it needs.
CORES = {None: "", "Haswell": "avx2", "SkylakeX": "avx512f"}
# Prints GFLOP/s of matrix products on one core.
PROBE = """
import time, torch
torch.set_num_threads(1)
a, b = torch.randn(2048, 256), torch.randn(1024, 256)
rates = []
for _ in range(20):
  begin = time.perf_counter()
  torch.nn.functional.linear(a, b)
  rates.append(2 * 2048 * 256 * 1024 / 1e9 / (time.perf_counter() - begin))
print(max(rates))
"""
# The reference BLAS, which Debian installs by default, has 1 to 5; a core with AVX2, AVX-512 or NEON has 30 and more with any fast one.
LEAST_GFLOPS = 12
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def python_with_torch():
  """Finds an interpreter with PyTorch: Debian's package supports only Debian's interpreter, which may not be the first one."""
  for python in (sys.executable, "/usr/bin/python3"):
    if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
      return python
  return None


def quickest_core(python):
  """Returns environment variables for OpenBLAS. Ends the program if PyTorch multiplies slowly with all of them."""
  with open("/proc/cpuinfo", encoding="utf-8") as file:
    flags = next((line for line in file if line.startswith("flags")), "").split()
  rates = {}
  for core, needs in CORES.items():
    if needs and needs not in flags:
      continue
    variables = {"OPENBLAS_CORETYPE": core} if core else {}
    done = subprocess.run([python, "-c", PROBE], env={**os.environ, **ONE_THREAD, **variables}, capture_output=True, check=True)
    rates[core] = float(done.stdout), variables
  rate, variables = max(rates.values(), key=lambda found: found[0])
  if rate < LEAST_GFLOPS:
    sys.exit(f"compare.py: matrix products of the PyTorch of {python} run at {rate:.1f} GFLOP/s; expected at least {LEAST_GFLOPS} on "
             "one core: it has no fast BLAS. On Debian: apt-get install libopenblas0-pthread, or use PyPI's torch, which includes MKL")
  return variables


def has_fsdp2(python):
  return subprocess.run([python, "-c", "from torch.distributed.fsdp import fully_shard"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def free_port():
  with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    return probe.getsockname()[1]


def median_step(lines):
  seconds = [line["seconds"] for line in lines if "seconds" in line][WARM_UP:]
  if not seconds:
    sys.exit("a program printed no steps; expected one line per step")
  return statistics.median(seconds)


def run_torch(python, arguments, ranks, text, core, way):
  command = [python, os.path.join(HERE, "torch_gpt.py"), "--preset", arguments.preset, "--steps", str(arguments.steps)]
  command += ["--batch", str(arguments.batch), "--data", text, "--way", way]
  meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(ranks), **core}
  started = [
      subprocess.Popen(command, env={**os.environ, **ONE_THREAD, **meeting, "RANK": str(rank)}, stdout=subprocess.PIPE)
      for rank in range(ranks)
  ]
  output = started[0].communicate()[0]
  if any(process.wait() != 0 for process in started):
    sys.exit("the PyTorch program failed")
  return median_step([json.loads(line) for line in output.splitlines()])


def run_weir(programs, arguments, ranks, strategy, folder):
  metrics = os.path.join(folder, "metrics.jsonl")
  command = [os.path.join(programs, "weir-train"), "--preset", arguments.preset, "--steps", str(arguments.steps)]
  command += ["--batch", str(arguments.batch), "--strategy", strategy, "--metrics", metrics]
  command += ["--sample", "0", "--evaluation-sequences", "1", "--ranks", str(ranks)]
  subprocess.run(command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.DEVNULL, check=True)
  with open(metrics, encoding="utf-8") as file:
    return median_step([json.loads(line) for line in file])


def measure(python, arguments, ranks, text, core, folder, rivals):
  """Returns the seconds of a step, one figure per round, of each strategy and each of PyTorch's ways."""
  taken = collections.defaultdict(list)
  for _ in range(arguments.rounds):
    for strategy, way in rivals.items():
      if way is not None:
        taken[way].append(run_torch(python, arguments, ranks, text, core, way))
      taken[strategy].append(run_weir(arguments.programs, arguments, ranks, strategy, folder))
  return taken


def cells_of(taken, tokens, rivals):
  """Tokens/s of each rival and strategy, with the ratio in brackets; empty where PyTorch lacks the way."""
  cells = []
  for strategy, way in rivals.items():
    speed = tokens / statistics.median(taken[strategy])
    rival = tokens / statistics.median(taken[way]) if way is not None else None
    cells += ["" if rival is None else f"{rival:.0f}", f"{speed:.0f}" + ("" if rival is None else f" ({speed / rival:.2f})")]
  return cells


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("programs", help="folder with weir-train")
  parser.add_argument("--preset", choices=LENGTHS, default="small")
  parser.add_argument("--batch", type=int, default=16)
  parser.add_argument("--ranks", default="1,2,4")
  parser.add_argument("--steps", type=int, default=12)
  parser.add_argument("--rounds", type=int, default=3)
  arguments = parser.parse_args()
  python = python_with_torch()
  if python is None:
    sys.exit("PyTorch is not installed (Debian's python3-torch)")
  core = quickest_core(python)
  tokens = arguments.batch * LENGTHS[arguments.preset]
  print(f"preset {arguments.preset}, {arguments.batch} sequences per step, fp32; tokens/s, and times PyTorch's"
        f"{''.join(f' with {name}={value}' for name, value in core.items())}\n")
  rivals = {"none": "ddp", "full": "fsdp2" if has_fsdp2(python) else None}
  print("| ranks | PyTorch DDP | --strategy none | PyTorch FSDP2 | --strategy full |")
  print("|---|---|---|---|---|")
  with tempfile.TemporaryDirectory() as folder:
    text = os.path.join(folder, "text")
    with lzma.open(TEXT) as packed, open(text, "wb") as file:
      file.write(packed.read())
    for ranks in map(int, arguments.ranks.split(",")):
      print(f"| {ranks} | {' | '.join(cells_of(measure(python, arguments, ranks, text, core, folder, rivals), tokens, rivals))} |",
            flush=True)


if __name__ == "__main__":
  main()
