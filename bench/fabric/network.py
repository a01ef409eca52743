"""A leaf-spine network of namespaces, with links slowed down by token buckets far below what the machine can carry, so
that they and not its cores are the bottleneck. Hosts are namespaces with a name of their own, switches are bridges.
"""

import os
import re
import shutil
import subprocess

PORT = 23456


class Impossible(Exception):
  """The machine does not let us build the network."""


def call(*command):
  done = subprocess.run(command, capture_output=True, text=True, timeout=60)
  if done.returncode != 0:
    raise Impossible(f"{' '.join(command)}: {done.stderr.strip()}")
  return done.stdout


# Bytes of a bucket, and of the queues behind it: they outlast the moments for which a busy machine forgets about us.
BURST = 32 << 10
QUEUE = 200 << 10
HOST_QUEUE = 2 << 20  # a host waits for its own NIC, it does not drop
ENDLESS = 16 << 20


def limit(space, interface, mbit, queue):
  """What leaves the interface."""
  call("ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", f"{mbit}mbit",
       "burst", f"{BURST}b", "limit", f"{queue}b")


def remove_leftovers():
  """Namespaces of tests that were killed before they could remove them."""
  for line in call("ip", "netns", "list").splitlines():
    found = re.match(r"(wm([0-9]+)-\S+)", line)
    if found and not os.path.exists(f"/proc/{found.group(2)}"):
      call("ip", "netns", "del", found.group(1))


class Network:
  """One namespace holds all switches; each host has its own. All gone at the end."""

  def __init__(self, sizes, host_mbit, uplink_mbit, slow=None, mtu=1500, lossless=False, send_buffer=0):
    """Hosts of each leaf; Mbit/s of hosts, of each leaf's uplink, and of single hosts that are slower; bytes of a packet;
    whether queues lose nothing; bytes that the kernel takes over from a connection, 0: as many as it likes."""
    self.tag = f"wm{os.getpid()}"
    self.sizes, self.host_mbit, self.uplink_mbit, self.slow, self.mtu = sizes, host_mbit, uplink_mbit, slow or {}, mtu
    self.queue, self.send_buffer = ENDLESS if lossless else QUEUE, send_buffer
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

  def add_cable(self, a, space_of_a, b, space_of_b):
    mtu = ("mtu", f"{self.mtu}")
    call("ip", "link", "add", a, *mtu, "netns", space_of_a, "type", "veth", "peer", "name", b, *mtu, "netns", space_of_b)

  def build(self):
    self.add_space("net")
    net = self.space("net")
    several = len(self.sizes) > 1
    if several:
      self.add_bridge("spine")
    for leaf in range(len(self.sizes)):
      self.add_bridge(f"leaf{leaf}")
      if several:
        self.add_cable(f"up{leaf}", net, f"down{leaf}", net)
        call("ip", "-n", net, "link", "set", f"up{leaf}", "master", f"leaf{leaf}", "up")
        call("ip", "-n", net, "link", "set", f"down{leaf}", "master", "spine", "up")
        for end in (f"up{leaf}", f"down{leaf}"):
          limit(net, end, self.uplink_mbit[leaf], self.queue)
    for host, leaf in enumerate(self.leaf_of):
      name = f"host{host}"
      self.add_space(name)
      self.add_cable("eth0", self.space(name), f"port{host}", net)
      call("ip", "-n", net, "link", "set", f"port{host}", "master", f"leaf{leaf}", "up")
      call("ip", "-n", self.space(name), "addr", "add", f"10.77.0.{host + 1}/24", "dev", "eth0")
      call("ip", "-n", self.space(name), "link", "set", "eth0", "up", "gso_max_segs", "1")  # packets as on a wire
      call("ip", "netns", "exec", self.space(name), "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
      if self.send_buffer:
        call("ip", "netns", "exec", self.space(name), "sysctl", "-qw", f"net.ipv4.tcp_wmem=4096 {self.send_buffer} {self.send_buffer}")
      mbit = self.slow.get(host, self.host_mbit)
      limit(self.space(name), "eth0", mbit, max(HOST_QUEUE, self.queue))
      limit(net, f"port{host}", mbit, self.queue)

  def __enter__(self):
    try:
      remove_leftovers()
      self.build()
    except BaseException:
      self.__exit__()
      raise
    return self

  def __exit__(self, *_):
    for space in self.spaces:
      subprocess.run(("ip", "netns", "del", space), capture_output=True, check=False)

  def start(self, host, rank, ranks, command, first_host=0, **variables):
    """The command as a rank on a host: in its namespace and under its name. Rank 0 is on `first_host`. Its outputs are
    pipes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "WEIR_"))}
    environment.update({"RANK": f"{rank}", "WORLD_SIZE": f"{ranks}", "NCCL_HOSTID": f"host{host}",
                        "NCCL_COMM_ID": f"10.77.0.{first_host + 1}:{PORT}", "WEIR_SPIN": "0"})  # hosts have no cores of their own
    environment.update(variables)
    inside = ["ip", "netns", "exec", self.space(f"host{host}"), "unshare", "--uts", "sh", "-c",
              f'hostname host{host} && exec "$@"', "sh", *command]
    return subprocess.Popen(inside, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

  def dropped(self):
    """Packets for which a queue had no room."""
    said = [call("tc", "-s", "-n", self.space(f"host{host}"), "qdisc", "show") for host in range(len(self.leaf_of))]
    said.append(call("tc", "-s", "-n", self.space("net"), "qdisc", "show"))
    return sum(int(number) for number in re.findall(r"dropped ([0-9]+)", "".join(said)))

  def sent_upwards(self):
    """Bytes that each leaf has sent to the spine so far."""
    return [int(call("ip", "netns", "exec", self.space("net"), "cat", f"/sys/class/net/up{leaf}/statistics/tx_bytes"))
            for leaf in range(len(self.sizes))]

  def segments(self, counter):
    """What a counter of the hosts' TCP says (OutSegs, RetransSegs), summed up."""
    total = 0
    for host in range(len(self.leaf_of)):
      lines = call("ip", "netns", "exec", self.space(f"host{host}"), "cat", "/proc/net/snmp").splitlines()
      names, values = (line.split() for line in lines if line.startswith("Tcp:"))
      total += int(values[names.index(counter)])
    return total


def missing_tools():
  """What is not installed, in words; empty: nothing is missing."""
  os.environ["PATH"] += ":/usr/sbin:/sbin"
  missing = [tool for tool in ("ip", "tc", "unshare", "hostname") if shutil.which(tool) is None]
  return f"not installed: {', '.join(missing)} (Debian: iproute2, util-linux, hostname)" if missing else ""
