#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the benefit of ordering ranks on a network with oversubscribed leaves: order.py FOLDER_OF_PROGRAMS.

Simulates sixteen hosts on four leaves whose uplinks are as fast as one host, 4:1. Ranks are assigned to hosts at random. A
collective runs without a fabric file, and with a fabric file that describes the leaves: with a ring, and with hierarchical rings.
Prints times, bus bandwidths, retransmitted TCP segments, and the bytes of Ethernet frames that the leaves sent upwards, including
start-up and acknowledgements, next to the least payload that must go upwards: (1 - 1/leaves) of the message once for all-gather
and reduce-scatter, twice for all-reduce.
"""

import argparse
import os
import random
import re
import statistics
import sys
import tempfile
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "netlab"))
from network import Impossible, Network, missing_tools  # noqa: E402

LEAVES, HOSTS = 4, 4
RANKS = LEAVES * HOSTS
WAYS = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1}  # passes over the network: reduction, distribution

Result = namedtuple("Result", "us sent again")  # per call: time, bytes upwards per leaf; share of retransmitted segments


def run(network, arguments, host_of, check=0, **variables):
  """One program per host; ranks are on `host_of`. With check=1 a wrong result fails."""
  size = f"{arguments.bytes}"
  command = [os.path.join(arguments.programs, f"{arguments.collective}_perf"), "-b", size, "-e", size, "-n",
             f"{arguments.repeats}", "-w", "1", "-c", f"{check}", "-a", "3"]
  sent, segments, again = network.sent_upwards(), network.segments("OutSegs"), network.segments("RetransSegs")
  processes = [network.start(host, rank, len(host_of), command, host_of[0], **variables) for rank, host in enumerate(host_of)]
  said = [process.communicate(timeout=300) for process in processes]
  for rank, process in enumerate(processes):
    assert process.returncode == 0, (rank, said[rank])
  row = next(line.split() for line in said[0][0].splitlines() if re.match(rf" *{size} ", line))
  calls = 1 + 2 * (1 + arguments.repeats) + 2 * check  # warm-up; out of place and in place, each with an untimed call
  sent = [after - before for before, after in zip(sent, network.sent_upwards())]
  return Result((float(row[5]) + float(row[9])) / 2, statistics.mean(sent) / calls,
                (network.segments("RetransSegs") - again) / (network.segments("OutSegs") - segments))


def measure(arguments, folder):
  known = {"WEIR_FABRIC_FILE": os.path.join(folder, "fabric.txt")}
  rows = {"as they come": {}, "by leaf, ring": known | {"WEIR_ALGO": "ring"},
          "by leaf, hierarchical": known | {"WEIR_ALGO": "hierarchical"}}
  extra = {"WEIR_SLOT_BYTES": f"{arguments.slot_bytes}"} if arguments.slot_bytes else {}
  results = {name: [] for name in rows}
  dice = random.Random(arguments.seed)
  with Network([HOSTS] * LEAVES, arguments.mbit, [arguments.uplink] * LEAVES, mtu=arguments.mtu) as network:
    network.write_fabric(known["WEIR_FABRIC_FILE"])
    for _ in range(arguments.rounds):
      host_of = list(range(RANKS))
      dice.shuffle(host_of)
      for name, variables in rows.items():
        results[name].append(run(network, arguments, host_of, **variables, **extra))
  return results


def report(arguments, results):
  ways = WAYS[arguments.collective]
  least = ways * (1 - 1 / LEAVES) * arguments.bytes
  print(f"{arguments.collective} of {arguments.bytes >> 20} MiB over {RANKS} hosts on {LEAVES} leaves, {arguments.mbit:g} Mbit/s "
        f"per host, {arguments.uplink:g} Mbit/s per uplink, MTU {arguments.mtu}; medians of {arguments.rounds} orders")
  print(f"{'ranks':<24}{'ms':>8}{'times as fast':>15}{'busbw MB/s':>12}{'up per leaf MB':>16}{'of the least':>14}{'sent again':>12}")
  slowest = results["as they come"]
  for name, column in results.items():
    us, sent, again = (statistics.median(values) for values in zip(*column))
    gain = statistics.median(before.us / after.us for before, after in zip(slowest, column))
    busbw = arguments.bytes / us * ways * (RANKS - 1) / RANKS
    print(f"{name:<24}{us / 1000:>8.0f}{gain:>15.2f}{busbw:>12.2f}{sent / 1e6:>16.2f}{sent / least:>14.3f}{again:>12.2%}")
  print(f"least possible: {least / 1e6:.2f} MB of payload")


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("programs", help="folder with all_reduce_perf, such as build/bin")
  parser.add_argument("--collective", choices=WAYS, default="all_reduce")
  parser.add_argument("--bytes", type=int, default=4 << 20)
  parser.add_argument("--mbit", type=float, default=64, help="rate of each host, Mbit/s")
  parser.add_argument("--uplink", type=float, help="rate of each leaf's uplink, Mbit/s (default: the rate of a host)")
  parser.add_argument("--mtu", type=int, default=9000)
  parser.add_argument("--rounds", type=int, default=3, help="number of random orders")
  parser.add_argument("--repeats", type=int, default=2, help="timed calls per order, in place and out of place each")
  parser.add_argument("--slot-bytes", type=int, help="WEIR_SLOT_BYTES")
  parser.add_argument("--seed", type=int, default=1)
  arguments = parser.parse_args()
  arguments.uplink = arguments.uplink or arguments.mbit
  if missing := missing_tools():
    sys.exit(missing)
  with tempfile.TemporaryDirectory() as folder:
    try:
      results = measure(arguments, folder)
    except Impossible as error:
      sys.exit(f"the network cannot be built: {error}")
  report(arguments, results)


if __name__ == "__main__":
  main()
