#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the price of the order of sums: order.py FOLDER_OF_PROGRAMS [COLLECTIVE...].

Runs collectives with WEIR_ORDER=any, run and ranks, alternately, on one host and on two simulated hosts. Prints the minimum time
over the rounds in us for each size and order, with the plan, and the ratio to `any`: other load on the cores only adds time.
Measured rates are cached once, before the first round.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

SIZES = (8, 4 << 10, 64 << 10, 1 << 20, 64 << 20)
ORDERS = ("any", "run", "ranks")
WORLDS = {"2 ranks": (2, 1), "4 ranks": (4, 1), "2 hosts of 1 rank": (2, 2), "2 hosts of 2 ranks": (4, 2)}


def repeats_of(size):
  return 200 if size <= 64 << 10 else 20 if size <= 1 << 20 else 2


def run(programs, collective, world, size, order, cache, *options, **variables):
  ranks, hosts = world
  command = [os.path.join(programs, "weir"), "run", "-n", f"{ranks}", "--nodes", f"{hosts}", "--plain", "--",
             os.path.join(programs, f"{collective}_perf"), "-b", f"{size}", "-e", f"{size}", "-c", "0", "-a", "3", "--allocator",
             "system", *options]
  done = subprocess.run(command, env=dict(os.environ, WEIR_ORDER=order, WEIR_CACHE_DIR=cache, **variables), capture_output=True,
                        text=True, timeout=300, check=False)
  if done.returncode != 0:
    sys.exit(f"{' '.join(command)} failed: {done.stdout}{done.stderr}")
  return done.stdout


def plan_of(programs, collective, world, size, order, cache):
  """The algorithm of the plan, or "shared" for a fast path through shared memory."""
  log = run(programs, collective, world, size, order, cache, "-n", "1", "-w", "1", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="TUNING")
  found = re.findall(rf" {collective}: {size} bytes -> (\w+) in", log)
  return found[0] if found else "shared"


def microseconds(programs, collective, world, size, order, cache):
  """The lesser of out of place and in place, of the slowest rank."""
  repeats = repeats_of(size)
  out = run(programs, collective, world, size, order, cache, "-n", f"{repeats}", "-w", f"{repeats // 2 + 1}")
  row = next(line.split() for line in out.splitlines() if line.split()[:1] == [f"{size}"])
  return min(float(row[5]), float(row[9]))


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("programs")
  parser.add_argument("collectives", nargs="*", default=["all_reduce"])
  parser.add_argument("--rounds", type=int, default=5)
  arguments = parser.parse_args()
  with tempfile.TemporaryDirectory() as cache:
    for collective in arguments.collectives:
      for words, world in WORLDS.items():
        for size in SIZES:
          plans = {order: plan_of(arguments.programs, collective, world, size, order, cache) for order in ORDERS}
          best = dict.fromkeys(ORDERS, float("inf"))
          for _ in range(arguments.rounds):
            for order in ORDERS:
              best[order] = min(best[order], microseconds(arguments.programs, collective, world, size, order, cache))
          figures = " | ".join(f"{best[order]:.3g} {plans[order]}" for order in ORDERS)
          ratios = " | ".join(f"{best[order] / best['any']:.2f}" for order in ORDERS[1:])
          print(f"| {collective} | {words} | {size:,} | {figures} | {ratios} |", flush=True)


if __name__ == "__main__":
  main()
