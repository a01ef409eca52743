#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants that a models file calls fitted: fit.py WEIR-TRAIN FILE.

Least squares over the logarithms of predicted / published of the rows that are marked as fitted, by a pattern search over
all neighbours; prints the values found. The file itself is not changed. A constant is a field of the device, or a word of
the topology or of the latencies.
"""

import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ROW = re.compile(r">?([\d.e+]+)\s+([\d.e+]+)\s+\S+\s+[+-][\d.]+%.*\(fitted\)$")


def places(file):
  """(name, value, function that sets another value) of each constant."""
  found = []
  for name in (name for name, origin in file["constants"].items() if origin == "fitted"):
    if name in file["device"]:
      found.append((name, file["device"][name], lambda copy, value, name=name: copy["device"].update({name: value})))
      continue
    for field, word in (("topology", rf"(\b{name} )([\d.]+)"), ("latency", rf"(\b{name}=)([\d.]+)")):
      match = re.search(word, file.get(field, ""))
      if match:
        found.append((name, float(match[2]), lambda copy, value, field=field, word=word: copy.update(
            {field: re.sub(word, rf"\g<1>{value:.6g}", copy[field])})))
  for speed in sorted({row["speed"] for row in file["rows"] if "speed" in row}):
    found.append(("speed", speed, lambda copy, value, speed=speed: [
        row.update(speed=value) for row in copy["rows"] if row.get("speed") == speed]))
  return found


def misfit(program, file, constants, values):
  copy = json.loads(json.dumps({**file, "plans": []}))
  for (_, _, put), value in zip(constants, values):
    put(copy, value)
  with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as written:
    json.dump(copy, written)
    written.flush()
    run = subprocess.run([program, "--plan-only", "--models", written.name], capture_output=True, text=True, check=True)
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
  with open(sys.argv[2], encoding="utf-8") as stream:
    file = json.load(stream)
  constants = places(file)
  values, best = search(lambda trial: misfit(sys.argv[1], file, constants, trial), [value for _, value, _ in constants])
  for (name, _, _), value in zip(constants, values):
    print(f"{name} {value:.4g}")
  print(f"root of the sum of squares {math.sqrt(best):.3g}")


if __name__ == "__main__":
  main()
