#!/usr/bin/env python3
"""Leaves of an Ethernet, found from live LLDP: lldp_test.py WEIR.

Two switches are bridges in network namespaces of their own, with lldpd on their ports; two hosts have a cable to each and
run lldpd too. Ends with 77 (skipped) where lldpd is not installed or namespaces may not be made.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SWITCHES, HOSTS = 2, 2
SKIPPED = 77


def call(*command, check=True):
  return subprocess.run(command, capture_output=True, text=True, timeout=30, check=check)


class Network:
  """The namespaces, cables and daemons; all gone at the end."""

  def __init__(self, folder):
    self.folder, self.tag, self.spaces = folder, f"wl{os.getpid()}", []

  def space(self, name):
    return f"{self.tag}-{name}"

  def socket(self, name):
    return os.path.join(self.folder, f"{name}.sock")

  def add(self, name):
    call("ip", "netns", "add", self.space(name))
    self.spaces.append(self.space(name))
    call("ip", "-n", self.space(name), "link", "set", "lo", "up")

  def __enter__(self):
    try:
      for i in range(SWITCHES):
        self.add(f"leaf{i}")
        call("ip", "-n", self.space(f"leaf{i}"), "link", "add", "br0", "type", "bridge")
        call("ip", "-n", self.space(f"leaf{i}"), "link", "set", "br0", "up")
      for host in range(HOSTS):
        self.add(f"host{host}")
        for i in range(SWITCHES):
          leaf = self.space(f"leaf{i}")
          call("ip", "link", "add", f"eth{i}", "netns", self.space(f"host{host}"), "type", "veth", "peer", "name",
               f"swp{host}", "netns", leaf)
          call("ip", "-n", leaf, "link", "set", f"swp{host}", "master", "br0", "up")
          call("ip", "-n", self.space(f"host{host}"), "link", "set", f"eth{i}", "up")
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
      self.__exit__()
      print(f"network namespaces cannot be made: {getattr(error, 'stderr', error)}")
      sys.exit(SKIPPED)
    for name in [f"leaf{i}" for i in range(SWITCHES)] + [f"host{i}" for i in range(HOSTS)]:
      call("ip", "netns", "exec", self.space(name), "lldpd", "-u", self.socket(name), "-p",
           os.path.join(self.folder, f"{name}.pid"), "-O", "/dev/null")
      call("lldpcli", "-u", self.socket(name), "configure", "lldp", "tx-interval", "1")
    return self

  def __exit__(self, *_):
    for name in os.listdir(self.folder):
      if name.endswith(".pid"):
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
          os.kill(int(file.read()), 15)
    for space in self.spaces:
      call("ip", "netns", "del", space, check=False)

  def heard(self, name):
    """{interface: chassis} of the switches that lldpd itself knows there."""
    said = json.loads(call("lldpcli", "-u", self.socket(name), "-f", "json0", "show", "neighbors").stdout)
    found = {}
    for interface in said["lldp"][0].get("interface", []):
      chassis = interface["chassis"][0]
      enabled = {c["type"] for c in chassis.get("capability", []) if c["enabled"]}
      if "Bridge" in enabled:
        found[interface["name"]] = chassis["id"][0]["value"]
    return found

  def chassis_of(self, name):
    said = call("lldpcli", "-u", self.socket(name), "-f", "json0", "show", "chassis").stdout
    return json.loads(said)["local-chassis"][0]["chassis"][0]["id"][0]["value"]


def detect(weir, network, host):
  """The graph that weir sees on a host of the network."""
  said = call("ip", "netns", "exec", network.space(host), weir, "topo", "--json", "--lldp", network.socket(host))
  return json.loads(said.stdout)


def switches_in(graph):
  """{interface: chassis of the switch behind it}."""
  nodes = graph["nodes"]
  return {nodes[link["from"]]["name"]: nodes[link["to"]]["name"].split("(")[-1].rstrip(")")
          for link in graph["links"]
          if link["kind"] == "cable" and nodes[link["to"]]["kind"] == "switch"}


def main():
  weir = sys.argv[1]
  if not all(shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin") for tool in ("lldpd", "lldpcli", "ip")):
    print("lldpd or ip is not installed (Debian: lldpd, iproute2)")
    sys.exit(SKIPPED)
  os.environ["PATH"] += ":/usr/sbin:/sbin"
  with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o755)  # lldpd gives up its rights
    with Network(folder) as network:
      expected = {f"eth{i}": network.chassis_of(f"leaf{i}") for i in range(SWITCHES)}
      assert len(set(expected.values())) == SWITCHES, expected
      for host in range(HOSTS):
        name, begin = f"host{host}", time.monotonic()
        while network.heard(name) != expected and time.monotonic() - begin < 20:
          time.sleep(0.2)
        heard = network.heard(name)
        if heard != expected:  # happens with several daemons on one machine; then nothing can be shown
          print(f"lldpd itself has not heard of its neighbours: {heard} instead of {expected}")
          sys.exit(SKIPPED)
        found = switches_in(detect(weir, network, name))
        assert found == expected, (found, expected)


if __name__ == "__main__":
  main()
