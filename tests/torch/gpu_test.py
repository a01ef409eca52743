#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of GPUs over weir give what tensors of the CPU give, in the order of PyTorch's streams: gpu_test.py PACKAGE
--ranks N [check...]. The GPUs are stand-ins: GPU_STAND_IN names the library that PyTorch takes for CUDA's, and
LD_LIBRARY_PATH the folder of the driver.
"""

import importlib.util
import os
import runpy
import sys
import time

import ranks as harness
from ranks import error_of, expect, expect_same

KINDS = ("float32", "int64", "bool", "bfloat16", "complex64")
BUSY = 0.3  # seconds


def prepare(ranks):
  """PyTorch without CUDA takes the stand-in for it."""
  torch = ranks.torch
  if hasattr(ranks, "gpu"):
    return
  torch.cuda._lazy_init = lambda: None
  torch.ops.load_library(os.environ["GPU_STAND_IN"])
  ranks.gpu = torch.device("cuda", 0)
  ranks.stand_in = torch.ops.gpu_stand_in
  ranks.start(gloo=False)


def on_gpu(check):
  def run(ranks):
    prepare(ranks)
    check(ranks)
  return run


def values(ranks, kind, shape, seed=1):
  torch = ranks.torch
  generator = torch.Generator().manual_seed(seed * 1000 + ranks.rank)
  numbers = torch.randint(0, 4, shape, generator=generator)
  return numbers > 1 if kind == "bool" else numbers.to(getattr(torch, kind))


def both(ranks, what, act, *tensors):
  """act(outputs and inputs) on the CPU and on the GPU leaves the same in all tensors."""
  there = [tensor.to(ranks.gpu) for tensor in tensors]
  act(*tensors)
  act(*there)
  for number, (here, gpu) in enumerate(zip(tensors, there)):
    expect(gpu.device == ranks.gpu, what, "is on", gpu.device)
    expect_same(f"{what}, tensor {number}", gpu.cpu(), here)


def collectives(ranks):
  dist, torch, size = ranks.dist, ranks.torch, ranks.size
  for kind in KINDS:
    for count in (1, 1000):
      mine = values(ranks, kind, (count,))
      many = values(ranks, kind, (count * size,), 2)
      empty = torch.zeros_like
      for op in ("SUM", "MAX", "BXOR"):
        if (kind == "complex64" and op != "SUM") or (op == "BXOR" and kind not in ("int64", "bool")):
          continue
        by = getattr(dist.ReduceOp, op)
        both(ranks, f"all_reduce {op} {kind}", lambda t: dist.all_reduce(t, op=by), mine.clone())
        both(ranks, f"reduce_scatter {op} {kind}",
             lambda t, *parts: dist.reduce_scatter(t, list(parts), op=by), empty(mine), *many.clone().chunk(size))
        if kind != "complex64":
          both(ranks, f"reduce {op} {kind}", lambda t: dist.reduce(t, size - 1, op=by), mine.clone())
      both(ranks, f"broadcast {kind}", lambda t: dist.broadcast(t, size - 1), mine.clone())
      both(ranks, f"all_gather {kind}", lambda t, *parts: dist.all_gather(list(parts), t), mine,
           *[empty(mine) for _ in range(size)])
      both(ranks, f"all_gather_into_tensor {kind}", dist.all_gather_into_tensor, empty(many), mine)
      both(ranks, f"all_to_all_single {kind}", dist.all_to_all_single, empty(many), many)
      parts = [empty(mine) for _ in range(size)]
      root = lambda all_of_them: list(all_of_them) if ranks.rank == 0 else None
      both(ranks, f"gather {kind}", lambda t, *outputs: dist.gather(t, root(outputs), dst=0), mine, *parts)
      both(ranks, f"scatter {kind}", lambda t, *inputs: dist.scatter(t, root(inputs), src=0), empty(mine),
           *many.chunk(size))


def uneven_and_strided(ranks):
  dist, torch, size = ranks.dist, ranks.torch, ranks.size
  both(ranks, "all_reduce of columns", lambda t: dist.all_reduce(t.t()), values(ranks, "float32", (30, 40)))
  own = values(ranks, "int64", (3 * ranks.rank,))
  outputs = [torch.zeros(3 * rank, dtype=torch.int64) for rank in range(size)]
  both(ranks, "uneven all_gather", lambda t, *parts: dist.all_gather(list(parts), t), own, *outputs)
  sends = [rank + ranks.rank + 1 for rank in range(size)]
  both(ranks, "all_to_all_single with splits", lambda to, of: dist.all_to_all_single(to, of, sends, sends),
       torch.zeros(sum(sends)), values(ranks, "float32", (sum(sends),)))
  both(ranks, "all_to_all", lambda *all_of_them: dist.all_to_all(list(all_of_them[:size]), list(all_of_them[size:])),
       *[torch.zeros(count) for count in sends], *[values(ranks, "float32", (count,)) for count in sends])
  both(ranks, "coalesced", lambda *some: dist.all_reduce_coalesced(list(some)),
       *[values(ranks, "int32", (count,), count) for count in (1, 0, 50, 3000)])
  both(ranks, "premul", lambda t: dist.all_reduce(t, op=dist.ReduceOp.AVG), values(ranks, "float32", (64,)))


def the_order_of_streams(ranks):
  """What the current stream was given comes first, what it is given after wait() comes last, and nobody is held up."""
  torch, dist, stand_in = ranks.torch, ranks.dist, ranks.stand_in
  ones = torch.ones(1000).to(ranks.gpu)
  tensor = torch.zeros(1000).to(ranks.gpu)
  result = torch.zeros(1000).to(ranks.gpu)
  dist.all_reduce(tensor)  # the ranks have met
  stand_in.synchronize()
  for stream in (1, 0):
    tensor.zero_()
    result.zero_()
    stand_in.synchronize()
    stand_in.use_stream(stream)
    begun = time.monotonic()
    stand_in.occupy(BUSY)
    tensor.copy_(ones)
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    result.copy_(tensor)
    issued = time.monotonic() - begun
    pending = not work.is_completed()
    stand_in.synchronize()
    took = time.monotonic() - begun
    expect_same(f"what stream {stream} copied after wait()", result.cpu(), torch.full((1000,), float(ranks.size)))
    expect(took >= BUSY, "the stream was busy for", took)
    if stream != 0:  # the default stream waits for others, and others for it
      expect(issued < BUSY, "wait() held the program up for", issued)
      expect(pending, "the operation was completed while its stream was busy")
    expect(work.is_completed(), "the operation is not completed")
    stand_in.use_stream(0)


def futures(ranks):
  torch, dist = ranks.torch, ranks.dist
  tensor = torch.full((10,), float(ranks.rank)).to(ranks.gpu)
  future = dist.all_reduce(tensor, async_op=True).get_future()
  future.wait()
  total = float(sum(range(ranks.size)))
  expect_same("the value of the future", future.value()[0].cpu(), torch.full((10,), total))
  before, total = total, total * ranks.size
  doubled = dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0] * 2)
  expect_same("what then() made of it", doubled.wait().cpu(), torch.full((10,), 2 * total))
  expect(before != total or ranks.size == 1, "the sums are the same")


def messages(ranks):
  torch, dist = ranks.torch, ranks.dist
  right, left = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
  for count in (3, 100_000):
    sent = torch.arange(count, dtype=torch.float32) + ranks.rank
    expected = torch.arange(count, dtype=torch.float32) + left
    got = torch.zeros(count).to(ranks.gpu)
    works = [dist.isend(sent.to(ranks.gpu), right, tag=5), dist.irecv(got, left, tag=5)]
    for work in works:
      work.wait()
    expect_same(f"{count} numbers of rank {left}", got.cpu(), expected)
    columns = torch.zeros(4, count).to(ranks.gpu)
    works = [dist.isend(sent, right, tag=6), dist.irecv(columns.t()[:, 1], left, tag=6)]
    for work in works:
      work.wait()
    expect_same("from the CPU into a column", columns[1].cpu(), expected)
    expect(not columns[0].cpu().any(), "another column was written")
  if ranks.size == 2:
    got = torch.zeros(1).to(ranks.gpu)
    work = dist.isend(torch.ones(1).to(ranks.gpu), right)
    expect(dist.recv(got) == left, "the source of a message from anybody")
    work.wait()
    expect_same("a message from anybody", got.cpu(), torch.ones(1))


def beside_tensors_of_the_cpu(ranks):
  torch, dist = ranks.torch, ranks.dist
  here, there = torch.ones(5), torch.ones(5).to(ranks.gpu)
  for _ in range(3):
    works = [dist.all_reduce(tensor, async_op=True) for tensor in (here, there)]
    for work in works:
      work.wait()
  dist.barrier()
  expect_same("on the CPU", here, torch.full((5,), float(ranks.size**3)))
  expect_same("on the GPU", there.cpu(), here)
  error = error_of("two devices", lambda: dist.all_gather([here] * ranks.size, there))
  expect("expected one device" in error or "device" in error, error)


def the_second_gpu_is_refused(ranks):
  torch, dist = ranks.torch, ranks.dist
  dist.all_reduce(torch.ones(5).to(ranks.gpu))
  other = torch.ones(5).to(torch.device("cuda", 1))
  error = error_of("another GPU", lambda: dist.all_reduce(other))
  expect("GPU" in error, error)


def is_for_cuda():
  """Whether PyTorch was built for CUDA: there it does not take another library for its own part of it (nccl_suite.py)."""
  folder = os.path.dirname(importlib.util.find_spec("torch").origin)
  return runpy.run_path(os.path.join(folder, "version.py"))["cuda"] is not None


if __name__ == "__main__":
  harness.find_torch(harness.options_of().package)
  if is_for_cuda():
    print("skipped: this PyTorch is built for CUDA, and takes no stand-in for its own code of it")
    sys.exit(harness.SKIPPED)
  harness.main({check.__name__: on_gpu(check) for check in
                (collectives, uneven_and_strided, the_order_of_streams, futures, messages, beside_tensors_of_the_cpu,
                 the_second_gpu_is_refused)})
