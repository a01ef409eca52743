#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups of PyTorch begin and end well: non-blocking communicators, subgroups, abort while a rank is missing.

torch_life.py [--ranks N]
"""

import os
import time

import ranks as harness

TIMEOUT_S = 30
# PyTorch would end the process when an operation is aborted.
os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")


def check_non_blocking(ranks):
  """A communicator that is made in the background, and one split off it."""
  torch, dist = ranks.torch, ranks.dist
  options = {}
  if ranks.backend == "nccl":
    made = dist.ProcessGroupNCCL.Options()
    made.config.blocking = 0
    options = {"pg_options": made, "device_id": ranks.device}
  ranks.start(**options)
  one = torch.ones(1000, device=ranks.device)
  dist.all_reduce(one)
  harness.expect_close("the first all-reduce", one, torch.full((1000,), float(ranks.size)))
  members = list(range(0, ranks.size, 2))
  group = dist.new_group(members)
  if ranks.rank in members:
    two = torch.ones(1000, device=ranks.device)
    dist.all_reduce(two, group=group)
    harness.expect_close("an all-reduce of every other rank", two, torch.full((1000,), float(len(members))))
  ranks.synchronize()
  ranks.barrier()


def check_abort(ranks):
  """Rank 0 never comes: the others abort, and their streams are free again."""
  torch, dist = ranks.torch, ranks.dist
  if ranks.rank != 0:
    dist.all_reduce(torch.ones(1 << 20, device=ranks.device), async_op=True)
    time.sleep(0.5)  # so that it surely waits
  begin = time.monotonic()
  dist.distributed_c10d._get_default_group()._get_backend(ranks.device).abort()
  torch.cuda.synchronize()
  seconds = time.monotonic() - begin
  if seconds > TIMEOUT_S:
    raise harness.Wrong(f"an abort took {seconds:.1f} s")
  values = torch.ones(10, device=ranks.device) + 1  # the GPU works on
  harness.expect_close("a sum after the abort", values, torch.full((10,), 2.0))
  return seconds


def check(ranks):
  if ranks.backend == "nccl":
    ranks.needs(2, 6, "abort of a group")
  check_non_blocking(ranks)
  if ranks.backend != "nccl":
    return f"rank {ranks.rank}: groups are made; Gloo cannot abort, so that was left out"
  seconds = check_abort(ranks)
  return f"rank {ranks.rank}: non-blocking groups are made and an abort took {seconds:.2f} s"


if __name__ == "__main__":
  harness.run(check)
