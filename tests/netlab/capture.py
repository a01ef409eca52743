#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads all packets of an interface, as tcpdump does: capture.py INTERFACE FILE writes them one behind the other, until SIGTERM."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile

ALL_PROTOCOLS = 3
SO_RCVBUFFORCE = 33  # not in the module
BUFFER = 64 << 20  # what may wait while this process gets no core


def main(interface, path):
  packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
  packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
  packets.bind((interface, 0))
  packets.settimeout(0.1)
  ended = []
  signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
  print("ready", flush=True)
  with open(path, "wb") as file:
    while True:
      try:
        file.write(packets.recv(1 << 17))
      except TimeoutError:
        if ended:  # and nothing waits
          return


@contextlib.contextmanager
def captured(space, interface):
  """What passes the interface of a namespace while the block runs: the list that it gives has the bytes when the block is over."""
  with tempfile.NamedTemporaryFile() as file:
    process = subprocess.Popen(("ip", "netns", "exec", space, sys.executable, os.path.abspath(__file__), interface, file.name),
                               stdout=subprocess.PIPE, text=True)
    try:
      assert process.stdout.readline() == "ready\n"
      found = []
      yield found
      process.terminate()
      assert process.wait(timeout=60) == 0
      found.append(file.read())
    finally:
      process.kill()
      process.wait()
      process.stdout.close()


if __name__ == "__main__":
  main(*sys.argv[1:])
