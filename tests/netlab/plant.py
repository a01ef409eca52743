#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that sends words which nobody else may read: plant.py LIBRARY WORDS. Rank 0 broadcasts them, many times over."""

import ctypes
import sys

from ctypes_rank import CtypesRank

COPIES = 4096
INT8 = 0


def main(library, words):
  own = CtypesRank(library)
  planted = words.encode() * COPIES
  data = ctypes.create_string_buffer(planted if own.rank == 0 else b"\0" * len(planted), len(planted))
  own.check(own.nccl.ncclBroadcast(data, data, ctypes.c_size_t(len(planted)), INT8, 0, own.comm, None))
  own.check(own.nccl.ncclCommDestroy(own.comm))
  if data.raw != planted:
    sys.exit("the words did not arrive")


if __name__ == "__main__":
  main(*sys.argv[1:])
