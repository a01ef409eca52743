#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks in containers whose ports their hosts forward: advertise_test.py FOLDER_OF_PROGRAMS CASE.

Ends with 77 (skipped) where networks of namespaces may not be made.
"""

import contextlib
import os
import subprocess
import sys

from cases import run
from network import Network, call

FIRST, LAST, PUBLIC = 6000, 6015, 7000  # ports in a container, and the first of those at which its host forwards to them
COMM_PORT = PUBLIC + LAST - FIRST
PER_BOX = 2

# What containers' hosts run for published ports where they do not rewrite addresses.
FORWARDER = """
import asyncio, sys
public, inner, first, last, shift = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
async def pump(source, drain):
  try:
    while data := await source.read(1 << 16):
      drain.write(data)
      await drain.drain()
    drain.write_eof()
  except OSError:
    drain.transport.abort()
async def main():
  def handler(port):
    async def serve(reader, writer):
      try:
        there, back = await asyncio.open_connection(inner, port)
      except OSError:
        return writer.transport.abort()
      await asyncio.gather(pump(reader, back), pump(there, writer))
    return serve
  servers = [await asyncio.start_server(handler(port), public, port + shift) for port in range(first, last + 1)]
  print("ready", flush=True)
  await asyncio.gather(*(server.serve_forever() for server in servers))
asyncio.run(main())
"""


class Boxes:
  """A container behind each host of a network. It reaches hosts, but no other container, and a host's address does not lead back to it."""

  def __init__(self, network):
    self.network, self.forwarders = network, []
    for host in (0, 1):
      box, outside = network.space(f"box{host}"), network.space(f"host{host}")
      network.add_space(f"box{host}")
      network.add_cable("eth0", box, "box", outside)
      call("ip", "-n", box, "addr", "add", f"192.168.{host}.2/24", "dev", "eth0")
      call("ip", "-n", outside, "addr", "add", f"192.168.{host}.1/24", "dev", "box")
      for space, interface in ((box, "eth0"), (outside, "box")):
        call("ip", "-n", space, "link", "set", interface, "up")
      call("ip", "netns", "exec", outside, "sysctl", "-qw", "net.ipv4.ip_forward=1")
      call("ip", "-n", box, "route", "add", network.address(1 - host), "via", f"192.168.{host}.1")
      call("ip", "-n", outside, "route", "add", f"192.168.{1 - host}.0/24", "via", network.address(1 - host))
      self.forwarders.append(subprocess.Popen(
          network.inside(host, sys.executable, "-c", FORWARDER, network.address(host), f"192.168.{host}.2", f"{FIRST}", f"{LAST}",
                         f"{PUBLIC - FIRST}"), stdout=subprocess.PIPE, text=True))
    for forwarder in self.forwarders:
      assert forwarder.stdout.readline() == "ready\n"

  def start(self, rank, command, **variables):
    host = rank // PER_BOX
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "WEIR_"))}
    environment |= {"RANK": f"{rank}", "WORLD_SIZE": f"{2 * PER_BOX}", "LOCAL_RANK": f"{rank % PER_BOX}",
                    "LOCAL_WORLD_SIZE": f"{PER_BOX}", "NCCL_HOSTID": f"box{host}", "WEIR_CALIBRATION": "0",
                    "NCCL_COMM_ID": f"{self.network.address(0)}:{COMM_PORT}", "WEIR_CACHE_DIR": self.network.cache,
                    "WEIR_PORTS": f"{FIRST}-{LAST}", "WEIR_ADVERTISE": f"{self.network.address(host)}:{PUBLIC}", "NCCL_DEBUG": "WARN"}
    environment |= variables
    return subprocess.Popen(("ip", "netns", "exec", self.network.space(f"box{host}"), *command),
                            env={name: value for name, value in environment.items() if value is not None}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

  def run(self, programs, **variables):
    """(exit status, what it said) of each rank."""
    library = os.path.join(os.path.dirname(os.path.abspath(programs)), "lib", "libnccl.so.2")
    command = (sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "plant.py"), library, "some words ")
    processes = [self.start(rank, command, **variables) for rank in range(2 * PER_BOX)]
    return [(process.communicate(timeout=100)[0], process.returncode) for process in processes]


@contextlib.contextmanager
def boxes():
  with Network([2], 0, [0]) as network:
    yield Boxes(network)


def joins_behind_forwarded_ports(programs):
  """Over TCP alone, too: ranks of one container then connect to each other, and few routers would lead them back."""
  with boxes() as those:
    for transports in (None, "tcp"):
      for said, code in those.run(programs, WEIR_TRANSPORTS=transports):
        assert code == 0, said


def fails_without_it(programs):
  """Then the test above would show nothing."""
  with boxes() as those:
    ends = those.run(programs, WEIR_ADVERTISE=None, WEIR_INIT_TIMEOUT="5")
    assert all(code != 0 for _, code in ends), ends
    assert "an address of a router needs WEIR_ADVERTISE" in ends[0][0], ends[0]


if __name__ == "__main__":
  run((joins_behind_forwarded_ports, fails_without_it))
