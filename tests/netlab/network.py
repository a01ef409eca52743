# SPDX-License-Identifier: Apache-2.0
"""A leaf-spine network of namespaces, with links slowed down by token buckets far below what the machine can carry, so
that they and not its cores are the bottleneck. Hosts are namespaces with a name of their own.

One spine: all switches are bridges in one namespace, hosts are 10.77.RAIL.(HOST + 1). Several spines: leaves and spines are
routers in namespaces of their own, a leaf spreads flows over its uplinks by addresses and ports (ECMP), and hosts are
10.(77 + RAIL).LEAF.(HOST + 1). Rails are networks of their own: eth0 of a host cannot reach eth1 of another. Nothing outside can
be reached.
"""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile

PORT, MASTER_PORT = 23456, 23457
MOST_HOSTS, MOST_RAILS, MOST_SPINES = 250, 50, 60  # what addresses are left for


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


@dataclasses.dataclass(frozen=True)
class Buffers:
  """Bytes that each kind of port may queue behind its bucket, and the bucket."""

  host: int = HOST_QUEUE  # a host's NIC
  port: int = QUEUE  # a leaf's port to a host
  uplink: int = QUEUE  # between leaf and spine, at both ends
  burst: int = BURST


def limit(space, interface, mbit, queue, burst=BURST):
  """What leaves the interface; 0 Mbit/s: as fast as the machine is."""
  if mbit:
    call("ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate",
         f"{round(mbit * 1e6)}bit", "burst", f"{burst}b", "limit", f"{queue}b")


def listed(pattern):
  """Namespaces that match, with what the match found."""
  found = (re.match(pattern, line) for line in call("ip", "netns", "list").splitlines())
  return [match for match in found if match]


def kill_all(space):
  """Processes in the namespace."""
  pids = subprocess.run(("ip", "netns", "pids", space), capture_output=True, text=True, check=False).stdout.split()
  for pid in pids:
    try:
      os.kill(int(pid), 9)
    except ProcessLookupError:
      pass


def remove(space):
  """The namespace, and what runs in it."""
  kill_all(space)
  subprocess.run(("ip", "netns", "del", space), capture_output=True, check=False)


def remove_leftovers():
  """Networks whose process and whose janitor were both killed before they could remove them."""
  for match in listed(r"(netlab([0-9]+)-\S+)"):
    if not os.path.exists(f"/proc/{match.group(2)}"):
      remove(match.group(1))


def janitor(tag, folder):
  """Waits until whoever started us closes our input or is killed, then removes its network and its folder."""
  sys.stdin.read()
  for match in listed(rf"({tag}-\S+)"):
    remove(match.group(1))
  shutil.rmtree(folder, ignore_errors=True)


def ahead_of_others():
  """Rates of a pretended network are not those of whatever else this machine has to do; where that is allowed."""
  try:
    os.nice(-15)
  except OSError:
    pass


