#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the benefit of planning for hosts of unequal speed: chosen.py FOLDER_OF_PROGRAMS.

Simulates hosts on one switch, one of them slower, with network namespaces and a matching fabric file. All-reduce runs with a
forced ring and with the library's choice, alternately. Prints both times, their ratio, and the same ratio of a ring and planned
trees as `weir sim` predicts it for this network (1 if rings are optimal and there are no planned trees).
"""

import argparse
import os
import statistics
import sys
import tempfile

from network import Impossible, missing_tools
from predicted import PAYLOAD_SHARE, Shape, network_of, predict, run

SHAPES = tuple(Shape(f"{hosts}, one at 1/{part}", (hosts,), slow={2: 1 / part}) for hosts in (4, 8) for part in (2, 4)) + (
    Shape("4, all alike", (4,)),)
BYTES = (256 << 10, 1280 << 10, 6400 << 10)  # steps of predicted.GROWTH
LATENCY_MS = 0.2  # per message; has no effect on ratios of such sizes
COLLECTIVE = "all_reduce"


def compare(shape, arguments):
  hosts = sum(shape.sizes)
  with tempfile.TemporaryDirectory() as folder, network_of(shape, arguments.mbit, arguments.send_buffer) as network:
    fabric = os.path.join(folder, "fabric.txt")
    network.write_fabric(fabric, PAYLOAD_SHARE)
    log = os.path.join(folder, "log")
    known = {"WEIR_FABRIC_FILE": fabric, "WEIR_CALIBRATION": f"{arguments.calibration}", "WEIR_CACHE_DIR": folder,
             "NCCL_NSOCKS_PERTHREAD": f"{arguments.connections}"}
    ways = {"ring": known | {"WEIR_ALGO": "ring"}, "chosen": known | {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": f"{log}.%h"}}
    times = {(way, size): [] for way in ways for size in BYTES}
    for _ in range(arguments.rounds):
      for way, variables in ways.items():
        found = run(network, arguments.programs, arguments.nice, COLLECTIVE, BYTES, arguments.repeats, hosts, **variables)
        for size in BYTES:
          times[way, size].append(statistics.median(found[size]))
    with open(f"{log}.host0", encoding="utf-8") as file:
      rows = [line.split(f"{COLLECTIVE} from ", 1)[1].strip() for line in file if f"{COLLECTIVE} from " in line]
  print(f"# {shape.name}: chosen from {'; '.join(' '.join(row.split()[:2]) for row in rows)}")
  weir = os.path.join(arguments.programs, "weir")
  with tempfile.TemporaryDirectory() as folder:
    fabric = os.path.join(folder, "fabric.txt")
    network.write_fabric(fabric, PAYLOAD_SHARE)
    for size in BYTES:
      ring, planned = (predict(weir, fabric, COLLECTIVE, algorithm, size, LATENCY_MS, arguments.connections)
                       for algorithm in ("ring", "planned" if shape.slow else "ring"))
      before, after = (statistics.median(times[way, size]) for way in ways)
      gains = [a / b for a, b in zip(times["ring", size], times["chosen", size])]
      print(f"{shape.name:<16}{size:>10}{before:>10.0f}{after:>10.0f}{before / after:>8.2f}{min(gains):>8.2f}{max(gains):>8.2f}"
            f"{ring / planned:>11.2f}", flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("programs", help="folder with weir and all_reduce_perf, such as build/bin")
  parser.add_argument("--mbit", type=float, default=50, help="rate of each host, Mbit/s")
  parser.add_argument("--rounds", type=int, default=3, help="number of rounds, each with new processes")
  parser.add_argument("--repeats", type=int, default=2, help="repetitions of each size in a round, in place and out of place each")
  parser.add_argument("--connections", type=int, default=2, help="connections per channel")
  parser.add_argument("--send-buffer", type=int, default=0, help="bytes per connection; 0: the kernel's choice, which fills queues")
  parser.add_argument("--calibration", type=int, choices=(0, 1), default=1, help="WEIR_CALIBRATION")
  parser.add_argument("--nice", type=int, default=0, help="niceness of the ranks; below 0 on a busy machine")
  parser.add_argument("--shape", action="append", help=f"network (repeatable; default: all): {', '.join(shape.name for shape in SHAPES)}")
  arguments = parser.parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  print(f"{arguments.mbit:g} Mbit/s per host; ms, medians of {arguments.rounds} rounds\n"
        f"{'hosts':<16}{'bytes':>10}{'ring':>10}{'chosen':>10}{'gain':>8}{'least':>8}{'most':>8}{'predicted':>11}", flush=True)
  try:
    for shape in SHAPES:
      if not arguments.shape or shape.name in arguments.shape:
        compare(shape, arguments)
  except Impossible as error:
    sys.exit(f"the network cannot be built: {error}")


if __name__ == "__main__":
  main()
