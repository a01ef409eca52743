#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that sums and compares every byte until a file appears where rank 0 looks: sums.py LIBRARY BYTES FILE."""

import ctypes
import os
import sys

from ctypes_rank import CtypesRank

UINT8, SUM, MAX = 1, 0, 2
PERIOD = 251


def main(library, size, stop):
  size = int(size)
  joined = CtypesRank(library)
  nccl, comm, rank, ranks, check = joined.nccl, joined.comm, joined.rank, joined.ranks, joined.check

  def all_reduce(data, operation):
    out = ctypes.create_string_buffer(len(data))
    check(nccl.ncclAllReduce(data, out, ctypes.c_size_t(len(data)), UINT8, operation, comm, None))
    return out.raw

  numbers = bytes(range(PERIOD)) * (size // PERIOD + 2)
  own = bytes((number + rank) % 256 for number in range(256))
  summed = bytes((number * ranks + ranks * (ranks - 1) // 2) % 256 for number in range(256))
  rounds = 0
  while all_reduce(bytes([rank == 0 and os.path.exists(stop)]), MAX) == b"\0":
    given = numbers[rounds % PERIOD:][:size]
    if all_reduce(given.translate(own), SUM) != given.translate(summed):
      sys.exit(f"wrong sum in round {rounds}")
    rounds += 1
  check(nccl.ncclCommDestroy(comm))
  print(f"all {rounds} sums are right")


if __name__ == "__main__":
  main(*sys.argv[1:])
