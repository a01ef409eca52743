#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that does what rank 0 is told: rates.py LIBRARY BYTES. Lines of its standard input: `sum` times some sums, of which every byte
is compared; `resume` suspends and resumes the communicator; the end of the input ends the ranks. Rank 0 prints "done" and the bytes per
second of the sums."""

import ctypes
import os
import sys
import time

from ctypes_rank import CtypesRank

UINT8, SUM, MAX = 1, 0, 2
SUMS = 4
WORDS = ("", "sum", "resume")


def main(library, size):
  size = int(size)
  joined = CtypesRank(library)
  nccl, comm, rank, ranks, check = joined.nccl, joined.comm, joined.rank, joined.ranks, joined.check

  def all_reduce(data, out, operation):
    check(nccl.ncclAllReduce(data, out, ctypes.c_size_t(len(data)), UINT8, operation, comm, None))

  given = bytes((i + rank) % 251 for i in range(251)) * (size // 251 + 1)
  wanted = bytes(sum((i + r) % 251 for r in range(ranks)) % 256 for i in range(251)) * (size // 251 + 1)
  out, word = ctypes.create_string_buffer(size), ctypes.create_string_buffer(1)

  def measure():
    begin = time.monotonic()
    for _ in range(SUMS):
      all_reduce(given[:size], out, SUM)
    seconds = time.monotonic() - begin
    if out.raw != wanted[:size]:
      sys.exit("wrong sum")
    return SUMS * size / seconds

  while True:
    told = WORDS.index(sys.stdin.readline().strip()) if rank == 0 else 0
    all_reduce(bytes([told]), word, MAX)
    if word.raw == b"\0":
      break
    rate = 0.0
    if WORDS[word.raw[0]] == "sum":
      rate = measure()
    else:
      check(nccl.ncclCommSuspend(comm, 1))
      check(nccl.ncclCommResume(comm))
    if rank == 0:
      print(f"done {rate:.0f}", flush=True)
  check(nccl.ncclCommDestroy(comm))


if __name__ == "__main__":
  main(*sys.argv[1:])
