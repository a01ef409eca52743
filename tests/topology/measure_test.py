#!/usr/bin/env python3
"""Leaves found by measuring: measure_test.py WEIR [CASE ...].

Hosts are network namespaces with a name of their own; leaf switches are bridges, joined by another one. Links are slowed
down by token buckets, far below what the machine can carry, so that they and not its cores are the bottleneck. Ends
with 77 (skipped) where namespaces may not be made.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
HOST_MBIT = 32
PORT = 23456


class Impossible(Exception):
  """The machine does not let us build the network."""


def call(*command):
  done = subprocess.run(command, capture_output=True, text=True, timeout=60)
  if done.returncode != 0:
    raise Impossible(f"{' '.join(command)}: {done.stderr.strip()}")
  return done.stdout


def limit(space, interface, mbit):
  """What leaves the interface. Bucket and queue outlast the moments for which a busy machine forgets about us."""
  call("ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", f"{mbit}mbit",
       "burst", "32kb", "limit", "200kb")


def remove_leftovers():
  """Namespaces of tests that were killed before they could remove them."""
  for line in call("ip", "netns", "list").splitlines():
    found = re.match(r"(wm([0-9]+)-\S+)", line)
    if found and not os.path.exists(f"/proc/{found.group(2)}"):
      call("ip", "netns", "del", found.group(1))


class Network:
  """One namespace holds all switches; each host has its own. All gone at the end."""

  def __init__(self, sizes, uplink_mbit, slow=None):
    self.tag = f"wm{os.getpid()}"
    self.sizes, self.uplink_mbit, self.slow = sizes, uplink_mbit, slow or {}
    self.leaf_of = [leaf for leaf, size in enumerate(sizes) for _ in range(size)]
    self.spaces = []

  def space(self, name):
    return f"{self.tag}-{name}"

  def add_space(self, name):
    self.spaces.append(self.space(name))
    call("ip", "netns", "add", self.space(name))
    call("ip", "-n", self.space(name), "link", "set", "lo", "up")

  def add_bridge(self, name):
    call("ip", "-n", self.space("net"), "link", "add", name, "type", "bridge")
    call("ip", "-n", self.space("net"), "link", "set", name, "up")

  def build(self):
    self.add_space("net")
    net = self.space("net")
    several = len(self.sizes) > 1
    if several:
      self.add_bridge("spine")
    for leaf in range(len(self.sizes)):
      self.add_bridge(f"leaf{leaf}")
      if several:
        call("ip", "-n", net, "link", "add", f"up{leaf}", "type", "veth", "peer", "name", f"down{leaf}")
        call("ip", "-n", net, "link", "set", f"up{leaf}", "master", f"leaf{leaf}", "up")
        call("ip", "-n", net, "link", "set", f"down{leaf}", "master", "spine", "up")
        for end in (f"up{leaf}", f"down{leaf}"):
          limit(net, end, self.uplink_mbit[leaf])
    for host, leaf in enumerate(self.leaf_of):
      name = f"host{host}"
      self.add_space(name)
      call("ip", "link", "add", "eth0", "netns", self.space(name), "type", "veth", "peer", "name", f"port{host}",
           "netns", net)
      call("ip", "-n", net, "link", "set", f"port{host}", "master", f"leaf{leaf}", "up")
      call("ip", "-n", self.space(name), "addr", "add", f"10.77.0.{host + 1}/24", "dev", "eth0")
      call("ip", "-n", self.space(name), "link", "set", "eth0", "up")
      call("ip", "netns", "exec", self.space(name), "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
      mbit = self.slow.get(host, HOST_MBIT)
      limit(self.space(name), "eth0", mbit)
      limit(net, f"port{host}", mbit)

  def __enter__(self):
    try:
      remove_leftovers()
      self.build()
    except Impossible as error:
      self.__exit__()
      print(f"the network cannot be built: {error}")
      sys.exit(SKIPPED)
    except BaseException:
      self.__exit__()
      raise
    return self

  def __exit__(self, *_):
    for space in self.spaces:
      subprocess.run(("ip", "netns", "del", space), capture_output=True, check=False)

  def start(self, weir, rank, ranks, *arguments):
    """weir measure on a host, in its namespace and under its name: the last host has what ranks are left."""
    host = min(rank, len(self.leaf_of) - 1)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "WEIR_"))}
    variables.update({"RANK": f"{rank}", "WORLD_SIZE": f"{ranks}", "NCCL_HOSTID": f"{self.tag}-{host}",
                      "NCCL_COMM_ID": f"10.77.0.1:{PORT}", "WEIR_SPIN": "0"})  # hosts have no cores of their own
    command = ["ip", "netns", "exec", self.space(f"host{host}"), "unshare", "--uts", "sh", "-c",
               f'hostname host{host} && exec "$@"', "sh", weir, "measure", *arguments]
    return subprocess.Popen(command, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

  def measure(self, weir, ranks, *arguments):
    """What rank 0 prints."""
    processes = [self.start(weir, rank, ranks, *arguments) for rank in range(ranks)]
    try:
      said = [process.communicate(timeout=150) for process in processes]
    finally:
      for process in processes:
        process.kill()
    for rank, process in enumerate(processes):
      assert process.returncode == 0, (rank, process.returncode, said[rank])
    assert not any(out for out, _ in said[1:]), said
    print(said[0][0], flush=True)
    return said[0][0]


def attached(fabric):
  """{host: switch} of a fabric file, hosts written out."""
  found = {}
  for names, switch in re.findall(r"^attach (\S+) to (\S+) ", fabric, re.M):
    for prefix, numbers, name in re.findall(r"([a-z]+)\[([0-9,-]+)\]|([a-z]+[0-9]+)", names):
      for span in numbers.split(",") if numbers else ():
        first, _, last = span.partition("-")
        found.update({f"{prefix}{i}": switch for i in range(int(first), int(last or first) + 1)})
      if name:
        found[name] = switch
  return found


def finds_leaves(weir, folder):
  """Three leaves, whose uplinks carry a third of what their hosts could send."""
  sizes, fabric = (3, 2, 3), os.path.join(folder, "fabric.txt")
  with Network(sizes, [size * HOST_MBIT / 3 for size in sizes]) as network:
    said = network.measure(weir, 8, "-o", fabric, "--seconds-per-round", "0.5", "--repeat", "5")
    assert "3 leaves, from bandwidth" in said, said
    assert float(re.search(r"confidence ([0-9.]+)", said).group(1)) > 0.5, said
    with open(fabric, encoding="utf-8") as file:
      found = attached(file.read())
    assert found == {f"host{host}": f"leaf{leaf}" for host, leaf in enumerate(network.leaf_of)}, found
  shown = subprocess.run((weir, "topo", "--strict", fabric), capture_output=True, text=True, check=True).stdout
  assert "1 spine" in shown and "leaf leaf1  2 hosts" in shown, shown


def finds_none(weir, folder):
  """One switch: nothing tells its hosts apart, but that one is slow. The last one has two processes."""
  fabric = os.path.join(folder, "fabric.txt")
  with Network((6,), [0], slow={4: HOST_MBIT / 4}) as network:
    said = network.measure(weir, 7, "-o", fabric, "--seconds-per-round", "0.3", "--repeat", "4")
  assert "cannot tell" in said, said
  assert re.findall(r"^slow: (\S+)", said, re.M) == ["host4"], said
  with open(fabric, encoding="utf-8") as file:
    assert set(attached(file.read()).values()) == {"leaf0"}


def names_the_dead(weir, folder):
  """One process is killed while all measure: the others end, and say which it was."""
  with Network((4,), [0]) as network:
    processes = [network.start(weir, rank, 4, "--seconds-per-round", "0.3", "--repeat", "100") for rank in range(4)]
    try:
      assert "4 hosts" in processes[0].stderr.readline()
      processes[2].kill()
      for rank in (0, 1, 3):
        _, said = processes[rank].communicate(timeout=60)
        assert processes[rank].returncode == 1 and "rank 2" in said, (rank, said)
    finally:
      for process in processes:
        process.kill()


CASES = {case.__name__: case for case in (finds_leaves, finds_none, names_the_dead)}


def main():
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that namespaces go
  os.environ["PATH"] += ":/usr/sbin:/sbin"
  missing = [tool for tool in ("ip", "tc", "unshare", "hostname") if shutil.which(tool) is None]
  if missing:
    print(f"not installed: {', '.join(missing)} (Debian: iproute2, util-linux, hostname)")
    sys.exit(SKIPPED)
  for name in sys.argv[2:] or CASES:
    with tempfile.TemporaryDirectory() as folder:
      CASES[name](sys.argv[1], folder)


if __name__ == "__main__":
  main()
