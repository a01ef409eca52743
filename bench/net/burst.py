#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures many collectives queued at once, as in sharded training: burst.py FOLDER_OF_PROGRAMS.

Hosts are network namespaces on two leaves (tests/netlab) whose uplink is as fast as one host; a fabric file describes the leaves
unless --blind is given. Every rank queues all-gathers (or all-to-alls, --collective alltoall) on a stream, computes for a while
after each (sleeps, so the core is free), and waits for the end. Every configuration (--way NAME, or NAME:VARIABLE=VALUE,...) runs
in every round. Prints the time relative to the least possible one, which is limited by the data that a leaf sends upwards, the data
that a host receives, or the computation; the most bytes that were queued on a rank, if the library limits them (WEIR_ADMIT_BYTES,
_OPERATIONS); packets dropped at any port and retransmitted segments per round; credit grants, and how often channels waited for
credit. All figures are medians over the rounds.
"""

import argparse
import ctypes
import os
import re
import statistics
import sys
import tempfile
import time
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "tests", "netlab"), os.path.join(HERE, "..", "..", "examples", "python"), os.path.join(HERE, "..", "compare")]
from compare import listed, size  # noqa: E402
from ctypes_allreduce import Nccl, UniqueId  # noqa: E402
from network import Buffers, Impossible, Network, missing_tools  # noqa: E402
from ranks import favoured, kept_niceness, start_all  # noqa: E402
from table import human  # noqa: E402
from ways import way  # noqa: E402

HOST_QUEUE = 4 << 20
WAYS = (("as it is", {}),
        ("window slides over 2", {"WEIR_ADMIT_OPERATIONS": "2"}),
        ("block of 2, then flush", {"WEIR_ADMIT_OPERATIONS": "2", "WEIR_ADMIT_FLUSH": "1"}))

GRANTS, STALLS, NET_STATS = 4, 5, 11  # positions in weirNetStats_t, and its number of fields

Round = namedtuple("Round", "seconds queued dropped again grants stalls")


def work(folder, collective, calls, count, compute):
  """Runs one rank: prints its time in seconds and its counters."""
  nccl = Nccl(os.path.join(folder, "..", "lib", "libnccl.so.2"))
  rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
  comm, stream, unique_id = ctypes.c_void_p(), ctypes.c_void_p(), UniqueId()
  nccl("ncclGetUniqueId", ctypes.byref(unique_id))
  nccl("ncclCommInitRank", ctypes.byref(comm), ranks, unique_id, rank)
  nccl("weirStreamCreate", ctypes.byref(stream))
  own, gathered = (ctypes.c_byte * (count * ranks))(*[rank] * (count * ranks)), (ctypes.c_byte * (count * ranks))()

  def gather():
    nccl("ncclAllGather" if collective == "allgather" else "ncclAlltoAll", own, gathered, count, 0, comm, stream)

  for _ in range(2):
    gather()
  nccl("weirStreamSynchronize", stream)
  begin = time.monotonic()
  for _ in range(calls):
    gather()
    time.sleep(compute)
  nccl("weirStreamSynchronize", stream)
  print(f"seconds {time.monotonic() - begin}")
  stats = (ctypes.c_uint64 * NET_STATS)()
  nccl("weirCommNetStats", comm, stats, ctypes.sizeof(stats))
  print(f"grants {stats[GRANTS]} stalls {stats[STALLS]}")
  assert gathered[::count] == list(range(ranks)), gathered[::count]
  nccl("ncclCommDestroy", comm)


def run(network, arguments, fabric, variables):
  command = favoured(arguments.nice, (sys.executable, os.path.abspath(__file__), os.path.abspath(arguments.programs), "--collective",
                                      arguments.collective, "--work", f"{arguments.calls},{arguments.bytes // len(network.leaf_of)},{arguments.compute_ms / 1e3}"))
  before = sum(network.drops().values()), network.segments("RetransSegs")
  known = {} if arguments.blind else {"WEIR_FABRIC_FILE": fabric}
  processes = start_all(network, command, NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="COLL", **known, **variables)
  try:
    said = [process.communicate(timeout=arguments.timeout) for process in processes]
  finally:
    network.kill_all()
  for rank, process in enumerate(processes):
    assert process.returncode == 0, (rank, said[rank])
  seconds = max(float(re.search(r"seconds (\S+)", out)[1]) for out, _ in said)
  queued = [re.search(r"at most \d+ operations? with (.*) were queued", out) for out, _ in said]
  return Round(seconds, queued[0][1] if queued[0] else "", sum(network.drops().values()) - before[0],
               network.segments("RetransSegs") - before[1],
               *(sum(int(re.search(rf"{name} (\d+)", out)[1]) for out, _ in said) for name in ("grants", "stalls")))


def report(arguments, rounds):
  hosts = arguments.hosts
  # Bytes that the hosts of one leaf send to the other leaf: half of the total, or half of each host's data.
  # And bytes that one host receives.
  up = arguments.bytes / 2 * (1 if arguments.collective == "allgather" else hosts / 2)
  least = max(up, arguments.bytes * (hosts - 1) / hosts)
  ideal = arguments.calls * max(least * 8 / (arguments.mbit * 1e6), arguments.compute_ms / 1e3)
  print(f"\n{arguments.calls} {arguments.collective} of {human(arguments.bytes)} over {hosts} hosts on 2 leaves, {arguments.mbit:g} Mbit/s per host and "
        f"uplink, ports of {human(arguments.buffer)}; {arguments.compute_ms:g} ms of computing after each; ideal {ideal * 1e3:.0f} ms; "
        f"{arguments.rounds} rounds\n")
  print("| way | by the ideal | queued at most | dropped | sent again | grants | stalls |\n|---|---|---|---|---|---|---|")
  for name, column in rounds.items():
    middle = [statistics.median(getattr(one, field) for one in column) for field in ("seconds", "dropped", "again", "grants", "stalls")]
    print(f"| {name} | {middle[0] / ideal:.2f} | {column[0].queued or 'all'} | "
          + " | ".join(f"{count:.0f}" for count in middle[1:]) + " |", flush=True)


def parser():
  result = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  add = result.add_argument
  add("programs", help="folder with programs, such as build/bin; the library is in lib beside it")
  add("--hosts", type=int, default=8)
  add("--calls", type=int, default=100)
  add("--collective", choices=("allgather", "alltoall"), default="allgather")
  add("--bytes", type=size, default=1 << 20, help="size of each rank's result, in bytes, with K or M (default: 1M)")
  add("--blind", action="store_true", help="do not give weir the fabric file with the leaves")
  add("--compute-ms", type=float, default=0)
  add("--mbit", type=float, default=400)
  add("--buffer", type=size, default=128 << 10, help="buffer of every switch port, bytes (default: 128K)")
  add("--way", type=way, action="append", metavar="NAME:VARIABLE=VALUE,...",
      help="configuration to run (repeatable; default: without admission limits, and with both kinds of them)")
  add("--rounds", type=int, default=3)
  add("--mtu", type=int, default=1500)
  add("--congestion", default="cubic", help="TCP congestion control of the kernel (default: cubic)")
  add("--nice", type=int, default=0, help="niceness of the ranks; below 0 on a busy machine")
  add("--timeout", type=float, default=300, help="time limit of one round, seconds")
  add("--work", type=listed(float), help=argparse.SUPPRESS)
  return result


def main():
  arguments = parser().parse_args()
  if arguments.work:
    work(arguments.programs, arguments.collective, int(arguments.work[0]), int(arguments.work[1]), arguments.work[2])
    return
  if missing := missing_tools():
    sys.exit(missing)
  rounds = {name: [] for name, _ in arguments.way or WAYS}
  try:
    with kept_niceness(), tempfile.TemporaryDirectory() as folder:
      fabric = os.path.join(folder, "fabric.txt")
      buffers = Buffers(host=HOST_QUEUE, port=arguments.buffer, uplink=arguments.buffer)
      with Network([arguments.hosts // 2] * 2, arguments.mbit, [arguments.mbit] * 2, mtu=arguments.mtu, buffers=buffers,
                   congestion=arguments.congestion) as network:
        network.write_fabric(fabric)
        for _ in range(arguments.rounds):
          for name, variables in arguments.way or WAYS:
            rounds[name].append(run(network, arguments, fabric, variables))
  except Impossible as error:
    sys.exit(f"the network cannot be built: {error}")
  report(arguments, rounds)


if __name__ == "__main__":
  main()
