#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that sends words which nobody else may read: plant.py LIBRARY WORDS. Rank 0 broadcasts them, many times over."""

import ctypes
import os
import sys

COPIES = 4096
INT8 = 0


class UniqueId(ctypes.Structure):
  _fields_ = [("internal", ctypes.c_char * 128)]


def main(library, words):
  nccl = ctypes.CDLL(library)
  nccl.ncclGetErrorString.restype = nccl.ncclGetLastError.restype = ctypes.c_char_p

  def check(result):
    if result != 0:
      sys.exit(f"{nccl.ncclGetErrorString(result).decode()}: {nccl.ncclGetLastError(None).decode()}")

  rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
  uid, comm = UniqueId(), ctypes.c_void_p()
  check(nccl.ncclGetUniqueId(ctypes.byref(uid)))
  check(nccl.ncclCommInitRank(ctypes.byref(comm), ranks, uid, rank))
  planted = words.encode() * COPIES
  data = ctypes.create_string_buffer(planted if rank == 0 else b"\0" * len(planted), len(planted))
  check(nccl.ncclBroadcast(data, data, ctypes.c_size_t(len(planted)), INT8, 0, comm, None))
  check(nccl.ncclCommDestroy(comm))
  if data.raw != planted:
    sys.exit("the words did not arrive")


if __name__ == "__main__":
  main(*sys.argv[1:])
