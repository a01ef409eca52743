#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures plans beside their predictions on eight networks in miniature: networks.py FOLDER_OF_PROGRAMS.

Each network is a description that `weir plan` reads. From the same description it is built of network namespaces: the GPUs of one host
with a cable for each NVLink or xGMI (tests/netlab/mesh.py), or hosts and switches with their network cables
(tests/netlab/described.py), at a share of the rates at which two busy cores do not matter. Communicators run the plan that `weir plan`
emits for the described rates (WEIR_PLAN_FILE), and a ring: between hosts in the order of ranks, between the GPUs of a host over their
widest links; there also the rings that fill all links best (ring_set). All are predicted by `weir sim` of the same moves on the
description. Nothing is fitted: payload follows from the sizes of headers, buckets and slots are those of the network, the latency is
that of a small message.
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
from described import Cluster, Described  # noqa: E402
from mesh import Machine, Mesh  # noqa: E402
from network import Buffers, Impossible, missing_tools  # noqa: E402
from predicted import FRAME, HEADERS, PAYLOAD_SHARE, SLOT_BYTES, SLOTS, run  # noqa: E402

MACHINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "topology", "machines")
BURST = 8 << 10  # bytes of a bucket: 8 ms at 8 Mbit/s


@dataclasses.dataclass
class Case:
  name: str
  topology: str  # a file of MACHINES, a line, or the text of a fabric file
  collective: str
  bytes: int
  mbit: float  # rate in miniature of 200 Gbit/s
  gpus: bool = False  # the GPUs of one host
  merged: str = ""  # a fabric file in which the rails of a host are one cable: a channel divides its messages among them


def hosts(*lines):
  return "\n".join(("weir fabric 1", *lines, ""))


CASES = (
    Case("16 dies of MI250", "mi250_16.xml", "all_gather", 16 << 20, 1.2, gpus=True),
    Case("8 dies of MI250X", "mi250x_8.xml", "all_reduce", 2 << 20, 0.8, gpus=True),
    Case("one slow host", hosts("leaf leaf0", "host node[0-3]", "attach node[0-1],node3 to leaf0 200G", "attach node2 to leaf0 100G"),
         "all_reduce", 2 << 20, 12),
    Case("mixed leaf", hosts("leaf leaf0", "host node[0-7]", "attach node[0-1] to leaf0 50G", "attach node[2-3] to leaf0 100G",
                             "attach node[4-7] to leaf0 200G"), "all_reduce", 2 << 20, 16),
    Case("2 leaves, 8:1", hosts("leaf leaf[0-1]", "spine spine", "host node[0-7]", "cable leaf[0-1] to spine 100G",
                                "attach node[0-3] to leaf0 200G", "attach node[4-7] to leaf1 200G"), "all_reduce", 1 << 20, 12),
    Case("leaves of 3 and 5", hosts("leaf leaf[0-1]", "spine spine", "host node[0-7]", "cable leaf0 to spine 100G", "cable leaf1 to spine 200G",
                                    "attach node0 to leaf0 50G", "attach node[1-2] to leaf0 200G",
                                    "attach node[3-6] to leaf1 200G", "attach node7 to leaf1 100G"), "all_reduce", 2 << 20, 16),
    Case("two rails", hosts("leaf leaf[0-1]", "host node[0-3]", "attach node0 nic eth[0-1] to leaf[0-1] 50G rail 0-1",
                            "attach node[1-3] nic eth[0-1] to leaf[0-1] 100G rail 0-1"), "all_reduce", 2 << 20, 12,
         merged=hosts("leaf leaf0", "host node[0-3]", "attach node0 to leaf0 100G", "attach node[1-3] to leaf0 200G")),
    Case("2 hosts of 4 ranks", "2 x (4 gpu nvswitch 20000, 1 nic 25) leaf", "all_reduce", 1 << 20, 8),
)


