# SPDX-License-Identifier: Apache-2.0
"""A rank of a communicator through ctypes, as weir run has started it."""

import ctypes
import os
import sys


class UniqueId(ctypes.Structure):
  _fields_ = [("internal", ctypes.c_char * 128)]


class CtypesRank:
  def __init__(self, library):
    self.nccl = ctypes.CDLL(library)
    self.nccl.ncclGetErrorString.restype = self.nccl.ncclGetLastError.restype = ctypes.c_char_p
    self.rank, self.ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    uid, self.comm = UniqueId(), ctypes.c_void_p()
    self.check(self.nccl.ncclGetUniqueId(ctypes.byref(uid)))
    self.check(self.nccl.ncclCommInitRank(ctypes.byref(self.comm), self.ranks, uid, self.rank))

  def check(self, result):
    """Ends the process with the library's sentence if a call has failed."""
    if result != 0:
      sys.exit(f"{self.nccl.ncclGetErrorString(result).decode()}: {self.nccl.ncclGetLastError(None).decode()}")
