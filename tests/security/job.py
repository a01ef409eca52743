#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that sums and checks until it is told to stop: job.py LIBRARY FOLDER RANK RANKS. Rank 0 writes the id into the folder.

FOLDER/ready-RANK appears once the rank has joined, and FOLDER/stop ends the sums. The last line printed is
"CALLS SECONDS WRONG": the number of checked sums, the mean time of each, and how many were wrong.
"""

import ctypes
import os
import sys
import time

COUNT = 4096
INT32, SUM, MAX = 2, 0, 2


class UniqueId(ctypes.Structure):
  _fields_ = [("internal", ctypes.c_byte * 128)]


def main(library, folder, rank, ranks):
  nccl = ctypes.CDLL(library)
  nccl.ncclGetLastError.restype = ctypes.c_char_p
  path = os.path.join(folder, "id")

  def check(result):
    if result != 0:
      sys.exit(f"rank {rank}: {result}: {nccl.ncclGetLastError(None).decode()}")

  uid, comm = UniqueId(), ctypes.c_void_p()
  if rank == 0:
    check(nccl.ncclGetUniqueId(ctypes.byref(uid)))
    with open(os.open(path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
      file.write(uid)
    os.rename(path + ".new", path)
  else:
    with open(path, "rb") as file:
      file.readinto(uid)
  check(nccl.ncclCommInitRank(ctypes.byref(comm), ranks, uid, rank))
  open(os.path.join(folder, f"ready-{rank}"), "w", encoding="ascii").close()

  def reduce(data, count, operation):
    check(nccl.ncclAllReduce(data, data, ctypes.c_size_t(count), INT32, operation, comm, None))

  data, stop = (ctypes.c_int32 * COUNT)(), ctypes.c_int32(0)
  calls = wrong = 0
  seconds = 0.0
  while not stop.value:
    for i in range(COUNT):
      data[i] = (rank + 1) * i
    begin = time.monotonic()
    reduce(data, COUNT, SUM)
    seconds += time.monotonic() - begin
    expected = ranks * (ranks + 1) // 2
    wrong += any(data[i] != expected * i for i in range(COUNT))
    calls += 1
    stop.value = os.path.exists(os.path.join(folder, "stop"))
    reduce(ctypes.byref(stop), 1, MAX)
  check(nccl.ncclCommDestroy(comm))
  print(calls, seconds / calls, wrong)


if __name__ == "__main__":
  main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
