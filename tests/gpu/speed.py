#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the speed that the steps before have measured: speed.py FOLDER FAKE, FAKE being 1 on the stand-in.

Wanted: 4 ranks in one process sum 256 MiB at 80% of what the memory allows or more, 8 bytes within 12 us and within 6 us in a
graph; several processes are at most 3 times slower than one at 64 MiB; the interpreter of plans is within 10% of a kernel
written by hand from 1 MiB on.
"""

import json
import os
import sys

SKIPPED = 77


def results(folder, name):
  """The rows of a step's JSON; empty where the step did not run."""
  path = os.path.join(folder, name + ".json")
  try:
    with open(path, encoding="utf-8") as file:
      return json.load(file).get("results", [])
  except (OSError, ValueError):
    return []


def rows(folder, name):
  """{bytes: row} of a bench program."""
  return {row["size"]: row for row in results(folder, name) if "in_place" in row}


def best(row):
  """Microseconds of the faster half."""
  return min(row["out_of_place"]["time"], row["in_place"]["time"])


def figures(folder):
  """(what, value, limit, whether more is better) of all that was measured."""
  large = rows(folder, "all_reduce.large.4")
  if large:
    size, row = max(large.items())
    share = max(row["limit"][half]["percent"] for half in ("out_of_place", "in_place"))
    yield f"all-reduce of {size} B over 4 ranks of one process, % of what the memory allows", share, 80.0, True
  threads, graph = rows(folder, "all_reduce.threads.4"), rows(folder, "all_reduce.graph.4")
  if 8 in threads:
    yield "all-reduce of 8 B over 4 ranks, us", best(threads[8]), 12.0, False
  if 8 in graph:
    yield "the same in a graph, us", best(graph[8]), 6.0, False
  for ranks in (2, 4, 8):
    one, several = rows(folder, f"all_reduce.middle.threads.{ranks}"), rows(folder, f"all_reduce.middle.processes.{ranks}")
    for size in sorted(set(one) & set(several)):
      yield (f"{ranks} processes, times slower than one process with {ranks} ranks at {size} B",
             best(several[size]) / best(one[size]), 3.0, False)
  for row in results(folder, "ring"):
    yield (f"ring of {row['ranks']} ranks at {row['bytes']} B, times slower interpreted than by hand",
           row["interpreter_us"] / row["by_hand_us"], 1.1, False)


def main():
  folder, fake = sys.argv[1], sys.argv[2] == "1"
  missed = []
  found = list(figures(folder))
  for what, value, limit, more in found:
    good = value >= limit if more else value <= limit
    print(f"{what}: {value:.2f}, wanted {'at least' if more else 'at most'} {limit:g}: {'yes' if good else 'NO'}")
    if not good:
      missed.append(f"{what}: {value:.2f} instead of {limit:g}")
  if not found:
    print("skipped: nothing was measured")
    return SKIPPED
  if fake:
    print("skipped: a stand-in's speed says nothing about a GPU")
    return SKIPPED
  print(f"{len(missed)} of {len(found)} figures are missed: {'; '.join(missed)}" if missed else f"all {len(found)} figures are met")
  return 1 if missed else 0


if __name__ == "__main__":
  sys.exit(main())
