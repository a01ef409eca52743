#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures incast, many hosts sending to one whose switch port has a small buffer: incast.py FOLDER_OF_PROGRAMS.

Hosts are network namespaces on one switch (tests/netlab), packets have the size of Ethernet frames, and the senders' NICs queue
without loss. A call is a gather to rank 0 that starts on all ranks at the same time; its ideal time is senders * bytes / rate
without headers, so that 1514 / 1448 = 1.046 is the least possible ratio with an MTU of 1500. Every configuration (--way NAME, or
NAME:VARIABLE=VALUE,...) runs in every round. Prints quantiles of the calls' times relative to the ideal one (medians over rounds),
the smallest and the largest p50 of a round, packets dropped at the receiver's port and retransmitted segments per round, warm-up
calls included; and the library's credit counters per round, without warm-up: grants, and how often channels waited for credit.
"""

import argparse
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "tests", "netlab"), os.path.join(HERE, "..", "compare")]
from compare import listed, size  # noqa: E402
from gathers import gathers, incast_network  # noqa: E402
from network import Impossible, missing_tools  # noqa: E402
from ranks import kept_niceness  # noqa: E402
from table import human  # noqa: E402
from ways import way  # noqa: E402

QUANTILES = (0.5, 0.9, 0.99, 1)


def quantile(values, share):
  """Returns the smallest value that this share of all values does not exceed."""
  values = sorted(values)
  return values[max(0, -int(-share * len(values) // 1) - 1)]


def measure(senders, congestion, arguments):
  """Returns {way: [Round]}."""
  rounds = {name: [] for name, _ in arguments.way}
  with incast_network(senders, arguments.mbit, arguments.buffer, arguments.mtu, congestion) as network:
    for _ in range(arguments.rounds):
      for name, variables in arguments.way:
        rounds[name].append(gathers(network, arguments.programs, arguments.bytes, arguments.calls, arguments.timeout, nice=arguments.nice,
                                    **variables))
  return rounds


def report(senders, congestion, arguments, rounds):
  ideal = senders * arguments.bytes * 8 / (arguments.mbit * 1e6)
  print(f"\n{senders} hosts send {human(arguments.bytes)} each to one, {arguments.mbit:g} Mbit/s, port of {human(arguments.buffer)}, "
        f"{congestion}; ideal {ideal * 1e3:.1f} ms; {arguments.rounds} rounds of {arguments.calls} calls\n")
  print("| way | p50 | p90 | p99 | max | p50 of rounds | dropped | sent again | grants | stalls |\n|---|---|---|---|---|---|---|---|---|---|")
  for name, column in rounds.items():
    cells = [statistics.median(quantile(one.times, share) for one in column) / ideal for share in QUANTILES]
    halves = [quantile(one.times, 0.5) / ideal for one in column]
    counts = [statistics.median(getattr(one, field) for one in column) for field in ("dropped", "again", "grants", "stalls")]
    print(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + f" | {min(halves):.2f} to {max(halves):.2f} | "
          + " | ".join(f"{count:.0f}" for count in counts) + " |", flush=True)


def parser():
  result = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  add = result.add_argument
  add("programs", help="folder with gather_perf, such as build/bin")
  add("--senders", type=listed(int), default=[8, 16], help="numbers of sending hosts (default: 8,16)")
  add("--bytes", type=size, default=256 << 10, help="bytes of each sender, with K or M (default: 256K)")
  add("--mbit", type=float, default=400)
  add("--buffer", type=size, default=128 << 10, help="buffer of the receiver's switch port, bytes (default: 128K)")
  add("--way", type=way, action="append", metavar="NAME:VARIABLE=VALUE,...",
      help="configuration to run (repeatable; default: no variables)")
  add("--rounds", type=int, default=5)
  add("--calls", type=int, default=40, help="calls in each round")
  add("--mtu", type=int, default=1500)
  add("--congestion", type=listed(str), default=["cubic", "bbr"], help="TCP congestion controls of the kernel (default: cubic,bbr)")
  add("--nice", type=int, default=0, help="niceness of the ranks; below 0 on a busy machine")
  add("--timeout", type=float, default=300, help="time limit of one round, seconds")
  return result


def main():
  arguments = parser().parse_args()
  arguments.way = arguments.way or [("as it is", {})]
  if missing := missing_tools():
    sys.exit(missing)
  try:
    with kept_niceness():
      for congestion in arguments.congestion:
        for senders in arguments.senders:
          report(senders, congestion, arguments, measure(senders, congestion, arguments))
  except Impossible as error:
    sys.exit(f"the network cannot be built: {error}")


if __name__ == "__main__":
  main()
