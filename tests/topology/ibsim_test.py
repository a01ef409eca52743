#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A subnet of InfiniBand that ibsim simulates, found by weir topo and weir doctor: ibsim_test.py WEIR.

Two rails: HCA j of hosts 0 to 3 on leaf j, of hosts 4 to 7 on leaf 2 + j; three spines with two cables to each leaf. Then
the same with broken cables. Ends with 77 (skipped) where ibsim is not installed.
"""

import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

LEAVES, SPINES, HOSTS, RAILS = 4, 3, 8, 2
SKIPPED = 77


def fabric(broken=()):
  """A net file of ibsim; `broken` names (leaf, spine, cable) that are left out at both ends."""
  ends = collections.defaultdict(list)  # node -> lines

  def cable(a, port_a, b, port_b):
    ends[a].append(f'[{port_a}] "{b}"[{port_b}]')
    ends[b].append(f'[{port_b}] "{a}"[{port_a}]')

  for leaf in range(LEAVES):
    for spine in range(SPINES):
      for i in range(2):
        if (leaf, spine, i) not in broken:
          cable(f"leaf{leaf}", 5 + 2 * spine + i, f"spine{spine}", 1 + 2 * leaf + i)
  for host in range(HOSTS):
    for rail in range(RAILS):
      cable(f"node{host} mlx5_{rail}", 1, f"leaf{host // 4 * 2 + rail}", 1 + host % 4)
  text = ""
  for i in range(SPINES):
    text += f"switchguid=0x2000{i:x}00\nSwitch 16 \"spine{i}\"\n" + "\n".join(ends[f"spine{i}"]) + "\n\n"
  for i in range(LEAVES):
    text += f"switchguid=0x1000{i:x}00\nSwitch 16 \"leaf{i}\"\n" + "\n".join(ends[f"leaf{i}"]) + "\n\n"
  for host in range(HOSTS):
    for rail in range(RAILS):
      name = f"node{host} mlx5_{rail}"
      text += f"caguid=0x300{host:x}{rail:x}0\nHca 1 \"{name}\"\n" + "\n".join(ends[name]) + "\n\n"
  return text


class Simulation:
  """ibsim with a net file, and an environment in which programs sit on one of its hosts."""

  def __init__(self, folder, net, preload):
    self.socket = f"weir_{os.getpid()}_{time.monotonic_ns()}"
    path = os.path.join(folder, "fabric.net")
    with open(path, "w", encoding="ascii") as file:
      file.write(net)
    self.environment = dict(os.environ, IBSIM_SOCKNAME=self.socket)
    self.log = open(os.path.join(folder, "ibsim.log"), "w", encoding="utf8")
    self.process = subprocess.Popen(["ibsim", "-s", "-n", path], env=self.environment, stdin=subprocess.DEVNULL,
                                    stdout=self.log, stderr=self.log, cwd=folder)
    self.environment |= {"SIM_HOST": "node0 mlx5_0", "LD_PRELOAD": preload}

  def __enter__(self):
    # Its socket is abstract; it is listed when the simulator is ready.
    for _ in range(200):
      with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        if self.socket in file.read():
          return self
      time.sleep(0.05)
    raise SystemExit("ibsim does not start")

  def __exit__(self, *_):
    self.process.kill()
    self.process.wait()
    self.log.close()

  def run(self, *command):
    # Without its simulator the preloaded library waits for ever.
    return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)


def check_whole(weir, simulation):
  said = simulation.run(weir, "topo", "--subnet", "--json")
  assert said.returncode == 0, said.stderr
  graph = json.loads(said.stdout)
  nodes, links = graph["nodes"], graph["links"]
  switches = {n["name"]: n for n in nodes if n["kind"] == "switch"}
  assert sorted(switches) == [f"leaf{i}" for i in range(LEAVES)] + [f"spine{i}" for i in range(SPINES)], switches
  for name, node in switches.items():
    assert node["level"] == (1 if name.startswith("leaf") else 2), node

  def host_of(place):
    while "parent" in nodes[place]:
      place = nodes[place]["parent"]
    return nodes[place]["name"]

  below = collections.defaultdict(set)
  up = collections.Counter()
  for link in links:
    if link["kind"] != "cable":
      continue
    a, b = nodes[link["from"]], nodes[link["to"]]
    if a["kind"] == "switch" and b["kind"] == "switch":
      up[(a["name"], b["name"])] += link["count"]
    elif a["kind"] == "switch":
      below[a["name"]].add(host_of(link["to"]))
  for leaf in range(LEAVES):
    assert below[f"leaf{leaf}"] == {f"node{i}" for i in range(leaf // 2 * 4, leaf // 2 * 4 + 4)}, below
    for spine in range(SPINES):
      assert up[(f"leaf{leaf}", f"spine{spine}")] == 2, up
  tree = simulation.run(weir, "topo", "--subnet").stdout
  assert "4 hosts, 4 ports, 4 GB/s down, 6 GB/s up, 0.667:1" in tree, tree
  found = simulation.run(weir, "doctor", "--subnet").stdout
  assert "cable" not in found, found


def check_broken(weir, simulation):
  said = simulation.run(weir, "doctor", "--subnet")
  assert said.returncode == 1, said
  assert "between leaf1 and spine2 there is 1 of 2 cables" in said.stdout, said.stdout
  assert "there is no cable between leaf3 and spine0" in said.stdout, said.stdout
  assert said.stdout.count("WRONG") == 2, said.stdout


def main():
  weir = sys.argv[1]
  preload = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
  if shutil.which("ibsim") is None or not preload:
    print("ibsim is not installed (Debian: ibsim-utils)")
    sys.exit(SKIPPED)
  with tempfile.TemporaryDirectory() as folder:
    with Simulation(folder, fabric(), preload[0]) as simulation:
      said = simulation.run(weir, "topo", "--subnet", "--why")
      if "built without libibnetdisc" in said.stderr:
        print("weir was built without libibnetdisc's headers")
        sys.exit(SKIPPED)
      check_whole(weir, simulation)
    with Simulation(folder, fabric({(1, 2, 0), (3, 0, 0), (3, 0, 1)}), preload[0]) as simulation:
      check_broken(weir, simulation)


if __name__ == "__main__":
  main()
