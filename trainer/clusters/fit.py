#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants that a cluster file calls fitted: fit.py WEIR-TRAIN-PLAN FILE.

Least squares over the logarithms of predicted / published of the rows that are marked (fitted), by a pattern search over
all neighbours; prints the values found. The file itself is not changed.
"""

import itertools
import math
import os
import re
import subprocess
import sys
import tempfile

CONSTANT = re.compile(r"^(\S+\s+)([\d.]+)(.*\bfitted\b)", re.MULTILINE)
SPEED = re.compile(r"(\bspeed )([\d.]+)")
ROW = re.compile(r">?([\d.e+]+)\s+([\d.e+]+)\s+\S+\s+[+-][\d.]+%.*\(fitted\)$")


def read(path):
  """(text without plans, spans of constants with their values)."""
  with open(path, encoding="utf-8") as file:
    text = "".join(line for line in file if not line.startswith("plan"))
  found = [match for match in CONSTANT.finditer(text) if not match.group(1).startswith(("row", "#"))]
  return text, [(match.group(1).strip(), float(match.group(2))) for match in found], sorted(
      {float(match.group(2)) for match in SPEED.finditer(text)})


def written(text, constants, speeds, values):
  for (name, old), value in zip(constants, values):
    text = re.sub(rf"^({re.escape(name)}\s+)[\d.]+", rf"\g<1>{value:.6g}", text, flags=re.MULTILINE)
  for old, value in zip(speeds, values[len(constants):]):
    text = re.sub(rf"(\bspeed ){re.escape(f'{old:g}')}\b", rf"\g<1>{value:.6g}", text)
  return text


def misfit(program, text):
  with tempfile.NamedTemporaryFile("w", suffix=".cluster", encoding="utf-8") as file:
    file.write(text)
    file.flush()
    run = subprocess.run([program, "--cluster", file.name], capture_output=True, text=True, check=True)
  rows = [match for line in run.stdout.split("\n") if (match := ROW.search(line))]
  if not rows:
    sys.exit("fit.py: no row is marked as fitted")
  return sum(math.log(float(row.group(2)) / float(row.group(1)))**2 for row in rows)


def search(cost, values):
  """Pattern search in the logarithms."""
  best, step = cost(values), 0.1
  while step > 1e-4:
    moved = False
    for signs in itertools.product((-1, 0, 1), repeat=len(values)):
      trial = [value * math.exp(sign * step) for value, sign in zip(values, signs)]
      found = cost(trial)
      if found < best:
        values, best, moved = trial, found, True
    if not moved:
      step /= 2
  return values, best


def main():
  if len(sys.argv) != 3 or not os.path.isfile(sys.argv[2]):
    sys.exit(__doc__)
  text, constants, speeds = read(sys.argv[2])
  start = [value for _, value in constants] + speeds
  values, best = search(lambda trial: misfit(sys.argv[1], written(text, constants, speeds, trial)), start)
  for (name, _), value in zip(constants, values):
    print(f"{name} {value:.4g}")
  for value in values[len(constants):]:
    print(f"speed {value:.4g}")
  print(f"root of the sum of squares {math.sqrt(best):.3g}")


if __name__ == "__main__":
  main()
