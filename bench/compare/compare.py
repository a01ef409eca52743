#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weir with alternatives in one run: candidates in turn, medians and ratios.

    bench/compare/compare.py --build build --quick
    bench/compare/compare.py --ops all_reduce,broadcast --ranks 2,4 --sizes 8,64K,4M --reps 7

Every candidate times itself with the same loop (bench/compare/loop.h). Within a repetition the candidates run one after the
other, so that ratios compare measurements that are close in time. Prints a table in microseconds, and writes compare.csv and
compare.md. Smaller ratios are better for weir. Exit code 1 if a candidate of weir failed or computed a wrong result.
"""

import argparse
import os
import sys
import time

import candidates
import table

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SIZES = "8,256,1K,8K,64K,512K,4M,32M,128M"
QUICK_SIZES = "8,1K,8K,64K,512K,4M"
# Two ranks that exchange 8 bytes take several times as long on distant cores as on one cache. If the time
# changes by this factor within a repetition, the repetition is not used.
STATE_CHANGE = 1.8


def size(text):
  unit = UNITS.get(text[-1:].upper(), 1)
  return int(text if unit == 1 else text[:-1]) * unit


def listed(kind):
  return lambda text: [kind(part) for part in text.split(",") if part]


def parse(arguments):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", default="build", help="build folder (default: %(default)s)")
  parser.add_argument("--out", help="folder for compare.csv and compare.md (default: BUILD/compare)")
  parser.add_argument("--ops", type=listed(str), help="operations (default: all; --quick: all_reduce)")
  parser.add_argument("--ranks", type=listed(int), help="numbers of ranks (default: 2,4,8; --quick: 2,4)")
  parser.add_argument("--sizes", type=listed(size), help=f"sizes in bytes, with K, M or G (default: {SIZES})")
  parser.add_argument("--reps", type=int, help="repetitions (default: 5; --quick: 3)")
  parser.add_argument("--candidates", type=listed(str), help="names of candidates or of their families (default: all available)")
  parser.add_argument("--budget-ms", type=float, help="milliseconds for one size in one repetition (default: 60; --quick: 30)")
  parser.add_argument("--statistic", choices=("median", "min"), default="median",
                      help="statistic over the batches of one repetition; use min on a machine with other load (default: %(default)s)")
  parser.add_argument("--timeout", type=float, default=300, help="time limit of one process, seconds (default: %(default)s)")
  parser.add_argument("--quick", action="store_true", help="fewer operations, ranks, sizes and repetitions; takes a few minutes")
  parser.add_argument("--list", action="store_true", help="list the candidates and which are available")
  options = parser.parse_args(arguments)
  quick = options.quick
  options.ops = options.ops or (["all_reduce"] if quick else list(candidates.OPS))
  options.ranks = options.ranks or ([2, 4] if quick else [2, 4, 8])
  options.sizes = options.sizes or listed(size)(QUICK_SIZES if quick else SIZES)
  options.reps = options.reps or (3 if quick else 5)
  options.budget_ms = options.budget_ms or (30 if quick else 60)
  options.out = options.out or os.path.join(options.build, "compare")
  for op in options.ops:
    if op not in candidates.OPS:
      parser.error(f"unknown operation '{op}'; expected one of {', '.join(candidates.OPS)}")
  return options


def choose(options):
  """Returns the requested candidates that are available; prints which are missing."""
  chosen = []
  names = {name for candidate in candidates.CANDIDATES for name in (candidate.name, candidate.family)}
  for name in options.candidates or []:
    if name not in names:
      sys.exit(f"compare: unknown candidate '{name}'; expected one of {', '.join(sorted(names))}")
  for candidate in candidates.CANDIDATES:
    if options.candidates and not {candidate.name, candidate.family} & set(options.candidates):
      continue
    why = candidate.missing(options.build)
    print(f"{candidate.name}: {'missing: ' + why if why else 'present'}")
    if not why:
      chosen.append(candidate)
  return chosen


class Comparison:
  """Runs the rounds and collects their rows."""

  def __init__(self, options, chosen):
    self.options = options
    self.chosen = chosen
    self.rows = []
    self.failures = {}
    probes = [candidate for candidate in candidates.CANDIDATES if candidate.name == "reference"]
    self.probe = None if probes[0].missing(options.build) else probes[0]

  def run(self):
    for ranks in self.options.ranks:
      for op in self.options.ops:
        self._run_op(op, ranks)

  def _run_op(self, op, ranks):
    began = time.monotonic()
    mixed, repetition, good = 0, 0, 0
    while good < self.options.reps and mixed <= self.options.reps:
      clean = self._round(op, ranks, repetition)
      repetition += 1
      good += clean
      mixed += not clean
    note = f", {mixed} repeated because the machine's speed changed" if mixed else ""
    print(f"{op}, {ranks} ranks: {time.monotonic() - began:.0f} s{note}", flush=True)

  def _round(self, op, ranks, repetition):
    """Runs one repetition: all candidates in turn, in rotated order. Returns whether the machine's speed was stable."""
    rows, probes = [], []
    here = [candidate for candidate in self.chosen if op in candidate.ops]
    first = repetition % max(1, len(here))
    for candidate in here[first:] + here[:first]:
      if self.failures.get((candidate.name, op, ranks), 0) >= 2:
        continue
      probes.append(self._probe())
      for result in self._results(candidate, op, ranks):
        rows.append(dict(result, candidate=candidate.name, repetition=repetition, probe_us=probes[-1]))
    probes = [value for value in probes + [self._probe()] if value]
    clean = not probes or max(probes) < STATE_CHANGE * min(probes)
    self.rows += [dict(row, mixed=not clean) for row in rows]
    return clean

  def _results(self, candidate, op, ranks):
    options = ["--ops", op, "--sizes", ",".join(map(str, self.options.sizes)), "--budget-ms",
               str(self.options.budget_ms)]
    try:
      results = candidates.run(candidate, self.options.build, ranks, options, self.options.timeout)
    except candidates.Failed as failure:
      key = (candidate.name, op, ranks)
      self.failures[key] = self.failures.get(key, 0) + 1
      print(f"{candidate.name}, {op}, {ranks} ranks: {failure}", flush=True)
      return []
    return results

  def _probe(self):
    """Returns the microseconds in which two ranks exchange 8 bytes; None if the reference is not built."""
    if self.probe is None:
      return None
    options = ["--sizes", "8", "--budget-ms", "10"]
    return candidates.run(self.probe, self.options.build, 2, options, 60)[0]["min_us"]