class Bench:
  def __init__(self, case, arguments, folder):
    self.case, self.arguments, self.folder = case, arguments, folder
    self.weir = os.path.join(arguments.programs, "weir")
    self.topology = os.path.join(MACHINES, case.topology) if case.gpus else case.topology
    if case.topology.startswith("weir fabric"):
      self.topology = os.path.join(folder, "fabric.txt")
      self.write("fabric.txt", case.topology)
    self.share = case.mbit * arguments.scale / 200e3
    self.graph = Machine(self.weir, self.topology) if case.gpus else Cluster(self.weir, self.topology)
    self.planned = self.write("merged.txt", case.merged) if case.merged else self.topology
    self.host_of = range(self.graph.gpus) if case.gpus else self.graph.host_of
    self.latency = 0  # seconds

  def write(self, name, text):
    path = os.path.join(self.folder, name)
    with open(path, "w", encoding="utf-8") as file:
      file.write(text)
    return path

  def network(self):
    build = Mesh if self.case.gpus else Described
    return build(self.graph, self.share, self.arguments.send_buffer, buffers=Buffers(burst=BURST))

  def call(self, *words):
    return subprocess.run((self.weir, *words), capture_output=True, text=True, check=True, timeout=300).stdout

  def plain_channels(self):
    return ("--collective", self.case.collective, "--bytes", f"{self.case.bytes}", "--slot-bytes", f"{SLOT_BYTES}", "--slots", f"{SLOTS}",
            "--latency", f"0,message={self.latency * 1e6 * self.share * PAYLOAD_SHARE:.6f}")

  def channels(self):
    """Also what the miniature has and the machine has not."""
    return (*self.plain_channels(), "--burst", f"{BURST * (FRAME - HEADERS) // FRAME}")

  def predict(self, *way):
    """Seconds in the miniature."""
    return json.loads(self.call("sim", self.planned, *self.channels(), *way, "--json"))["seconds"] / self.share / PAYLOAD_SHARE

  def measure_latency(self, network):
    (small,) = run(network, self.arguments.programs, self.arguments.nice, "sendrecv", (8,), 50, 2, **self.variables()).values()
    self.latency = statistics.median(small) / 1000

  def variables(self):
    rails = 1 if self.case.gpus else max(self.graph.tree_of.values()) + 1
    return {"NCCL_NSOCKS_PERTHREAD": f"{rails}", "NCCL_SOCKET_IFNAME": ",".join(f"eth{rail}" for rail in range(rails)),
            "WEIR_CREDIT": "0", "WEIR_CALIBRATION": "0"}

  def ways(self):
    """[(name, what weir sim is to simulate, variables of the ranks)], the plan first, a ring last."""
    text = self.call("plan", self.planned, *self.plain_channels(), "--emit", "plan")
    plan = self.write("chosen.plan", text)
    found = [(text.split("algorithm ", 1)[1].split("\n", 1)[0], ("--plan", plan), {"WEIR_PLAN_FILE": plan})]
    if not self.case.gpus:
      return [*found, ("ring", ("--algorithm", "ring"), {"WEIR_ALGO": "ring"})]
    rings = self.call("plan", self.topology, "--emit", "nccl-graph")
    graph = self.write("graph.xml", rings)
    order = [int(gpu, 16) for gpu in re.findall(r'<gpu dev="([0-9a-f]+)"', rings.split("<channel>", 1)[1].split("</channel>", 1)[0])]
    # Graph files are for ranks of one host, which here have to use TCP all the same.
    variables = {"NCCL_GRAPH_FILE": graph, "NCCL_HOSTID": "machine", "WEIR_TRANSPORTS": "loop,tcp", "WEIR_FAST": "0"}
    if found[0][0] != "ring_set":
      found.append(("ring_set", ("--algorithm", "ring_set"), variables | {"WEIR_ALGO": "ring_set"}))
    one = ("--algorithm", "ring", "--ranks", ",".join(f"{rank}" for rank in order))
    return [*found, ("ring", one, variables | {"WEIR_ALGO": "ring", "NCCL_MAX_NCHANNELS": "1"})]

  def measure(self):
    """[(name, predicted, [measured])] in seconds."""
    with self.network() as network:
      self.measure_latency(network)
      ways = self.ways()
      rows = [(name, self.predict(*way), []) for name, way, _ in ways]
      for _ in range(self.arguments.rounds):
        for (_, _, measured), (_, _, variables) in zip(rows, ways):
          times = run(network, self.arguments.programs, self.arguments.nice, self.case.collective, [self.case.bytes],
                      self.arguments.repeats, len(self.host_of), self.host_of, **{**self.variables(), **variables})
          measured.append(statistics.median(*times.values()) / 1000)
      return rows


def report(case, rows):
  """Prints the rows of a network; returns measured / predicted of each."""
  ring = rows[-1][1], statistics.median(rows[-1][2])
  found = []
  for number, (name, seconds, times) in enumerate(rows):
    median = statistics.median(times)
    found.append(median / seconds)
    tail = f"{ring[0] / seconds:>22.2f}{ring[1] / median:>10.2f}" if number + 1 < len(rows) else ""
    print(f"{case.name if number == 0 else '':<20}{case.collective if number == 0 else '':<12}{name:<14}{seconds:>10.3f}{median:>10.3f}"
          f"{median / seconds:>8.2f}{min(times):>9.3f}{max(times):>9.3f}{tail}", flush=True)
  return found


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("programs", help="folder with weir and the bench programs, such as build/bin")
  parser.add_argument("--scale", type=float, default=1, help="factor of all rates")
  parser.add_argument("--rounds", type=int, default=3, help="number of rounds, each with new processes")
  parser.add_argument("--repeats", type=int, default=1, help="repetitions in a round, in place and out of place each")
  parser.add_argument("--send-buffer", type=int, default=32 << 10, help="bytes per connection; 0: the kernel's choice, which fills queues")
  parser.add_argument("--nice", type=int, default=-10, help="niceness of the ranks; below 0 on a busy machine")
  parser.add_argument("--network", action="append", help=f"repeatable; default: all: {', '.join(case.name for case in CASES)}")
  arguments = parser.parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  print(f"{'network':<20}{'collective':<12}{'plan':<14}{'predicted':>10}{'measured':>10}{'ratio':>8}{'fastest':>9}{'slowest':>9}"
        f"{'ring / it: predicted':>22}{'measured':>9}", flush=True)
  ratios = []
  try:
    for case in CASES:
      if arguments.network and case.name not in arguments.network:
        continue
      with tempfile.TemporaryDirectory() as folder:
        ratios += report(case, Bench(case, arguments, folder).measure())
  except Impossible as error:
    sys.exit(f"the network cannot be built: {error}")
  close = sum(abs(ratio - 1) <= 0.1 for ratio in ratios)
  print(f"measured / predicted within 10 % in {close} of {len(ratios)} rows")


if __name__ == "__main__":
  main()
