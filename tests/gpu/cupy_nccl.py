#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy's module for NCCL: communicators of two ranks of one process on one GPU, and every call it has."""

import os
import sys
import threading

SKIPPED = 77
RANKS = 2
COUNT = 1000


def work(cupy, nccl, identity, rank, failures, ready):
  """One rank, on a stream of its own."""
  try:
    import numpy
    with cupy.cuda.Device(0), cupy.cuda.Stream(non_blocking=True) as stream:
      base = numpy.arange(COUNT, dtype=numpy.float32)
      mine = cupy.asarray(base + rank)
      wide = cupy.asarray(numpy.arange(COUNT * RANKS, dtype=numpy.float32) * (rank + 1))
      got, all_of_it = cupy.asarray(0 * base), cupy.asarray(numpy.zeros(COUNT * RANKS, dtype=numpy.float32))
      comm = nccl.NcclCommunicator(RANKS, identity, rank)
      if (comm.rank_id(), comm.size()) != (rank, RANKS):
        raise ValueError(f"the communicator says rank {comm.rank_id()} of {comm.size()}")
      # The ranks share a GPU. From here on nothing allocates on it or loads a kernel, which may wait for the other
      # rank's kernel.
      ready.wait()
      total = RANKS * base + sum(range(RANKS))
      checks = []

      def right(what, found, wanted):
        stream.synchronize()
        checks.append(what)
        if not numpy.array_equal(cupy.asnumpy(found, stream=stream), wanted):
          raise ValueError(f"{what} is wrong on rank {rank}")

      comm.allReduce(mine.data.ptr, got.data.ptr, COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream.ptr)
      right("allReduce", got, total)
      comm.reduce(mine.data.ptr, got.data.ptr, COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_MAX, 1, stream.ptr)
      right("reduce", got, base + 1 if rank == 1 else total)
      comm.broadcast(mine.data.ptr, got.data.ptr, COUNT, nccl.NCCL_FLOAT32, 0, stream.ptr)
      right("broadcast", got, base)
      comm.allGather(mine.data.ptr, all_of_it.data.ptr, COUNT, nccl.NCCL_FLOAT32, stream.ptr)
      right("allGather", all_of_it, numpy.concatenate([base + r for r in range(RANKS)]))
      comm.reduceScatter(wide.data.ptr, got.data.ptr, COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream.ptr)
      right("reduceScatter", got, 3 * (base + rank * COUNT))
      nccl.groupStart()
      comm.send(mine.data.ptr, COUNT, nccl.NCCL_FLOAT32, 1 - rank, stream.ptr)
      comm.recv(got.data.ptr, COUNT, nccl.NCCL_FLOAT32, 1 - rank, stream.ptr)
      nccl.groupEnd()
      right("send and recv", got, base + 1 - rank)
      comm.check_async_error()
      comm.destroy()
      print(f"rank {rank}: {', '.join(checks)} are right", flush=True)
  except Exception as error:  # the other rank must not wait for this one in vain
    failures.append(error)
    print(f"rank {rank}: {type(error).__name__}: {error}", flush=True)
    os._exit(1)


def main():
  try:
    import cupy
    from cupy.cuda import nccl
  except ImportError as error:
    print(f"skipped: CuPy with its module for NCCL is not installed: {error}")
    return SKIPPED
  if not nccl.available:
    print("skipped: this CuPy was built without NCCL")
    return SKIPPED
  print(f"libnccl is {nccl.get_version()}")
  identity, failures = nccl.get_unique_id(), []
  ready = threading.Barrier(RANKS)
  threads = [threading.Thread(target=work, args=(cupy, nccl, identity, rank, failures, ready)) for rank in range(RANKS)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  return 1 if failures else 0


if __name__ == "__main__":
  sys.exit(main())
