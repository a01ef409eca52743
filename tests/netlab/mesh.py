# SPDX-License-Identifier: Apache-2.0
"""A host's GPUs in miniature: a network of namespaces, one per GPU, with a cable for each pair of GPUs that NVLink or xGMI connects
and the machine's ratios of rates. Between GPUs without a cable, packets take the shortest ways, as many as there are.

GPU r has the address 10.77.0.(r + 1), on an interface that is no cable; cables have no addresses. Otherwise as network.py.
"""

import json
import subprocess

from network import ENDLESS, Network, call, limit

LINKS = ("xGMI", "NVLink")


class Machine:
  """The links between the GPUs of one host, as `weir topo --json` shows them. Rates are bytes per second in each direction."""

  def __init__(self, weir, topology):
    shown = json.loads(subprocess.run((weir, "topo", topology, "--json"), capture_output=True, text=True, check=True, timeout=60).stdout)
    gpus = [number for number, node in enumerate(shown["nodes"]) if node["kind"] == "GPU"]
    rank_of = {gpu: rank for rank, gpu in enumerate(gpus)}
    self.gpus = len(gpus)
    self.rates = {(rank_of[link["from"]], rank_of[link["to"]]): link["gb_per_s"] * 1e9 for link in shown["links"]
                  if link["kind"] in LINKS and link["from"] in rank_of and link["to"] in rank_of}

  def neighbours(self, gpu):
    return [b for a, b in self.rates if a == gpu]

  def distances(self, to):
    """Of every GPU, in cables."""
    found, rim = {to: 0}, [to]
    while rim:
      rim = [near for gpu in rim for near in self.neighbours(gpu) if near not in found and not found.update({near: found[gpu] + 1})]
    return found


class Mesh(Network):
  def __init__(self, machine, share, send_buffer=0, **keywords):
    """`share`: of the machine's rates, what the cables have. The others: as in Network."""
    super().__init__([machine.gpus], 0, [0], lossless=True, send_buffer=send_buffer, **keywords)
    self.machine, self.share = machine, share

  def address(self, host, rail=0):
    return f"10.77.0.{host + 1}"

  def build(self):
    for gpu in range(self.machine.gpus):
      buffers = (f"net.ipv4.tcp_wmem=4096 {self.send_buffer} {self.send_buffer}",) if self.send_buffer else ()
      self.add_space(f"host{gpu}", "net.ipv4.tcp_no_metrics_save=1", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0",
                     "net.ipv4.conf.default.rp_filter=0", "net.ipv4.fib_multipath_hash_policy=1", *buffers)
      space = self.space(f"host{gpu}")
      self.add_cable("eth0", space, "loose", space)  # with a carrier, and not every kernel has dummy interfaces
      call("ip", "-n", space, "addr", "add", f"{self.address(gpu)}/32", "dev", "eth0")
      for end in ("eth0", "loose"):
        call("ip", "-n", space, "link", "set", end, "up")
    for a, b in self.machine.rates:
      if a < b:
        self.plug(a, b)
    for gpu in range(self.machine.gpus):
      self.route_to(gpu)

  def plug(self, a, b):
    for (end, here), there in (((f"to{b}", a), b), ((f"to{a}", b), a)):
      if here == a:
        self.add_cable(end, self.space(f"host{a}"), f"to{a}", self.space(f"host{b}"))
      space = self.space(f"host{here}")
      call("ip", "-n", space, "link", "set", end, "up", "gso_max_segs", "1")
      limit(space, end, self.machine.rates[here, there] * 8e-6 * self.share, ENDLESS, self.buffers.burst)
      self.cables[here, there] = (space, end)

  def route_to(self, gpu):
    distance = self.machine.distances(gpu)
    for other in range(self.machine.gpus):
      if other == gpu:
        continue
      hops = [near for near in self.machine.neighbours(other) if distance[near] == distance[other] - 1]
      via = lambda near: ("via", self.address(near), "dev", f"to{near}")
      way = [word for near in hops for word in ("nexthop", *via(near), "onlink", "weight", f"{self.weight(other, near)}")]
      if len(hops) == 1:
        way = [*via(hops[0]), "onlink"]
      call("ip", "-n", self.space(f"host{other}"), "route", "add", f"{self.address(gpu)}/32", "src", self.address(other), "congctl",
           self.congestion, *way)

  def weight(self, a, b):
    return max(1, round(self.machine.rates[a, b] / min(self.machine.rates.values())))
