# SPDX-License-Identifier: Apache-2.0
"""Compares torch.distributed over weir with Gloo on this machine's CPUs.

    bench/compare-torch                       # all operations, 8 B to 64 MiB, 2 and 4 processes
    bench/compare-torch --quick
    bench/compare-torch --ops all_reduce --ranks 2 --sizes 8,64K
    bench/compare-torch --compute --threads 2 # a matrix product on intra-op threads before each call, which is not timed
    bench/compare-torch --train               # tokens/s of the model of examples/python/ddp.py instead
    bench/compare-torch --train --threads 2 --hogs 2    # with intra-op threads, beside two processes that compute
    bench/compare-torch --train --sharded     # FullyShardedDataParallel (fully_shard) instead of DistributedDataParallel

All back ends run in the same processes and alternate after each batch of calls; a figure is the median over the repetitions, a
ratio the median of the ratios of consecutive batches. `bytes` is the size of a rank's larger buffer: all-gather's output,
reduce-scatter's and all-to-all's input. Gloo has no reduce-scatter: its figure is an all-reduce and a copy, which is what its users
do. Ratios above 1: weir is faster. `limit` is the same training without an exchange of gradients: with DDP the ranks wait for each
other once per step, with --sharded each trains for itself. Exit code 1 if a result was wrong or a rank failed.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "compare"))
import worlds  # noqa: E402
from compare import listed, size  # noqa: E402
from table import human  # noqa: E402

OPS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")
SIZES = "8,256,4K,64K,1M,8M,64M"
QUICK_SIZES = "8,4K,1M"
TRAIN_STEPS = 10  # of a repetition


def parse(arguments):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder (default: %(default)s)")
  parser.add_argument("--ops", type=listed(str), default=list(OPS), help=f"operations (default: {','.join(OPS)})")
  parser.add_argument("--ranks", type=listed(int), default=[2, 4], help="numbers of ranks (default: 2,4)")
  parser.add_argument("--sizes", type=listed(size), help=f"sizes in bytes, with K or M (default: {SIZES})")
  parser.add_argument("--reps", type=int, help="repetitions (default: 9; --quick: 3)")
  parser.add_argument("--budget-ms", type=float, help="milliseconds for one batch of calls (default: 40; --quick: 10)")
  parser.add_argument("--timeout", type=float, default=1800, help="time limit for the ranks of one world, seconds (default: %(default)s)")
  parser.add_argument("--json", help="write all rows to this file, one line of JSON each")
  parser.add_argument("--train", action="store_true", help="measure tokens/s of data-parallel training instead")
  parser.add_argument("--sharded", action="store_true", help="--train: shard parameters by fully_shard (a PyTorch of today)")
  parser.add_argument("--compute", action="store_true", help="multiply matrices before each call, beside its time")
  parser.add_argument("--threads", type=int, default=1, help="intra-op threads of a rank, for --train and --compute (default: %(default)s)")
  parser.add_argument("--batch", type=int, default=8, help="--train: sequences per rank and step (default: %(default)s)")
  parser.add_argument("--hogs", type=int, default=0, help="processes that compute meanwhile (default: %(default)s)")
  parser.add_argument("--quick", action="store_true", help="fewer repetitions and sizes; takes a minute")
  options = parser.parse_args(arguments)
  options.sizes = options.sizes or listed(size)(QUICK_SIZES if options.quick else SIZES)
  options.reps = options.reps or (3 if options.quick else 9)
  options.budget_ms = options.budget_ms or (10 if options.quick else 40)
  for op in options.ops:
    if op not in OPS:
      parser.error(f"unknown operation '{op}'; expected one of {', '.join(OPS)}")
  if min(options.ranks) < 2:
    parser.error("the number of ranks is too small; expected at least 2")
  if options.compute and options.train:
    parser.error("--compute was given with --train, which computes anyway; expected one of the two")
  if min(options.threads, options.batch) < 1 or options.hogs < 0:
    parser.error("--threads and --batch expect at least 1, --hogs at least 0")
  return options


def run_world(ranks, script, what, options):
  """Returns the rows that rank 0 of this script printed."""
  what = json.dumps(what | {"module": os.path.join(options.build, "python")})
  environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
  with tempfile.TemporaryDirectory(prefix="weir-compare-torch-") as folder:
    command = [sys.executable, os.path.join(HERE, script)]
    return worlds.rows_of("compare-torch", [
        ([*command, str(rank), str(ranks), os.path.join(folder, "store"), what], environment) for rank in range(ranks)], options.timeout)


def figure(value):
  return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def table(rows):
  """Yields lines of Markdown."""
  yield "| operation | ranks | bytes | weir us | Gloo us | Gloo / weir |"
  yield "|---|---|---|---|---|---|"
  points = {}
  for row in rows:
    points.setdefault((row["op"], row["ranks"], row["bytes"]), {})[row["backend"]] = row["us"]
  for (op, ranks, count), times in points.items():
    ratio = statistics.median(gloo / weir for gloo, weir in zip(times["gloo"], times["weir"]))
    own, peer = (figure(statistics.median(times[backend])) for backend in ("weir", "gloo"))
    yield f"| {op} | {ranks} | {human(count)} | {own} | {peer} | {ratio:.1f} |"


def compare_training(options):
  what = {"backends": ["gloo", "weir"], "batch": options.batch, "threads": options.threads, "repetitions": options.reps,
          "steps": TRAIN_STEPS, "sharded": options.sharded}
  print("| ranks | weir tokens/s | Gloo tokens/s | limit | weir / Gloo | limit / Gloo |\n|---|---|---|---|---|---|")
  differ = False
  for ranks in options.ranks:
    rows = {row["backend"]: row for row in run_world(ranks, "train_rank.py", what, options)}
    weir, gloo, limit = (rows[name]["tokens_per_s"] for name in ("weir", "gloo", "limit"))
    medians = (f"{statistics.median(rates):.0f}" for rates in (weir, gloo, limit))
    ratios = (f"{statistics.median(own / peer for own, peer in zip(rates, gloo)):.2f}" for rates in (weir, limit))
    print(f"| {ranks} | " + " | ".join((*medians, *ratios)) + " |", flush=True)
    differ = differ or not all(row["ok"] for row in rows.values())
  if differ:
    print("compare-torch: the ranks' parameters differ", file=sys.stderr)
  return int(differ)


def compare_calls(options):
  what = {"backends": ["gloo", "weir"], "ops": options.ops, "sizes": options.sizes, "repetitions": options.reps,
          "budget_ms": options.budget_ms, "threads": options.threads, "computes": options.compute}
  rows = [row for ranks in options.ranks for row in run_world(ranks, "rank.py", what, options)]
  for line in table(rows):
    print(line)
  return worlds.finish("compare-torch", rows, options.json, "backend")


def main():
  options = parse(sys.argv[1:])
  if not os.path.isdir(os.path.join(options.build, "python", "weir_torch")):
    sys.exit(f"compare-torch: {options.build}/python/weir_torch was not built; cmake -DWEIR_TORCH=ON reports what is missing")
  with worlds.computing(options.hogs):
    return compare_training(options) if options.train else compare_calls(options)


if __name__ == "__main__":
  sys.exit(main())
