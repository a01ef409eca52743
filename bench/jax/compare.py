# SPDX-License-Identifier: Apache-2.0
"""Compares JAX's collectives between CPU processes over weir with those over its Gloo, on this machine.

    bench/compare-jax                          # all operations, 8 B to 64 MiB, 2 and 4 processes
    bench/compare-jax --quick
    bench/compare-jax --ops all_reduce --ranks 2 --sizes 8,64K
    bench/compare-jax --bind                   # each process on a core of its own, as weir run binds them

A call is one of a program that jax.jit has compiled, with the wait for its result. The processes of both back ends live at the same
time and take turns, batch by batch; a figure is the median over the repetitions of the slowest process, a ratio the median of the
ratios of consecutive batches. `bytes` is the size of a process's larger buffer. The operation `none` is the program without a
collective: what JAX itself needs. Ratios above 1: weir is faster. Exit code 1 if a result was wrong or a process failed.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "compare"))
from compare import listed, size  # noqa: E402
from table import human  # noqa: E402
from worlds import finish  # noqa: E402

OPS = ("none", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute")
SIZES = "8,256,4K,64K,1M,8M,64M"
QUICK_SIZES = "8,4K,1M"
BACKENDS = ("weir", "gloo")


def parse(arguments):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder (default: %(default)s)")
  parser.add_argument("--ops", type=listed(str), default=list(OPS), help=f"operations (default: {','.join(OPS)})")
  parser.add_argument("--ranks", type=listed(int), default=[2, 4], help="numbers of processes (default: 2,4)")
  parser.add_argument("--sizes", type=listed(size), help=f"sizes in bytes, with K or M (default: {SIZES})")
  parser.add_argument("--reps", type=int, help="repetitions (default: 9; --quick: 3)")
  parser.add_argument("--budget-ms", type=float, help="milliseconds for one batch of calls (default: 40; --quick: 10)")
  parser.add_argument("--json", help="write all rows to this file, one line of JSON each")
  parser.add_argument("--bind", action="store_true", help="bind each process to a core, those of both back ends alike")
  parser.add_argument("--quick", action="store_true", help="fewer repetitions and sizes; takes a minute")
  options = parser.parse_args(arguments)
  options.sizes = options.sizes or listed(size)(QUICK_SIZES if options.quick else SIZES)
  options.reps = options.reps or (3 if options.quick else 9)
  options.budget_ms = options.budget_ms or (10 if options.quick else 40)
  for op in options.ops:
    if op not in OPS:
      parser.error(f"unknown operation '{op}'; expected one of {', '.join(OPS)}")
  if min(options.ranks) < 2:
    parser.error("the number of processes is too small; expected at least 2")
  return options


class World:
  """The processes of one back end."""

  def __init__(self, backend, ranks, package, bind):
    with socket.socket() as probe:
      probe.bind(("127.0.0.1", 0))
      address = f"127.0.0.1:{probe.getsockname()[1]}"
    self.backend = backend
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}
    cores = sorted(os.sched_getaffinity(0))
    self.processes = [
        subprocess.Popen([sys.executable, os.path.join(HERE, "process.py"), backend, str(rank), str(ranks), address, package],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) for rank in range(ranks)]
    for rank, process in enumerate(self.processes if bind else []):
      os.sched_setaffinity(process.pid, {cores[rank % len(cores)]})

  def ask(self, op, count, calls):
    """The answer of the slowest process."""
    question = json.dumps({"op": op, "bytes": count, "calls": calls}) + "\n"
    try:
      for process in self.processes:
        process.stdin.write(question)
        process.stdin.flush()
    except BrokenPipeError:
      pass  # its answer is missing
    # Gloo writes about its connections to standard output.
    answers = [next((json.loads(line) for line in process.stdout if line.startswith("{")), None) for process in self.processes]
    if None in answers:
      sys.exit(f"compare-jax: a process over {self.backend} has ended in {op} of {count} bytes")
    return {"us": max(answer["us"] for answer in answers), "ok": all(answer["ok"] for answer in answers), "bytes": answers[0]["bytes"]}

  def end(self):
    for process in self.processes:
      process.stdin.close()
    for process in self.processes:
      try:
        process.wait(60)
      except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def measure(op, count, worlds, options):
  rows = {}
  for world in worlds:
    quick = world.ask(op, count, 3)
    calls = int(min(2000, max(2, 1000 * options.budget_ms / quick["us"])))
    rows[world.backend] = {"op": op, "ranks": len(world.processes), "bytes": quick["bytes"], "backend": world.backend,
                           "calls": calls, "ok": quick["ok"], "us": []}
  for _ in range(options.reps):
    for world in worlds:
      rows[world.backend]["us"].append(world.ask(op, count, rows[world.backend]["calls"])["us"])
  return rows


def figure(value):
  return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def line_of(rows):
  own, gloo = (rows[backend]["us"] for backend in BACKENDS)
  ratio = statistics.median(peer / weir for weir, peer in zip(own, gloo))
  row = rows["weir"]
  return (f"| {row['op']} | {row['ranks']} | {human(row['bytes'])} | {figure(statistics.median(own))} | "
          f"{figure(statistics.median(gloo))} | {ratio:.1f} |")


def main():
  options = parse(sys.argv[1:])
  package = os.path.join(options.build, "python")
  if not os.path.isfile(os.path.join(package, "weir_jax", "libweir_mpi.so")):
    sys.exit(f"compare-jax: {package}/weir_jax was not built; expected cmake --build {options.build} --target weir_jax")
  print("| operation | processes | bytes | weir us | Gloo us | Gloo / weir |\n|---|---|---|---|---|---|")
  rows = []
  for ranks in options.ranks:
    worlds = [World(backend, ranks, package, options.bind) for backend in BACKENDS]
    try:
      for op in options.ops:
        for count in options.sizes:
          found = measure(op, count, worlds, options)
          rows += found.values()
          print(line_of(found), flush=True)
    finally:
      for world in worlds:
        world.end()
  return finish("compare-jax", rows, options.json, "backend")


if __name__ == "__main__":
  sys.exit(main())
