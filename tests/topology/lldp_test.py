#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaves of an Ethernet, found from live LLDP: lldp_test.py WEIR.

Two switches are bridges in network namespaces of their own, with lldpd on their ports; two hosts have a cable to each and
run lldpd too. Ends with 77 (skipped) where lldpd is not installed or does not start, or namespaces may not be made.
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

# lldpd starts paused; its own lldpcli reads this file and then resumes it. A command that changes anything sends the
# whole configuration back as it read it, and one that read "paused" just before would pause lldpd for good. So all is
# set here and later commands only ask. Neighbours stay known for interval times hold, far longer than the test runs.
CONFIGURATION = "configure lldp tx-interval 1\nconfigure lldp tx-hold 300\n"


def call(*command, check=True):
  return subprocess.run(command, capture_output=True, text=True, timeout=30, check=check)


class Network:
  """The namespaces, cables and daemons; all gone at the end."""

  def __init__(self, folder):
    self.folder, self.tag, self.spaces, self.daemons = folder, f"wl{os.getpid()}", [], []

  def space(self, name):
    return f"{self.tag}-{name}"

  def socket(self, name):
    return os.path.join(self.folder, f"{name}.sock")

  def add(self, name):
    call("ip", "netns", "add", self.space(name))
    self.spaces.append(self.space(name))
    call("ip", "-n", self.space(name), "link", "set", "lo", "up")

  def start(self, name, configuration):
    """lldpd, in the foreground: then it can be waited for."""
    self.daemons.append(subprocess.Popen(["ip", "netns", "exec", self.space(name), "lldpd", "-dd", "-u",
                                          self.socket(name), "-O", configuration], stdin=subprocess.DEVNULL))

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
    configuration = os.path.join(self.folder, "lldpd.conf")
    with open(configuration, "w", encoding="ascii") as file:
      file.write(CONFIGURATION)
    for name in [f"leaf{i}" for i in range(SWITCHES)] + [f"host{i}" for i in range(HOSTS)]:
      self.start(name, configuration)
    return self

  def __exit__(self, *_):
    for daemon in self.daemons:
      daemon.terminate()
    for daemon in self.daemons:
      daemon.wait(timeout=30)
    for space in self.spaces:
      call("ip", "netns", "del", space, check=False)

  def ask(self, name, what):
    """What lldpd says there; empty while it does not answer yet."""
    said = call("lldpcli", "-u", self.socket(name), "-f", "json0", "show", what, check=False)
    return json.loads(said.stdout) if said.returncode == 0 else {}

  def heard(self, name):
    """{interface: chassis} of the switches that lldpd itself knows there."""
    found = {}
    for interface in self.ask(name, "neighbors").get("lldp", [{}])[0].get("interface", []):
      chassis = interface["chassis"][0]
      enabled = {c["type"] for c in chassis.get("capability", []) if c["enabled"]}
      if "Bridge" in enabled:
        found[interface["name"]] = chassis["id"][0]["value"]
    return found

  def chassis_of(self, name):
    """As lldpd tells it to others; empty while it does not know."""
    chassis = self.ask(name, "chassis").get("local-chassis", [{}])[0].get("chassis", [{}])[0]
    return chassis.get("id", [{}])[0].get("value", "")

  def wait_until_heard(self, name):
    """{interface: chassis of the switch at its other end}, when lldpd there has heard of them all."""
    end = time.monotonic() + 60
    while True:
      expected = {f"eth{i}": self.chassis_of(f"leaf{i}") for i in range(SWITCHES)}
      heard = self.heard(name)
      if heard == expected:
        assert len(set(expected.values())) == SWITCHES, expected
        return expected
      if any(daemon.poll() is not None for daemon in self.daemons):
        print("lldpd does not start, or not for long")
        sys.exit(SKIPPED)
      assert time.monotonic() < end, f"lldpd itself has not heard of its neighbours: {heard}, not {expected}"
      time.sleep(0.2)


def detect(weir, network, host):
  """The graph that weir sees on a host of the network."""
  said = call("ip", "netns", "exec", network.space(host), weir, "topo", "--json", "--lldp", network.socket(host),
              check=False)
  assert said.returncode == 0, said.stderr
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
      for host in range(HOSTS):
        name = f"host{host}"
        expected = network.wait_until_heard(name)
        found = switches_in(detect(weir, network, name))
        assert found == expected, (found, expected)


if __name__ == "__main__":
  main()
