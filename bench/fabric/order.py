#!/usr/bin/env python3
"""What the order of ranks is worth on a network with oversubscribed leaves: order.py FOLDER_OF_PROGRAMS.

Sixteen hosts on four leaves whose uplinks carry as much as one host, 4:1. Ranks are dealt out to hosts at random, and
all-reduce runs as it comes, and with a fabric file that tells weir the leaves. Prints times, bus bandwidths, and the bytes that
leaves sent upwards beside the least that they must: each needs 2 (1 - 1/leaves) of the message, once.
"""

import argparse
import os
import random
import re
import statistics
import sys
import tempfile

from network import Impossible, Network, missing_tools

LEAVES, HOSTS = 4, 4
BYTES = 4 << 20


def fabric_file(folder, mbit):
  path = os.path.join(folder, "fabric.txt")
  lines = ["weir fabric 1", "spine spine", f"leaf leaf[0-{LEAVES - 1}]", f"host host[0-{LEAVES * HOSTS - 1}]",
           f"cable leaf[0-{LEAVES - 1}] to spine {mbit / 1000}G"]
  lines += [f"attach host[{leaf * HOSTS}-{leaf * HOSTS + HOSTS - 1}] to leaf{leaf} {mbit / 1000}G" for leaf in range(LEAVES)]
  with open(path, "w", encoding="ascii") as file:
    file.write("\n".join(lines) + "\n")
  return path


def run(network, programs, host_of, repeats, **variables):
  """(us per all-reduce, bytes that leaves sent upwards per all-reduce)"""
  ranks = len(host_of)
  command = [os.path.join(programs, "all_reduce_perf"), "-b", str(BYTES), "-e", str(BYTES), "-n", str(repeats), "-w", "1",
             "-c", "0", "-a", "3"]
  before = network.sent_upwards()
  processes = [network.start(host_of[rank], rank, ranks, command, host_of[0], **variables) for rank in range(ranks)]
  said = [process.communicate(timeout=300) for process in processes]
  for rank, process in enumerate(processes):
    assert process.returncode == 0, (rank, said[rank])
  row = next(line.split() for line in said[0][0].splitlines() if re.match(rf" *{BYTES} ", line))
  calls = 1 + 2 * (1 + repeats)  # one to warm up, then out of place and in place, each with one that is not timed
  sent = [(after - first) / calls for first, after in zip(before, network.sent_upwards())]
  return (float(row[5]) + float(row[9])) / 2, sum(sent) / LEAVES


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("programs", help="folder with all_reduce_perf, such as build/bin")
  parser.add_argument("--mbit", type=float, default=64, help="of hosts and of uplinks")
  parser.add_argument("--rounds", type=int, default=3, help="random orders")
  parser.add_argument("--repeats", type=int, default=2, help="all-reduces per order, in place and out of place each")
  parser.add_argument("--seed", type=int, default=1)
  arguments = parser.parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  dice = random.Random(arguments.seed)
  rows = {"as they come": [], "by leaf": []}
  with tempfile.TemporaryDirectory() as folder:
    fabric = fabric_file(folder, arguments.mbit)
    try:
      with Network([HOSTS] * LEAVES, arguments.mbit, [arguments.mbit] * LEAVES) as network:
        for _ in range(arguments.rounds):
          host_of = list(range(LEAVES * HOSTS))
          dice.shuffle(host_of)
          rows["as they come"].append(run(network, arguments.programs, host_of, arguments.repeats))
          rows["by leaf"].append(run(network, arguments.programs, host_of, arguments.repeats, WEIR_FABRIC_FILE=fabric))
    except Impossible as error:
      sys.exit(f"the network cannot be built: {error}")
  least = 2 * (1 - 1 / LEAVES) * BYTES
  print(f"all-reduce of {BYTES >> 20} MiB over {LEAVES * HOSTS} hosts on {LEAVES} leaves, {arguments.mbit:g} Mbit/s per host and "
        f"uplink; medians of {arguments.rounds} orders")
  print(f"{'ranks':<14}{'ms':>8}{'busbw MB/s':>12}{'up per leaf MB':>16}{'of the least':>14}")
  for name, results in rows.items():
    us, sent = (statistics.median(column) for column in zip(*results))
    busbw = BYTES / us * 2 * (LEAVES * HOSTS - 1) / (LEAVES * HOSTS)
    print(f"{name:<14}{us / 1000:>8.0f}{busbw:>12.2f}{sent / 1e6:>16.2f}{sent / least:>14.2f}")
  ratio = statistics.median(a[0] / b[0] for a, b in zip(*rows.values()))
  print(f"by leaf is {ratio:.2f} times as fast")


if __name__ == "__main__":
  main()
