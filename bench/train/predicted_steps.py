#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predicted with measured times of training steps: predicted_steps.py build/bin [--preset NAME] [--ranks N].

Each job is a run of weir-train --auto in which every setting is given, so that nothing is left to choose: it surveys its ranks, predicts
the job, and then trains. Measured is the median step after the first three. Jobs run one after the other, --rounds times; the medians over
the rounds count. At the end are the errors of the predictions, Spearman's rank correlation of all jobs, and how the job with the shortest
prediction ranks.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

WARM_UP = 3
# Strategy and parts by the number of ranks, and numbers of sequences per micro-batch. A replica of parts has the batch of all its ranks.
JOBS = {
    2: [("--strategy none", (8, 2, 1)), ("--strategy gradients", (8, 2, 1)), ("--strategy full", (8, 2, 1)),
        ("--strategy none --pipeline 2", (4, 2, 1)), ("--strategy none --tensor 2", (16, 4, 1))],
    4: [("--strategy none", (4, 1)), ("--strategy gradients", (4, 1)), ("--strategy full", (4, 1)),
        ("--strategy hybrid --shard-ranks 2", (4, 1)), ("--strategy none --pipeline 2", (4, 1)),
        ("--strategy none --tensor 2", (8, 2)), ("--strategy full --pipeline 2", (4, 1)),
        ("--strategy none --pipeline 2 --tensor 2", (4, 1))],
}


def run(arguments, job, micro_batch, metrics):
  """Returns the predicted and the measured seconds of a step, and the line with what was surveyed."""
  words = [os.path.join(arguments.programs, "weir-train"), "--auto", "--ranks", arguments.ranks, "--preset", arguments.preset]
  words += ["--batch", arguments.batch, *job.split(), "--micro-batch", micro_batch, "--recompute", "none", "--prefetch", 1]
  words += ["--limiter", "off", "--steps", WARM_UP + arguments.steps, "--evaluation-sequences", 1, "--sample", 0, "--metrics", metrics]
  done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=arguments.timeout, check=False)
  predicted = re.search(r"^plan .*: (\S+) s per step predicted", done.stdout, re.MULTILINE)
  if done.returncode or not predicted:
    sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout}")
  with open(metrics, encoding="utf-8") as file:
    seconds = [line["seconds"] for line in map(json.loads, file) if "seconds" in line]
  os.remove(metrics)
  surveyed = re.search(r"^measured here +(.*)$", done.stdout, re.MULTILINE)
  return float(predicted.group(1)), statistics.median(seconds[WARM_UP:]), surveyed.group(1)


def places(values):
  """Returns the place of each value in the order of all of them; equal ones have their mean place."""
  return [statistics.mean(place for place, other in enumerate(sorted(values)) if other == value) for value in values]


def report(arguments, found):
  """`found`: the predicted and the measured times of each job."""
  predicted, measured = ([statistics.median(pair[at] for pair in pairs) for pairs in found.values()] for at in (0, 1))
  print(f"\n| preset {arguments.preset}, {arguments.ranks} ranks | micro-batch | measured ms | predicted ms | predicted / measured |")
  print("|---|---|---|---|---|")
  for (job, micro_batch), guess, took in zip(found, predicted, measured):
    print(f"| `{job}` | {micro_batch} | {1e3 * took:.1f} | {1e3 * guess:.1f} | {guess / took:.2f} |")
  first = predicted.index(min(predicted))
  errors = [abs(guess / took - 1) for guess, took in zip(predicted, measured)]
  print(f"\nerror: median {statistics.median(errors):.1%}, worst {max(errors):.1%}")
  print(f"rank correlation {statistics.correlation(places(predicted), places(measured)):.2f}; the job with the shortest prediction takes "
        f"{measured[first] / min(measured):.2f} times as long as the fastest of {len(measured)}")


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  add = parser.add_argument
  add("programs", help="folder with weir-train")
  add("--preset", default="small")
  add("--ranks", type=int, choices=sorted(JOBS), default=2)
  add("--batch", type=int, default=16)
  add("--steps", type=int, default=8, help="counted steps of a run")
  add("--rounds", type=int, default=1)
  add("--timeout", type=float, default=600)
  arguments = parser.parse_args()
  jobs = [(job, micro_batch) for job, sizes in JOBS[arguments.ranks] for micro_batch in sizes]
  found = {job: [] for job in jobs}
  with tempfile.TemporaryDirectory() as folder:
    for _ in range(arguments.rounds):
      for job in jobs:
        *times, surveyed = run(arguments, *job, os.path.join(folder, "metrics"))
        found[job].append(times)
        print(f"{job[0]}, {job[1]}: predicted {times[0]:.4g} s, measured {times[1]:.4g} s; {surveyed}", flush=True)
  report(arguments, found)


if __name__ == "__main__":
  main()
