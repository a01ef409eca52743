#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A delay between the hosts of a network, where the kernel has no netem: delay.py MILLISECONDS PORT...

Takes the place of the leaf's bridge: reads what arrives at each port, and sends it on to the port where its destination is, so much
later. The queues of the ports limit the rates as before. Packets keep the kernel's offloads, so that those of up to 64 KiB stay one.
"""

import collections
import os
import select
import socket
import subprocess
import sys
import time

ETH_P_ALL, SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 3, 263, 15, 23, 33
HEADER = 10  # bytes of the header with the offloads, before each frame
LARGEST = 1 << 17


def open_port(name):
  port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ETH_P_ALL))
  port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
  port.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
  port.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
  port.bind((name, 0))
  return port


def take_in(port, waiting, due):
  while True:
    try:
      waiting.append((due, port, port.recv(LARGEST)))
    except BlockingIOError:
      return


def send_on(frame, source, ports, places):
  target, sender = frame[HEADER:HEADER + 6], frame[HEADER + 6:HEADER + 12]
  places[sender] = source
  for port in [places[target]] if target in places else [port for port in ports if port is not source]:
    try:
      port.send(frame)
    except OSError:  # a full queue, or a cable that is cut: as on a wire
      pass


def main():
  delay, ports = float(sys.argv[1]) / 1000, [open_port(name) for name in sys.argv[2:]]
  waiting, places = collections.deque(), {}
  print("ready", flush=True)
  while True:
    timeout = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    for port in select.select(ports, [], [], timeout)[0]:
      take_in(port, waiting, time.monotonic() + delay)
    while waiting and waiting[0][0] <= time.monotonic():
      _, source, frame = waiting.popleft()
      send_on(frame, source, ports, places)


def delay_all(network, milliseconds):
  """From now on what a host sends reaches the others so much later. For networks of one leaf and one rail; ends with the network."""
  space = network.switch("leaf0")
  ports = [f"port{host}" for host in range(len(network.leaf_of))]
  for host in range(len(network.leaf_of)):  # which must not lose its neighbours when this machine is busy
    settings = [f"net.ipv4.neigh.eth0.{name}=120" for name in ("mcast_solicit", "ucast_solicit")]
    subprocess.run(("ip", "netns", "exec", network.space(f"host{host}"), "sysctl", "-qw", *settings), check=True)
  for port in ports:
    subprocess.run(("ip", "-n", space, "link", "set", port, "nomaster"), check=True)
  process = subprocess.Popen(("ip", "netns", "exec", space, sys.executable, os.path.abspath(__file__), f"{milliseconds}", *ports),
                             stdout=subprocess.PIPE, text=True)
  if process.stdout.readline() != "ready\n":
    raise RuntimeError("the delay cannot be made")


if __name__ == "__main__":
  try:
    main()
  except OSError:  # the network is gone
    sys.exit(0)
