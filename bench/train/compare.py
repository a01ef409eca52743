#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares tokens per second of weir-train and PyTorch's DistributedDataParallel over Gloo: compare.py build/bin.

Model, batch and optimizer are the same (torch_gpt.py), with one thread per rank and the built-in text. The programs alternate within
a round; a figure is the median over all rounds of the medians of the steps after the first three. PyTorch needs Debian's
python3-torch and a fast BLAS (libopenblas0-pthread), which its package does not include. OpenBLAS mistakes processors that are newer
than itself for very old ones; therefore it gets the name of the core whose matrix products are the fastest on this machine.
"""

import argparse
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
PROBE = """
import time, torch
torch.set_num_threads(1)
a, b = torch.randn(2048, 256), torch.randn(1024, 256)
rates = []
for _ in range(20):
  begin = time.perf_counter()
  torch.nn.functional.linear(a, b)
  rates.append(1 / (time.perf_counter() - begin))
print(max(rates))
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def python_with_torch():
  """Finds an interpreter with PyTorch: Debian's package supports only Debian's interpreter, which may not be the first one."""
  for python in (sys.executable, "/usr/bin/python3"):
    if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
      return python
  return None


def quickest_core(python):
  """Returns environment variables for OpenBLAS."""
  with open("/proc/cpuinfo", encoding="utf-8") as file:
    flags = next((line for line in file if line.startswith("flags")), "").split()
  rates = {}
  for core, needs in CORES.items():
    if needs and needs not in flags:
      continue
    variables = {"OPENBLAS_CORETYPE": core} if core else {}
    done = subprocess.run([python, "-c", PROBE], env={**os.environ, **ONE_THREAD, **variables}, capture_output=True, check=True)
    rates[core] = float(done.stdout), variables
  return max(rates.values(), key=lambda found: found[0])[1]


def free_port():
  with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    return probe.getsockname()[1]


def median_step(lines):
  seconds = [line["seconds"] for line in lines if "seconds" in line][WARM_UP:]
  if not seconds:
    sys.exit("a program printed no steps; expected one line per step")
  return statistics.median(seconds)


def run_torch(python, arguments, ranks, text, core):
  command = [python, os.path.join(HERE, "torch_gpt.py"), "--preset", arguments.preset, "--steps", str(arguments.steps)]
  command += ["--batch", str(arguments.batch), "--data", text]
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
  print("| ranks | PyTorch, DDP over Gloo | weir-train --strategy none | full |")
  print("|---|---|---|---|")
  with tempfile.TemporaryDirectory() as folder:
    text = os.path.join(folder, "text")
    with lzma.open(TEXT) as packed, open(text, "wb") as file:
      file.write(packed.read())
    for ranks in map(int, arguments.ranks.split(",")):
      taken = {"torch": [], "none": [], "full": []}
      for _ in range(arguments.rounds):
        taken["torch"].append(run_torch(python, arguments, ranks, text, core))
        for strategy in ("none", "full"):
          taken[strategy].append(run_weir(arguments.programs, arguments, ranks, strategy, folder))
      speed = {name: tokens / statistics.median(seconds) for name, seconds in taken.items()}
      cells = [f"{speed[name]:.0f} ({speed[name] / speed['torch']:.2f})" for name in ("none", "full")]
      print(f"| {ranks} | {speed['torch']:.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
  main()
