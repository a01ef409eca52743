# SPDX-License-Identifier: Apache-2.0
"""Incast on a network of namespaces: all other hosts send to host 0 at once, behind a port with a shallow buffer."""

import json
import os
import tempfile
from collections import namedtuple

from network import Buffers, Network
from ranks import favoured, start_all

HOST_QUEUE = 4 << 20  # senders' NICs queue without loss

# Seconds of each call; packets that the receiver's port dropped; segments sent again; of credit; what rank 0 printed.
Round = namedtuple("Round", "times dropped again grants stalls said")


def incast_network(senders, mbit, buffer, mtu=1500, congestion="reno"):
  """Host 0 and so many senders on one switch; `buffer`: bytes of a port of the switch."""
  return Network([senders + 1], mbit, [0], mtu=mtu, buffers=Buffers(host=HOST_QUEUE, port=buffer), congestion=congestion)


def gathers(network, programs, size, calls, timeout, check=0, nice=0, **variables):
  """A round: so many gathers of `size` bytes from each other host to rank 0, all ranks beginning together. Counts are of the whole
  round: start of the communicator, warm-up and checked calls included, but those of credit, which are of the timed calls."""
  total = f"{size * len(network.leaf_of)}"  # as the programs count: what the root ends with, its own part included
  port = network.cables[0, 0]
  with tempfile.TemporaryDirectory() as folder:
    result = os.path.join(folder, "result.json")
    command = favoured(nice, (os.path.join(os.path.abspath(programs), "gather_perf"), "-b", total, "-e", total, "-n", f"{calls}", "-w", "2",
                              "-c", f"{check}", "-z", "3", "-I", "1"))
    before = network.drops()[port], network.segments("RetransSegs")
    processes = start_all(network, lambda rank: command + (["-J", result] if rank == 0 else []), **variables)
    try:
      said = [process.communicate(timeout=timeout) for process in processes]
    finally:
      network.kill_all()
    for rank, process in enumerate(processes):
      assert process.returncode == 0, (rank, said[rank])
    with open(result, encoding="utf-8") as file:
      (row,) = json.load(file)["results"]
  assert row["size"] == int(total), row["size"]
  times = [us / 1e6 for us in row["out_of_place_per_iter"]["times_us"]]
  net = row["net_stats"] or {"grants": 0, "stalls": 0}
  return Round(times, network.drops()[port] - before[0], network.segments("RetransSegs") - before[1], net["grants"], net["stalls"],
               said[0][0])
