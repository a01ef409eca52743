# SPDX-License-Identifier: Apache-2.0
"""Medians, ratios and tables of a comparison."""

import csv
import math
import statistics

import candidates

FIELDS = ("op", "ranks", "bytes", "candidate", "repetition", "median_us", "avg_us", "min_us", "calls", "ok", "probe_us",
          "mixed")
COLUMNS = (*candidates.PEERS, "limit", "reference", "reference_shared", "weir", "weir_shared", "weir_heap")
FAMILY = {candidate.name: candidate.family for candidate in candidates.CANDIDATES}


def write_csv(path, rows):
  with open(path, "w", newline="", encoding="utf-8") as file:
    writer = csv.DictWriter(file, FIELDS)
    writer.writeheader()
    writer.writerows(rows)


def times_of(rows, statistic="median"):
  """{(op, ranks, bytes): {candidate: {repetition: microseconds}}} of the column `statistic`_us, without the
  repetitions in which the machine changed its state, where there are others."""
  clean = {(row["op"], row["ranks"]) for row in rows if not row["mixed"]}
  points = {}
  for row in rows:
    if row["mixed"] and (row["op"], row["ranks"]) in clean:
      continue
    point = points.setdefault((row["op"], row["ranks"], row["bytes"]), {})
    point.setdefault(row["candidate"], {})[row["repetition"]] = row[statistic + "_us"]
  return points


def _families(point):
  """{family: (best candidate, its median)}"""
  best = {}
  for name, times in point.items():
    median = statistics.median(times.values())
    family = FAMILY[name]
    if family not in best or median < best[family][1]:
      best[family] = (name, median)
  return best


# Below, the time is that of agreeing, which the limit leaves out.
LIMIT_FROM = 64 << 10


def ratio(point, candidate, others):
  """Median over the repetitions of candidate / fastest of others; None if there is no common repetition."""
  ratios = []
  for repetition, own in point.get(candidate, {}).items():
    against = [point[other][repetition] for other in others if repetition in point.get(other, {})]
    if against:
      ratios.append(own / min(against))
  return statistics.median(ratios) if ratios else None


def _peers(point):
  return [name for name in point if FAMILY[name] in candidates.PEERS]


def _limits(point):
  return [name for name in point if FAMILY[name] == "limit"]


# (name, own candidate, the others of a point, smallest size)
RATIOS = (("weir / best peer", "weir", _peers, 0),
          ("weir / limit", "weir", _limits, LIMIT_FROM),
          ("weir / reference", "weir", lambda point: ["reference"], 0),
          ("shared / best peer", "weir_shared", _peers, 0),
          ("shared / limit", "weir_shared", _limits, LIMIT_FROM),
          ("shared / reference", "weir_shared", lambda point: ["reference_shared"], 0))


def human(count):
  for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
    if count >= unit and count % unit == 0:
      return f"{count // unit} {name}"
  return f"{count} B"


def microseconds(value):
  if value >= 1000:
    return f"{value:.0f}"
  return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _ratios(key, point):
  """{name of a ratio: its value}, for those that the point has."""
  values = {name: ratio(point, own, others(point)) for name, own, others, smallest in RATIOS if key[2] >= smallest}
  return {name: value for name, value in values.items() if value}


def _line(key, point, columns, ratios):
  best = _families(point)
  values = _ratios(key, point)
  cells = [key[0], str(key[1]), human(key[2])]
  cells += [microseconds(best[family][1]) if family in best else "-" for family in columns]
  cells += [f"{values[name]:.2f}" if name in values else "-" for name in ratios]
  names = sorted((best[family][1], best[family][0]) for family in candidates.PEERS if family in best)
  return cells + [names[0][1] if names else "-"]


def _order(key):
  return candidates.OPS.index(key[0]), key[1], key[2]


def markdown(points):
  present = {FAMILY[name] for point in points.values() for name in point}
  columns = [family for family in COLUMNS if family in present]
  ratios = [row[0] for row in RATIOS if any(row[0] in _ratios(key, point) for key, point in points.items())]
  title = ["operation", "ranks", "size", *(name.replace("_", " ") for name in columns), *ratios, "best peer"]
  lines = [title, *(_line(key, points[key], columns, ratios) for key in sorted(points, key=_order))]
  widths = [max(len(line[i]) for line in lines) for i in range(len(title))]
  text = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths))} |" for line in lines]
  text.insert(1, f"|{'|'.join('-' * (width + 2) for width in widths)}|")
  return "\n".join(text) + "\n"


def summary(points):
  """One line per operation and number of ranks: geometric mean and worst of each ratio."""
  lines = []
  for op, ranks in sorted({key[:2] for key in points}, key=lambda pair: (candidates.OPS.index(pair[0]), pair[1])):
    here = {key[2]: _ratios(key, point) for key, point in points.items() if key[:2] == (op, ranks)}
    for name, *_ in RATIOS:
      values = {size: ratios[name] for size, ratios in here.items() if name in ratios}
      if not values:
        continue
      mean = math.exp(statistics.fmean(map(math.log, values.values())))
      worst = max(values, key=values.get)
      lines.append(f"{op}, {ranks} ranks: {name}: geometric mean {mean:.2f}, worst {values[worst]:.2f} at {human(worst)}")
  return lines
