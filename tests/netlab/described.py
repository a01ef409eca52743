# SPDX-License-Identifier: Apache-2.0
"""A network of namespaces from a description of hosts and switches, in any form that `weir topo` reads: one namespace per host, a
cable for each of its network cables, with a share of its rate. Switches are bridges, which have to form trees: each host has one
interface for each tree that it is attached to. Inside hosts nothing is limited. Otherwise as network.py.
"""

import json
import subprocess

from network import ENDLESS, Impossible, Network, call, limit

DEVICES = ("GPU", "host")  # ranks are on the first kind that exists


class Cluster:
  """What `weir topo --json` shows of hosts, switches and cables between them. Rates are bytes per second in each direction."""

  def __init__(self, weir, topology):
    shown = json.loads(subprocess.run((weir, "topo", topology, "--json"), capture_output=True, text=True, check=True, timeout=60).stdout)
    nodes = shown["nodes"]
    holder = lambda node: node if nodes[node]["kind"] in ("host", "switch") or "parent" not in nodes[node] else holder(nodes[node]["parent"])
    hosts = [number for number, node in enumerate(nodes) if node["kind"] == "host"]
    self.hosts = len(hosts)
    number_of = {node: number for number, node in enumerate(hosts)}
    kind = next(kind for kind in DEVICES if any(node["kind"] == kind for node in nodes))
    self.host_of = [number_of[holder(number)] for number, node in enumerate(nodes) if node["kind"] == kind]  # index: rank
    switches = [number for number, node in enumerate(nodes) if node["kind"] == "switch"]
    self.switches = len(switches)
    for number, node in enumerate(switches):
      number_of[node] = self.hosts + number  # numbers of hosts, then of switches
    self.cables = {}  # (from, to): rate
    for link in shown["links"]:
      ends = holder(link["from"]), holder(link["to"])
      if link["kind"] == "cable" and ends[0] != ends[1]:
        cable = tuple(number_of[end] for end in ends)
        self.cables[cable] = self.cables.get(cable, 0) + link["gb_per_s"] * 1e9
    self.tree_of = {}  # index: switch; number of its tree
    for switch in range(self.hosts, self.hosts + self.switches):
      self.find_tree(switch)

  def neighbours(self, switch):
    return [b for a, b in self.cables if a == switch and b >= self.hosts]

  def find_tree(self, switch):
    if switch in self.tree_of:
      return
    number, unseen, cables = len(set(self.tree_of.values())), [switch], 0
    members = {switch}
    while unseen:
      near = self.neighbours(unseen.pop())
      cables += len(near)
      unseen += [other for other in near if other not in members]
      members.update(near)
    if cables != 2 * (len(members) - 1):
      raise Impossible(f"{len(members)} switches with {cables // 2} cables between them: expected a tree")
    self.tree_of.update({member: number for member in members})


class Described(Network):
  def __init__(self, cluster, share, send_buffer=0, **keywords):
    """`share`: of the described rates, what the cables have. The others: as in Network."""
    super().__init__([cluster.hosts], 0, [0], lossless=True, send_buffer=send_buffer, rails=max(cluster.tree_of.values()) + 1, **keywords)
    self.cluster, self.share = cluster, share

  def mbit(self, *cable):
    return self.cluster.cables[cable] * 8e-6 * self.share

  def build(self):
    self.add_space("net")
    for host in range(self.cluster.hosts):
      self.add_host(host)
    for switch in self.cluster.tree_of:
      self.add_bridge(f"sw{switch}")
    for a, b in self.cluster.cables:
      if a < b:
        self.plug(a, b)

  def plug(self, a, b):
    here = self.cluster.tree_of[b]
    near, far = self.switch(""), self.switch("")
    if a < self.cluster.hosts:
      end, near = f"eth{here}", self.space(f"host{a}")
    else:
      end = f"up{a}x{b}"
    port = f"down{a}x{b}"
    self.add_cable(end, near, port, far)
    self.cables[a, b], self.farther[a, b] = (far, port), (near, end)
    call("ip", "-n", far, "link", "set", port, "master", f"sw{b}", "up")
    if a < self.cluster.hosts:
      self.address_host(a, here, end)
    else:
      call("ip", "-n", near, "link", "set", end, "master", f"sw{a}", "up")
    limit(near, end, self.mbit(a, b), ENDLESS, self.buffers.burst)
    limit(far, port, self.mbit(b, a), ENDLESS, self.buffers.burst)

  def address_host(self, host, tree, nic):
    space, address = self.space(f"host{host}"), self.address(host, tree)
    call("ip", "-n", space, "addr", "add", f"{address}/24", "dev", nic, "noprefixroute")
    call("ip", "-n", space, "link", "set", nic, "up", "gso_max_segs", "1")
    call("ip", "-n", space, "route", "add", f"{address.rpartition('.')[0]}.0/24", "dev", nic, "src", address, "congctl", self.congestion)