def report(comparison, options):
  os.makedirs(options.out, exist_ok=True)
  table.write_csv(os.path.join(options.out, "compare.csv"), comparison.rows)
  points = table.times_of(comparison.rows, options.statistic)
  text = table.markdown(points)
  lines = table.summary(points)
  with open(os.path.join(options.out, "compare.md"), "w", encoding="utf-8") as file:
    file.write(f"Microseconds: median over the repetitions of the {options.statistic} of each. Ratios below 1 are in "
               "favour of weir.\n\n" + text + "\n" +
               "".join(f"- {line}\n" for line in lines))
  print("\n" + text + "\n" + "\n".join(lines))
  states = [row["probe_us"] for row in comparison.rows if row["probe_us"]]
  if states:
    print(f"time to exchange 8 bytes between two ranks, before each run: {min(states):.3f} to {max(states):.3f} us")
  print(f"written: {options.out}/compare.csv, {options.out}/compare.md")


def main(arguments):
  options = parse(arguments)
  chosen = choose(options)
  if options.list:
    return 0
  if not chosen:
    sys.exit("compare: nothing to compare")
  comparison = Comparison(options, chosen)
  try:
    comparison.run()
  except KeyboardInterrupt:
    print("stopped; what was measured so far:")
  report(comparison, options)
  wrong = [row for row in comparison.rows if not row["ok"]]
  for row in wrong:
    print(f"{row['candidate']}: wrong result: {row['op']}, {row['ranks']} ranks, {row['bytes']} bytes")
  own = {candidate.name for candidate in candidates.CANDIDATES if candidate.family.startswith("weir")}
  bad = [key for key in comparison.failures if key[0] in own] + [row for row in wrong if row["candidate"] in own]
  return 1 if bad else 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
