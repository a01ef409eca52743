#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weir with alternatives on cores that others compute on: ratios per situation, size and number of ranks.

    bench/compare/busy.py --build build
    bench/compare/busy.py --situations idle,hogs --ranks 2,4 --sizes 8,64K --before old/libnccl.so.2

Situations: idle; hogs: a process per core that computes; threads: a computing thread in every rank; crowd: 16 and 32 ranks
beside one computing process, whatever --ranks says. Ranks are not bound to cores. A time is the mean over a batch of calls of a
tenth of a second; the table shows medians. Ratios below 1 are in favour of weir. --before adds another build of weir's
library, to compare with it.
"""

import argparse
import dataclasses
import os
import statistics
import sys

import candidates
import compare
import table

SITUATIONS = ("idle", "hogs", "threads", "crowd")
CROWDS = (16, 32)


def parse(arguments):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", default="build", help="build folder (default: %(default)s)")
  parser.add_argument("--situations", type=compare.listed(str), default=list(SITUATIONS))
  parser.add_argument("--ranks", type=compare.listed(int), default=[2, 4])
  parser.add_argument("--sizes", type=compare.listed(compare.size), default=[8, 4 << 10, 64 << 10, 1 << 20])
  parser.add_argument("--op", default="all_reduce", choices=candidates.OPS)
  parser.add_argument("--reps", type=int, default=5, help="repetitions (default: %(default)s)")
  parser.add_argument("--batch-ms", type=float, default=100, help="time of one batch (default: %(default)s)")
  parser.add_argument("--peers", type=compare.listed(str), default=["openmpi", "gloo"], help="(default: %(default)s)")
  parser.add_argument("--before", help="another libnccl.so.2 of weir, to compare with")
  options = parser.parse_args(arguments)
  unknown = set(options.situations) - set(SITUATIONS)
  if unknown:
    parser.error(f"unknown situation '{unknown.pop()}'; expected {', '.join(SITUATIONS)}")
  unknown = set(options.peers) - set(candidates.PEERS)
  if unknown:
    parser.error(f"unknown peer '{unknown.pop()}'; expected {', '.join(candidates.PEERS)}")
  if options.before and not os.path.isfile(options.before):
    parser.error(f"--before {options.before}: there is no such file")
  return options


def choose(options):
  """The candidates that are available; prints which are missing."""
  named = {candidate.name: candidate for candidate in candidates.CANDIDATES}
  chosen = [named["weir"]]
  if options.before:
    chosen.append(dataclasses.replace(named["weir"], name="before", environment=(("LD_PRELOAD", options.before),)))
  for name in options.peers:
    why = named[name].missing(options.build)
    print(f"{name}: {'missing: ' + why if why else 'present'}")
    if not why:
      chosen.append(named[name])
  return chosen


def cells(options):
  """(situation, ranks, processes that compute, computing threads per rank)"""
  cores = len(os.sched_getaffinity(0))
  for situation in options.situations:
    for ranks in CROWDS if situation == "crowd" else options.ranks:
      yield situation, ranks, {"hogs": cores, "crowd": 1}.get(situation, 0), int(situation == "threads")


def measure(candidate, options, ranks, processes, threads):
  """{bytes: microseconds}"""
  arguments = ["--ops", options.op, "--sizes", ",".join(map(str, options.sizes)), "--pin", "0",
               "--budget-ms", str(options.batch_ms), "--batch-ms", str(options.batch_ms), "--computing", str(threads),
               "--hogs", str(processes)]
  return {row["bytes"]: row["median_us"] for row in candidates.run(candidate, options.build, ranks, arguments, 600)}


def run_cell(options, chosen, ranks, processes, threads):
  """{candidate: {bytes: [microseconds]}}"""
  times = {}
  for repetition in range(options.reps):
    first = repetition % len(chosen)
    for candidate in chosen[first:] + chosen[:first]:
      for size, value in measure(candidate, options, ranks, processes, threads).items():
        times.setdefault(candidate.name, {}).setdefault(size, []).append(value)
  return times


def line(situation, ranks, size, times, names):
  """One row of the table."""
  medians = {name: statistics.median(times[name][size]) for name in names}
  peers = [medians[name] for name in names if name in candidates.PEERS]
  row = [situation, str(ranks), table.human(size)] + [table.microseconds(medians[name]) for name in names]
  row.append(f"{medians['weir'] / min(peers):.2f}" if peers else "-")
  if "before" in medians:
    row.append(f"{medians['weir'] / medians['before']:.2f}")
  return row


def main(arguments):
  options = parse(arguments)
  chosen = choose(options)
  names = [candidate.name for candidate in chosen]
  title = ["situation", "ranks", "size", *names, "weir / best peer"] + (["weir / before"] if options.before else [])
  print(f"\nMicroseconds per {options.op}.\n\n| {' | '.join(title)} |\n|{'---|' * len(title)}", flush=True)
  for situation, ranks, processes, threads in cells(options):
    times = run_cell(options, chosen, ranks, processes, threads)
    for size in options.sizes:
      print(f"| {' | '.join(line(situation, ranks, size, times, names))} |", flush=True)
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
