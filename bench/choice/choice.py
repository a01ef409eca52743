#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how good the choice of plans is: choice.py FOLDER_OF_PROGRAMS.

Runs a collective with weir's choice and with every other algorithm, alternately. Prints the times, the ratio of the choice to the
fastest algorithm, and geometric means. `--before` names the folder of another libnccl.so.2 to compare with. Fast paths are
disabled, because each replaces a plan that was chosen already. The minimum over the rounds counts, because other load on the cores
only adds time.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

ALGORITHMS = {
    "all_reduce": ["ring", "double_tree", "tree4", "tree8", "halving_doubling", "recursive_doubling", "one_shot", "two_shot"],
    "reduce_scatter": ["ring", "halving_doubling", "pat", "one_shot", "two_shot"],
    "all_gather": ["ring", "halving_doubling", "pat", "one_shot", "two_shot"],
    "broadcast": ["ring", "double_tree", "tree4", "tree8", "binomial", "one_shot"],
    "reduce": ["ring", "double_tree", "tree4", "tree8", "binomial", "one_shot"],
    "gather": ["binomial", "one_shot"],
    "scatter": ["binomial", "one_shot"],
    "alltoall": ["pairwise", "one_shot"],
}
PULLS = {"two_shot"}
CHOSEN, BEFORE = "chosen", "before"


# Channels are byte queues: calls of a small size use memory that no call used before until the queues were
# filled once, and first accesses to memory are slow. Up to this size, many calls warm the channels up.
SMALL, WARM_UPS_SMALL, WARM_UPS_LARGE = 64 << 10, 600, 8


def times(arguments, collective, ranks, transports, column, cache):
  """Returns {bytes: us}, the lesser of out of place and in place."""
  most = bytes_of(arguments.most)
  found = measured(arguments, collective, ranks, transports, column, cache, 8, min(most, SMALL), WARM_UPS_SMALL)
  if most > SMALL:
    found |= measured(arguments, collective, ranks, transports, column, cache, 2 * SMALL, most, WARM_UPS_LARGE)
  return found


def bytes_of(text):
  """Converts "8M" to bytes."""
  units = {"K": 10, "M": 20, "G": 30}
  return int(text[:-1]) << units[text[-1].upper()] if text[-1].upper() in units else int(text)


def measured(arguments, collective, ranks, transports, column, cache, least, most, warm_ups):
  environment = dict(os.environ, WEIR_FAST="0", WEIR_TRANSPORTS=transports, WEIR_CACHE_DIR=cache)
  if column == BEFORE:
    environment["LD_LIBRARY_PATH"] = arguments.before
  elif column != CHOSEN:
    environment["WEIR_ALGO"] = column
  command = [os.path.join(arguments.programs, f"{collective}_perf"), "--ranks", str(ranks), "-b", str(least), "-e", str(most),
             "-f", "4", "-n", str(arguments.repeats), "-w", str(warm_ups), "-c", "0", "-d", "int32", "--allocator", "system"]
  done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
  if done.returncode != 0:
    sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
  rows = [line.split() for line in done.stdout.splitlines()]
  return {int(row[0]): min(float(row[5]), float(row[9])) for row in rows if len(row) > 9 and row[0].isdigit()}


def compare(arguments, collective, ranks, transports):
  shared = any(name in transports.split(",") for name in ("shm", "cma"))
  algorithms = [name for name in ALGORITHMS[collective] if shared or name not in PULLS]
  columns = [CHOSEN] + ([BEFORE] if arguments.before else []) + algorithms
  found = {column: {} for column in columns}
  with tempfile.TemporaryDirectory() as cache:
    for _ in range(arguments.rounds):
      for column in columns:
        for size, us in times(arguments, collective, ranks, transports, column, cache).items():
          found[column][size] = min(us, found[column].get(size, us))
  print(f"\n{collective}, {ranks} ranks, {transports}: us, minimum of {arguments.rounds} rounds")
  print(f"{'bytes':>10}" + "".join(f"{column[:10]:>12}" for column in columns) + "   of the best")
  of_best, of_before = [], []
  for size in found[CHOSEN]:
    chosen = found[CHOSEN][size]
    best = min(algorithms, key=lambda name, size=size: found[name][size])
    of_best.append(chosen / found[best][size])
    if arguments.before:
      of_before.append(chosen / found[BEFORE][size])
    print(f"{size:>10}" + "".join(f"{found[column][size]:>12.1f}" for column in columns) + f"{of_best[-1]:>14.2f} {best}")
  print(f"geometric mean of the best: {statistics.geometric_mean(of_best):.2f}; within 1.25 of it at "
        f"{sum(ratio <= 1.25 for ratio in of_best)} of {len(of_best)} sizes", end="")
  print(f"; of before: {statistics.geometric_mean(of_before):.2f}" if of_before else "", flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("programs", help="folder with all_reduce_perf and its sisters, such as build/bin")
  parser.add_argument("--before", help="folder with another libnccl.so.2 to compare with")
  parser.add_argument("--collectives", default="all_reduce", help="names of collectives, such as all_reduce,broadcast")
  parser.add_argument("--ranks", default="2,4,8")
  parser.add_argument("--transports", default="loop,shm loop,tcp", help="lists of transports, separated by spaces")
  parser.add_argument("--most", default="8M", help="largest size, with K, M or G")
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--repeats", type=int, default=10, help="calls per size and round")
  arguments = parser.parse_args()
  for collective in arguments.collectives.split(","):
    for transports in arguments.transports.split():
      for ranks in arguments.ranks.split(","):
        compare(arguments, collective, int(ranks), transports)


if __name__ == "__main__":
  main()
