#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the simulator with real TCP: predicted.py FOLDER_OF_PROGRAMS.

Runs collectives with forced algorithms on networks of namespaces, and predicts the same runs with `weir sim` on the same topology.
Prints each time next to its prediction. Nothing is fitted: bandwidths follow from the sizes of headers, slots are the library's,
and the latency is that of a message of a few bytes between two hosts of each network. Channels have one connection, because the
order in which several connections share a link varies from run to run (--connections 2, the library's default, shows it).
"""

import argparse
import dataclasses
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "netlab"))
from network import BURST, Impossible, Network, missing_tools  # noqa: E402
from ranks import favoured, kept_niceness  # noqa: E402

# A full frame at an MTU of 1500, as a token bucket counts it (no preamble, no checksum): Ethernet 14, IPv4
# 20, TCP 20 and its timestamps 12; the rest is payload. Every second frame is acknowledged by a frame of 66
# bytes in the other direction. In most collectives, links carry as much data in both directions, so the
# acknowledgements are charged to all links.
FRAME, HEADERS = 1514, 66
PAYLOAD_SHARE = (FRAME - HEADERS) / (FRAME + HEADERS / 2)
BURST_PAYLOAD = BURST * (FRAME - HEADERS) // FRAME

# The simulator uses messages of one size, so the library gets the same size. Slots as in src/base/options.h.
# Both ends of a channel have slots: the kernel takes a message from the sender's slot before the receiver has
# a free slot for it.
SLOT_BYTES, SLOTS = 64 << 10, 2 * 4
GROWTH = 5
SIZES = tuple((64 << 10) * GROWTH**i for i in range(4))  # to 8 MB


@dataclasses.dataclass
class Shape:
  name: str
  sizes: tuple  # number of hosts of each leaf
  uplinks: tuple = (0,)  # rate of each leaf's uplink, in units of a host's rate
  slow: dict = dataclasses.field(default_factory=dict)  # {host: rate}, in the same unit


SHAPES = (
    Shape("4", (4,)),
    Shape("4, one slow", (4,), slow={2: 0.5}),
    Shape("2 x 4, 1:1", (4, 4), (4, 4)),
    Shape("2 x 4, 4:1", (4, 4), (1, 1)),
    Shape("3 + 5, 2:1", (3, 5), (1.5, 2.5)),
    Shape("4 x 4, 4:1", (4, 4, 4, 4), (1, 1, 1, 1)),
)

SCHEDULES = (
    ("all_reduce", "ring"),
    ("all_reduce", "double_tree"),
    ("all_reduce", "halving_doubling"),
    ("all_reduce", "one_shot"),
    ("all_gather", "ring"),
    ("all_gather", "one_shot"),
    ("broadcast", "ring"),
    ("broadcast", "double_tree"),
    ("broadcast", "one_shot"),
)


@dataclasses.dataclass
class Row:
  shape: Shape
  collective: str
  algorithm: str
  bytes: int  # size as the programs count it: a whole number of blocks
  predicted: float  # ms
  measured: list = dataclasses.field(default_factory=list)  # ms; one median per run

  def ratio(self):
    return self.predicted / statistics.median(self.measured)

  def text(self):
    measured = statistics.median(self.measured)
    return (f"{self.shape.name:<12}{self.collective:<12}{self.algorithm:<18}{self.bytes:>9}{self.predicted:>11.1f}{measured:>11.1f}"
            f"{self.ratio():>7.2f}{min(self.measured):>11.1f}{max(self.measured):>9.1f}")


TITLE = (f"{'shape':<12}{'collective':<12}{'algorithm':<18}{'bytes':>9}{'predicted':>11}{'measured':>11}{'ratio':>7}{'fastest':>11}"
         f"{'slowest':>9}")


def network_of(shape, mbit, send_buffer):
  return Network(shape.sizes, mbit, [mbit * part for part in shape.uplinks], {host: mbit * part for host, part in shape.slow.items()},
                 lossless=True, send_buffer=send_buffer)


def predict(weir, fabric, collective, algorithm, size, latency_ms, connections):
  """Returns the predicted time in milliseconds."""
  command = (weir, "sim", fabric, "--collective", collective, "--bytes", f"{size}", "--algorithm", algorithm, "--latency",
             f"0,message={latency_ms * 1000:.3f}", "--slots", f"{SLOTS}", "--slot-bytes", f"{SLOT_BYTES}", "--connections", f"{connections}",
             "--burst", f"{BURST_PAYLOAD}", "--json")
  return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)["seconds"] * 1000


def run(network, programs, niceness, program, sizes, repeats, ranks, host_of=None, **variables):
  """Returns {bytes: milliseconds of each repeat, until the slowest rank has finished}. All start together after a barrier. `host_of`:
  index: rank; None: one rank on each host."""
  with tempfile.TemporaryDirectory() as folder, kept_niceness():
    result = os.path.join(folder, "result.json")
    command = [os.path.join(programs, f"{program}_perf"), "-b", f"{sizes[0]}", "-e", f"{sizes[-1]}", "-f", f"{GROWTH}", "-n", f"{repeats}",
               "-w", "1", "-c", "0", "-z", "3", "-I", "1"]
    host_of = host_of or range(ranks)
    processes = [network.start(host_of[rank], rank, ranks, favoured(niceness, command + (["-J", result] if rank == 0 else [])),
                               WEIR_SLOT_BYTES=f"{SLOT_BYTES}", **variables)
                 for rank in range(ranks)]  # waiting ranks sleep: many polling ranks would leave no time for the network
    try:
      said = [process.communicate(timeout=300) for process in processes]
    finally:
      for process in processes:
        process.kill()
    for rank, process in enumerate(processes):
      assert process.returncode == 0, (rank, said[rank])
    with open(result, encoding="utf-8") as file:
      rows = json.load(file)["results"]
  return {row["size"]: [us / 1000 for place in ("out_of_place", "in_place") for us in row[f"{place}_per_iter"]["times_us"]]
          for row in rows}


def compare(shape, schedules, arguments, report):
  """Measures the rows of a shape in interleaved rounds."""
  weir = os.path.join(arguments.programs, "weir")
  rows = []
  with tempfile.TemporaryDirectory() as folder, network_of(shape, arguments.mbit, arguments.send_buffer) as network:
    fabric = os.path.join(folder, "fabric.txt")
    network.write_fabric(fabric, PAYLOAD_SHARE)
    measure = lambda *what, **variables: run(network, arguments.programs, arguments.nice, *what,
                                             NCCL_NSOCKS_PERTHREAD=f"{arguments.connections}", **variables)
    # A message of a few bytes, which the token buckets do not delay: time of the end points and their
    # wake-ups.
    (small,) = measure("sendrecv", (8,), 50, 2).values()
    latency_ms = statistics.median(small)
    report(f"# {shape.name}: latency {latency_ms:.3f} ms")
    for collective, algorithm in schedules:
      for size in SIZES:
        row = Row(shape, collective, algorithm, size, predict(weir, fabric, collective, algorithm, size, latency_ms, arguments.connections))
        if row.predicted < arguments.longest:
          rows.append(row)
    for _ in range(arguments.rounds):
      for collective, algorithm in schedules:
        some = [row for row in rows if (row.collective, row.algorithm) == (collective, algorithm)]
        if not some:
          continue
        times = measure(collective, [row.bytes for row in some], arguments.repeats, sum(shape.sizes), WEIR_ALGO=algorithm)
        for row in some:
          row.measured.append(statistics.median(times[row.bytes]))
    report(f"# {shape.name}: {network.dropped()} packets dropped")
  for row in rows:
    report(row.text())
  return rows


def parser():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("programs", help="folder with weir and the bench programs, such as build/bin")
  parser.add_argument("--mbit", type=float, default=50, help="rate of each host, Mbit/s")
  parser.add_argument("--rounds", type=int, default=3, help="number of rounds, each with new processes")
  parser.add_argument("--repeats", type=int, default=3, help="repetitions of each size in a round, in place and out of place each")
  parser.add_argument("--longest", type=float, default=1500, help="skip sizes that are predicted to take longer, ms")
  parser.add_argument("--connections", type=int, default=1, help="connections per channel")
  parser.add_argument("--send-buffer", type=int, default=0, help="bytes per connection; 0: the kernel's choice, which fills queues")
  parser.add_argument("--nice", type=int, default=0, help="niceness of the ranks; below 0 on a busy machine")
  parser.add_argument("--shape", action="append", help=f"network (repeatable; default: all): {', '.join(shape.name for shape in SHAPES)}")
  parser.add_argument("--algorithm", action="append", help="algorithm to measure (repeatable; default: all)")
  return parser


def main():
  arguments = parser().parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  schedules = [each for each in SCHEDULES if not arguments.algorithm or each[1] in arguments.algorithm]
  print(f"{arguments.mbit:g} Mbit/s per host, {PAYLOAD_SHARE:.4f} of it payload; ms\n{TITLE}", flush=True)
  rows = []
  try:
    for shape in SHAPES:
      if not arguments.shape or shape.name in arguments.shape:
        rows += compare(shape, schedules, arguments, lambda line: print(line, flush=True))
  except Impossible as error:
    sys.exit(f"the network cannot be built: {error}")
  deviations = sorted(abs(row.ratio() - 1) for row in rows)
  close = sum(deviation <= 0.1 for deviation in deviations)
  print(f"{close} of {len(rows)} rows within 10%; deviation: median {statistics.median(deviations):.1%}, worst {deviations[-1]:.1%}")


if __name__ == "__main__":
  main()