class Network:
  """Gone at the end of `with`, however that comes. One at a time in a process; not thread-safe, except for cut and restore."""

  def __init__(self, sizes, host_mbit, uplink_mbit, slow=None, mtu=1500, lossless=False, send_buffer=0, rails=1, spines=1,
               buffers=Buffers(), offloads=False, congestion="reno"):
    """Hosts of each leaf; Mbit/s of hosts, of each of a leaf's uplinks (one per spine), and of single hosts that are slower;
    bytes of a packet; whether queues lose nothing; bytes that the kernel takes over from a connection, 0: as many as it
    likes. Every rail has all of it. `offloads`: packets of up to 64 KiB travel as one, which costs less and makes shallow
    buffers meaningless; else they are as on a wire. `congestion`: the kernel's congestion control."""
    self.tag = f"netlab{os.getpid()}"
    self.sizes, self.host_mbit, self.uplink_mbit, self.slow, self.mtu = sizes, host_mbit, uplink_mbit, slow or {}, mtu
    self.buffers = dataclasses.replace(buffers, port=ENDLESS, uplink=ENDLESS) if lossless else buffers
    self.send_buffer, self.rails, self.spines, self.offloads, self.congestion = send_buffer, rails, spines, offloads, congestion
    self.leaf_of = [leaf for leaf, size in enumerate(sizes) for _ in range(size)]
    self.routed = spines > 1
    self.cables = {}  # (host, rail) or (leaf, spine, rail): its end at the leaf, as (namespace, interface)
    self.farther = {}  # the same: its other end
    self.janitor = self.cache = None
    if len(self.leaf_of) > MOST_HOSTS or rails > MOST_RAILS or spines > MOST_SPINES:
      raise Impossible(f"more than {MOST_HOSTS} hosts, {MOST_RAILS} rails or {MOST_SPINES} spines")

  # Names and addresses

  def space(self, name):
    return f"{self.tag}-{name}"

  def named(self, what, number, rail):
    return f"{what}{number}" + (f"r{rail}" if self.rails > 1 else "")

  def switch(self, name):
    """The namespace of a leaf or spine."""
    return self.space(name if self.routed else "net")

  def address(self, host, rail=0):
    return f"10.{77 + rail}.{self.leaf_of[host]}.{host + 1}" if self.routed else f"10.77.{rail}.{host + 1}"

  # Building

  def add_space(self, name, *settings):
    call("ip", "netns", "add", self.space(name))
    call("ip", "-n", self.space(name), "link", "set", "lo", "up")
    if settings:
      call("ip", "netns", "exec", self.space(name), "sysctl", "-qw", *settings)

  def add_bridge(self, name):
    call("ip", "-n", self.switch(name), "link", "add", name, "type", "bridge")
    call("ip", "-n", self.switch(name), "link", "set", name, "up")

  def add_cable(self, a, space_of_a, b, space_of_b):
    mtu = ("mtu", f"{self.mtu}")
    call("ip", "link", "add", a, *mtu, "netns", space_of_a, "type", "veth", "peer", "name", b, *mtu, "netns", space_of_b)

  def add_host(self, host):
    settings = ["net.ipv4.tcp_no_metrics_save=1"]  # what one connection has learned is not the next one's
    if self.send_buffer:
      settings.append(f"net.ipv4.tcp_wmem=4096 {self.send_buffer} {self.send_buffer}")
    self.add_space(f"host{host}", *settings)

  def add_switch(self, name):
    """Routers do not send into cables that are cut."""
    if self.routed:
      # By the fields of packets, as switches do: the policy for addresses and ports takes what the sender's kernel has drawn for each
      # socket, where it has one.
      self.add_space(name, "net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=3", "net.ipv4.fib_multipath_hash_fields=55",
                     "net.ipv4.conf.all.ignore_routes_with_linkdown=1")

  def rate(self, host):
    return self.slow.get(host, self.host_mbit)

  def plug_host(self, host, rail):
    space, leaf = self.space(f"host{host}"), self.named("leaf", self.leaf_of[host], rail)
    nic, port, switch = f"eth{rail}", self.named("port", host, rail), self.switch(leaf)
    self.add_cable(nic, space, port, switch)
    self.cables[host, rail], self.farther[host, rail] = (switch, port), (space, nic)
    call("ip", "-n", switch, "link", "set", port, "master", leaf, "up")
    address = self.address(host, rail)
    subnet, congestion = address.rpartition(".")[0], ("congctl", self.congestion)  # a sysctl takes only what the machine allows
    call("ip", "-n", space, "addr", "add", f"{address}/24", "dev", nic, "noprefixroute")
    call("ip", "-n", space, "link", "set", nic, "up", *(() if self.offloads else ("gso_max_segs", "1")))
    call("ip", "-n", space, "route", "add", f"{subnet}.0/24", "dev", nic, "src", address, *congestion)
    if self.routed:
      call("ip", "-n", space, "route", "add", f"10.{77 + rail}.0.0/16", "via", f"{subnet}.254", *congestion)
    mbit = self.rate(host)
    limit(space, nic, mbit, max(self.buffers.host, self.buffers.port), self.buffers.burst)
    limit(switch, port, mbit, self.buffers.port, self.buffers.burst)

  def plug_uplink(self, leaf, spine, rail):
    ends = self.named("leaf", leaf, rail), self.named("spine", spine, rail)
    suffix = f"s{spine}" if self.routed else ""
    up, down = self.named(f"up{leaf}{suffix}", "", rail), self.named(f"down{leaf}{suffix}", "", rail)
    near, far = self.switch(ends[0]), self.switch(ends[1])
    self.add_cable(up, near, down, far)
    self.cables[leaf, spine, rail], self.farther[leaf, spine, rail] = (near, up), (far, down)
    for number, (space, end, switch) in enumerate(((near, up, ends[0]), (far, down, ends[1]))):
      if self.routed:
        call("ip", "-n", space, "addr", "add", f"10.{177 + rail}.{leaf}.{4 * spine + 1 + number}/30", "dev", end)
        call("ip", "-n", space, "link", "set", end, "up")
      else:
        call("ip", "-n", space, "link", "set", end, "master", switch, "up")
      limit(space, end, self.uplink_mbit[leaf], self.buffers.uplink, self.buffers.burst)
    if self.routed:
      call("ip", "-n", far, "route", "add", f"10.{77 + rail}.{leaf}.0/24", "via", f"10.{177 + rail}.{leaf}.{4 * spine + 1}")

  def build_rail(self, rail):
    spines = range(self.spines if len(self.sizes) > 1 else 0)
    for name in [self.named("spine", spine, rail) for spine in spines]:
      self.add_switch(name)
      if not self.routed:
        self.add_bridge(name)
    for leaf in range(len(self.sizes)):
      name = self.named("leaf", leaf, rail)
      self.add_switch(name)
      self.add_bridge(name)
      if self.routed:
        call("ip", "-n", self.switch(name), "addr", "add", f"10.{77 + rail}.{leaf}.254/24", "dev", name)
      for spine in spines:
        self.plug_uplink(leaf, spine, rail)
      if self.routed and spines:
        hops = [word for spine in spines for word in ("nexthop", "via", f"10.{177 + rail}.{leaf}.{4 * spine + 2}")]
        call("ip", "-n", self.switch(name), "route", "add", f"10.{77 + rail}.0.0/16", *hops)
    for host in range(len(self.leaf_of)):
      self.plug_host(host, rail)

  def build(self):
    if not self.routed:
      self.add_space("net")
    for host in range(len(self.leaf_of)):
      self.add_host(host)
    for rail in range(self.rails):
      self.build_rail(rail)

  def __enter__(self):
    remove_leftovers()
    self.cache = tempfile.mkdtemp(prefix=self.tag)
    self.janitor = subprocess.Popen((sys.executable, os.path.abspath(__file__), self.tag, self.cache), stdin=subprocess.PIPE,
                                    start_new_session=True)
    try:
      self.build()
    except BaseException:
      self.__exit__()
      raise
    return self

  def __exit__(self, *_):
    self.janitor.stdin.close()
    self.janitor.wait()

  def write_fabric(self, path, share=1):
    """The network as a fabric file, for programs. `share`: of the rates, what is left for payload."""
    assert self.rails == self.spines == 1
    rate = lambda mbit: f"{mbit * share / 1000:.9f}G"
    lines = ["weir fabric 1", f"leaf leaf[0-{len(self.sizes) - 1}]", f"host host[0-{len(self.leaf_of) - 1}]"]
    if len(self.sizes) > 1:
      lines += ["spine spine"] + [f"cable leaf{leaf} to spine {rate(mbit)}" for leaf, mbit in enumerate(self.uplink_mbit)]
    lines += [f"attach host{host} to leaf{leaf} {rate(self.rate(host))}" for host, leaf in enumerate(self.leaf_of)]
    with open(path, "w", encoding="ascii") as file:
      file.write("\n".join(lines) + "\n")

  # Running

  def inside(self, host, *command):
    """The command in the namespace of a host and under its name."""
    return ["ip", "netns", "exec", self.space(f"host{host}"), "unshare", "--uts", "sh", "-c", f'hostname host{host} && exec "$@"',
            "sh", *command]

  def start(self, host, rank, ranks, command, first_host=0, stdin=None, **variables):
    """The command as a rank on a host. Rank 0 is on `first_host`. Its outputs are pipes. `stdin`: as in Popen."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "WEIR_"))}
    first = self.address(first_host)
    environment.update({"RANK": f"{rank}", "WORLD_SIZE": f"{ranks}", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                        "MASTER_ADDR": first, "MASTER_PORT": f"{MASTER_PORT}", "NCCL_HOSTID": f"host{host}",
                        "NCCL_COMM_ID": f"{first}:{PORT}",
                        "WEIR_CACHE_DIR": self.cache,  # rates measured here are not those of the machine
                        "WEIR_SPIN": "0", "WEIR_YIELD": "0"})  # hosts have no cores of their own
    environment.update(variables)
    return subprocess.Popen(self.inside(host, *command), env=environment, text=True, stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, preexec_fn=ahead_of_others)

  def kill_all(self):
    """Whatever still runs on a host."""
    for host in range(len(self.leaf_of)):
      kill_all(self.space(f"host{host}"))

  def cut(self, *cable):
    """The cable of (host, rail) or (leaf, spine, rail) is pulled: both ends lose their carrier."""
    space, interface = self.cables[cable]
    call("ip", "-n", space, "link", "set", interface, "down")

  def restore(self, *cable):
    space, interface = self.cables[cable]
    call("ip", "-n", space, "link", "set", interface, "up")

  # Counters

  def statistic(self, space, interface, name):
    return int(call("ip", "netns", "exec", space, "cat", f"/sys/class/net/{interface}/statistics/{name}"))

  def drops(self):
    """{(namespace, interface): packets for which its queue had no room}, of both ends of all cables."""
    ends = [*self.cables.values(), *self.farther.values()]
    found = {}
    for space in {space for space, _ in ends}:
      said = call("tc", "-s", "-n", space, "qdisc", "show")
      for interface, number in re.findall(r"qdisc \S+ \S+ dev (\S+)[^\n]*\n[^\n]*dropped ([0-9]+)", said):
        found[space, interface] = int(number)
    return {end: found.get(end, 0) for end in ends}

  def dropped(self):
    return sum(self.drops().values())

  def sent_up(self):
    """{(leaf, spine, rail): bytes that the leaf has sent to the spine so far}."""
    return {cable: self.statistic(*end, "tx_bytes") for cable, end in self.cables.items() if len(cable) == 3}

  def sent_upwards(self):
    """The same for each leaf, over all its uplinks."""
    sent = self.sent_up()
    return [sum(number for (of, _, _), number in sent.items() if of == leaf) for leaf in range(len(self.sizes))]

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
  missing = [tool for tool in ("ip", "tc", "unshare", "hostname", "sysctl") if shutil.which(tool) is None]
  return f"not installed: {', '.join(missing)} (Debian: iproute2, util-linux, hostname, procps)" if missing else ""


if __name__ == "__main__":
  janitor(*sys.argv[1:])
