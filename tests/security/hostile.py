#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes hostile connections to ports of this host: hostile.py COUNT SEED PORT ... They know the protocol, but no secret."""

import os
import random
import socket
import struct
import sys
import time

LISTENER_MAGIC = 0x776569726C697334
ROOT_MAGIC = 0x746F6F7272696577
NOBODY = 65534
MOST_IDLE = 300
SECONDS_IDLE = 0.3


def hello(kind, body, random_bytes):
  """A hello to a listener whose proof is a guess."""
  key = struct.pack("<QIiiq", random.getrandbits(64), random.getrandbits(32), 0, 1, 0)
  return struct.pack("<QII", LISTENER_MAGIC, kind, body) + key + random_bytes(32)


def root_hello(ranks, random_bytes):
  """A hello to a root of a communicator of so many ranks, with a guess for a proof."""
  frame = struct.pack("<BQIQiii", 1, ROOT_MAGIC, 9, 0, 1, ranks, 1) + struct.pack("<I", 1) + b"x" + random_bytes(80)
  return struct.pack("<I", len(frame)) + frame


def words():
  """What the next connection says."""
  pick = random.randrange(10)
  size = random.choice((1, 7, 24, 75, 76, 77, 1000))
  return {
      0: b"",
      1: random.randbytes(size),
      2: hello(random.choice((1, 2, 3, 4, 5, 1 << 31)), random.choice((0, 255, 64 << 20, 2**32 - 1)), random.randbytes),
      3: hello(3, 64 << 20, random.randbytes)[:random.randrange(76)],
      4: root_hello(random.choice((2, 2**31 - 1, -1)), random.randbytes),
      5: struct.pack("<I", random.choice((0, 1, 1 << 20, 2**31, 2**32 - 1))) + random.randbytes(size),
      6: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      7: random.randbytes(1 << 18),
      8: hello(2, 100, random.randbytes) * 50,
      9: b"\x16\x03\x01\x02\x00\x01" + random.randbytes(512),
  }[pick]


def main(count, seed, ports):
  if os.geteuid() == 0:  # as another user than the job
    os.setgid(NOBODY)
    os.setuid(NOBODY)
  random.seed(seed)
  idle = []
  refused = 0
  for _ in range(count):
    connection = socket.socket()
    connection.settimeout(0.2)
    try:
      connection.connect(("127.0.0.1", random.choice(ports)))
      connection.sendall(words())
    except OSError:  # closed, or the queue of the port is full
      refused += 1
    if random.randrange(4):
      if random.randrange(4) == 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
      connection.close()
    else:
      idle.append((time.monotonic(), connection))
    while idle and (len(idle) > MOST_IDLE or time.monotonic() - idle[0][0] > SECONDS_IDLE):
      idle.pop(0)[1].close()
  print(f"{count} connections, {refused} of them refused or cut")


if __name__ == "__main__":
  main(int(sys.argv[1]), int(sys.argv[2]), [int(port) for port in sys.argv[3:]])
