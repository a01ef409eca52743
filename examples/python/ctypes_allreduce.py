#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums over 3 processes with nothing but Python's ctypes and the name libnccl.so.2.

The library is found through LD_LIBRARY_PATH:

    LD_LIBRARY_PATH=build/lib python3 examples/python/ctypes_allreduce.py
"""

import ctypes
import multiprocessing
import sys

RANKS = 3
COUNT = 1000

nccl_result_t = ctypes.c_int
nccl_comm_t = ctypes.c_void_p
stream_t = ctypes.c_void_p
buffer_t = ctypes.c_void_p
NCCL_FLOAT, NCCL_INT64 = 7, 4
NCCL_SUM, NCCL_MAX = 0, 2


class UniqueId(ctypes.Structure):
  _fields_ = [("internal", ctypes.c_byte * 128)]


# Name, result, arguments: every name is looked up when the library is loaded, so that a missing one fails there.
FUNCTIONS = [
    ("ncclGetErrorString", ctypes.c_char_p, [nccl_result_t]),
    ("ncclGetLastError", ctypes.c_char_p, [nccl_comm_t]),
    ("ncclGetVersion", nccl_result_t, [ctypes.POINTER(ctypes.c_int)]),
    ("ncclGetUniqueId", nccl_result_t, [ctypes.POINTER(UniqueId)]),
    ("ncclCommInitRank", nccl_result_t, [ctypes.POINTER(nccl_comm_t), ctypes.c_int, UniqueId, ctypes.c_int]),
    ("ncclAllReduce", nccl_result_t,
     [buffer_t, buffer_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, nccl_comm_t, stream_t]),
    ("ncclReduce", nccl_result_t,
     [buffer_t, buffer_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, nccl_comm_t, stream_t]),
    ("ncclAllGather", nccl_result_t, [buffer_t, buffer_t, ctypes.c_size_t, ctypes.c_int, nccl_comm_t, stream_t]),
    ("ncclAlltoAll", nccl_result_t, [buffer_t, buffer_t, ctypes.c_size_t, ctypes.c_int, nccl_comm_t, stream_t]),
    ("ncclReduceScatter", nccl_result_t,
     [buffer_t, buffer_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, nccl_comm_t, stream_t]),
    ("ncclSend", nccl_result_t, [buffer_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, nccl_comm_t, stream_t]),
    ("ncclRecv", nccl_result_t, [buffer_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, nccl_comm_t, stream_t]),
    ("ncclBroadcast", nccl_result_t,
     [buffer_t, buffer_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, nccl_comm_t, stream_t]),
    ("ncclCommDestroy", nccl_result_t, [nccl_comm_t]),
    ("ncclGroupStart", nccl_result_t, []),
    ("ncclGroupEnd", nccl_result_t, []),
    ("weirCommNetStats", nccl_result_t, [nccl_comm_t, ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]),
    ("weirStreamCreate", nccl_result_t, [ctypes.POINTER(stream_t)]),
    ("weirStreamSynchronize", nccl_result_t, [stream_t]),
]


class Nccl:
  """The functions by name; a result that is not 0 becomes an exception with the library's sentence."""

  def __init__(self, name="libnccl.so.2"):
    library = ctypes.CDLL(name)
    self._functions = {}
    for function, result, arguments in FUNCTIONS:
      found = getattr(library, function)
      found.restype, found.argtypes = result, arguments
      self._functions[function] = found

  def __call__(self, function, *arguments):
    result = self._functions[function](*arguments)
    if result != 0:
      raise RuntimeError(f"{function}: {self._functions['ncclGetErrorString'](result).decode()}: "
                         f"{self._functions['ncclGetLastError'](None).decode()}")


def sum_everywhere(nccl, comm, rank):
  values = (ctypes.c_float * COUNT)(*(i + rank for i in range(COUNT)))
  sums = (ctypes.c_float * COUNT)()
  nccl("ncclAllReduce", values, sums, COUNT, NCCL_FLOAT, NCCL_SUM, comm, None)
  assert list(sums) == [RANKS * i + sum(range(RANKS)) for i in range(COUNT)], sums[:8]


def gather_ranks(nccl, comm, rank):
  own = ctypes.c_int64(1000 + rank)
  everybody = (ctypes.c_int64 * RANKS)()
  nccl("ncclAllGather", ctypes.byref(own), everybody, 1, NCCL_INT64, comm, None)
  assert list(everybody) == [1000 + r for r in range(RANKS)], list(everybody)
  nccl("ncclAllReduce", ctypes.byref(own), ctypes.byref(own), 1, NCCL_INT64, NCCL_MAX, comm, None)
  assert own.value == 1000 + RANKS - 1, own.value


def run_rank(rank, ids):
  nccl = Nccl()
  unique_id = UniqueId()
  if rank == 0:
    nccl("ncclGetUniqueId", ctypes.byref(unique_id))
    for _ in range(RANKS - 1):
      ids.put(bytes(unique_id))
  else:
    unique_id = UniqueId.from_buffer_copy(ids.get(timeout=30))
  comm = nccl_comm_t()
  nccl("ncclCommInitRank", ctypes.byref(comm), RANKS, unique_id, rank)
  sum_everywhere(nccl, comm, rank)
  gather_ranks(nccl, comm, rank)
  nccl("ncclCommDestroy", comm)


def main():
  context = multiprocessing.get_context("spawn")
  ids = context.Queue()
  ranks = [context.Process(target=run_rank, args=(rank, ids)) for rank in range(RANKS)]
  for process in ranks:
    process.start()
  for process in ranks:
    process.join(60)
  codes = [process.exitcode for process in ranks]
  for process in ranks:
    if process.is_alive():
      process.kill()
  if any(codes) or None in codes:
    sys.exit(f"exit codes of the ranks: {codes}")
  print(f"{RANKS} processes agree")


if __name__ == "__main__":
  main()
