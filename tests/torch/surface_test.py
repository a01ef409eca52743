#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What c10d asks of a back end beside collectives and messages: surface_test.py PACKAGE --ranks N [check...].

Much of it came with PyTorch 2.14 and 2.15; what this PyTorch does not have is skipped.
"""

import datetime
import functools
import os
import time

import ranks as harness
from ranks import expect, expect_same


def needs(what, without=""):
  """A check that is skipped where PyTorch does not have `what` in torch.distributed, or in its back ends, or has `without`."""
  def of(check):
    @functools.wraps(check)
    def run(ranks):
      names = (ranks.dist, ranks.dist.distributed_c10d, getattr(ranks.torch._C._distributed_c10d, "Backend", None))
      has = [each for each in (what, without) if any(hasattr(name, each) for name in names)]
      if has == [what]:
        check(ranks)
      elif ranks.rank == 0:
        print(f"{check.__name__}: skipped, PyTorch {ranks.torch.__version__} has {without if has else 'no ' + what}")
    return run
  return of


def total(size):
  return size * (size + 1) / 2


def sums(ranks, group, members):
  """All members add their rank in the world, plus one."""
  tensor = ranks.torch.tensor([ranks.rank + 1.0])
  ranks.dist.all_reduce(tensor, group=group)
  wanted = sum(rank + 1.0 for rank in members)
  expect(tensor.item() == wanted, "the sum over", members, "is", tensor.item(), "and not", wanted)


def sparse(ranks):
  """Sums of sparse tensors, with entries in common and without any."""
  torch, dist = ranks.torch, ranks.dist
  def of(rank, dense):
    indices = torch.tensor([[0, rank + 1, rank + 1], [rank, 0, 0]])  # the last two are one entry
    shape = (ranks.size + 1, ranks.size) + ((2,) if dense else ())
    values = torch.arange(3 * (2 if dense else 1), dtype=torch.float32).reshape((3, 2) if dense else (3,)) + rank
    return torch.sparse_coo_tensor(indices, values, shape)
  for dense in (False, True):
    tensor = of(ranks.rank, dense)
    wanted = sum(of(rank, dense).to_dense() for rank in range(ranks.size))
    dist.all_reduce(tensor)
    expect(tensor.is_sparse, "the sum is not sparse")
    expect_same("a sparse sum", tensor.to_dense(), wanted)
  tensor = torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.long), torch.zeros(0), (5,))
  if ranks.rank == 1:
    tensor = torch.sparse_coo_tensor([[3]], [2.0], (5,))
  dist.all_reduce(tensor)
  expect_same("one rank's entries", tensor.to_dense(), torch.tensor([0, 0, 0, 2.0, 0]))
  error = harness.error_of("another shape", lambda: dist.all_reduce(
      torch.sparse_coo_tensor([[0]], [1.0], (3 + (ranks.rank == 0),))))
  expect("has another shape" in error, error)
  error = harness.error_of("a product", lambda: dist.all_reduce(
      torch.sparse_coo_tensor([[0]], [1.0], (3,)), dist.ReduceOp.PRODUCT))
  expect("sums only" in error, error)


def operators(ranks):
  """torch.ops.weir, also in a program that is compiled."""
  torch, dist = ranks.torch, ranks.dist
  number = ranks.weir.operator_group()
  expect(ranks.weir.operator_group() == number, "a group has two numbers")
  expect(ranks.weir.operator_group(dist.new_group(backend="weir")) != number, "two groups have one number")
  own = torch.full((3, 5), ranks.rank + 1.0)
  def act(tensor, root):
    gathered, at_root = tensor.new_empty((ranks.size, *tensor.shape)), tensor.new_empty((ranks.size, *tensor.shape))
    torch.ops.weir.all_gather_(gathered, tensor, number)
    torch.ops.weir.gather_(at_root, tensor, root, number)
    torch.ops.weir.all_reduce_(tensor, number)
    return tensor * 2, gathered, at_root
  ways = [act]
  if hasattr(torch, "compile"):
    ways.append(torch.compile(act, backend="aot_eager", fullgraph=True))
  everyone = torch.stack([torch.full((3, 5), rank + 1.0) for rank in range(ranks.size)])
  for way in ways:
    twice, gathered, at_root = way(own.clone(), 1)
    expect_same("a sum", twice, torch.full((3, 5), 2 * total(ranks.size)))
    expect_same("what was gathered", gathered, everyone)
    if ranks.rank == 1:
      expect_same("what the root has gathered", at_root, everyone)
  first, second = own.clone(), own.clone()
  work = dist.all_reduce(first, async_op=True)
  torch.ops.weir.all_reduce_(second, number)
  expect_same("a sum behind one that nobody waits for", second, torch.full((3, 5), total(ranks.size)))
  work.wait()
  expect_same("a sum that nobody waited for", first, second)
  with torch.autograd.profiler.profile() as profiled:
    torch.ops.weir.all_reduce_(own.clone(), number)
  names = [event.name for event in profiled.function_events]
  expect("weir:all_reduce" in names, "a profiler sees", names)
  error = harness.error_of("a group that is not there", lambda: torch.ops.weir.all_reduce_(own, 1000))
  expect("no group 1000" in error, error)


def expanded(ranks):
  """Outputs whose elements are one in memory."""
  torch, dist = ranks.torch, ranks.dist
  tensor = torch.tensor([[ranks.rank + 1.0], [1.0]]).expand(2, 4)
  dist.all_reduce(tensor)
  expect_same("an expanded sum", tensor, torch.tensor([[total(ranks.size)], [float(ranks.size)]]).expand(2, 4))
  tensor = torch.full((1,), float(ranks.rank)).expand(3)
  dist.broadcast(tensor, 1)
  expect_same("an expanded broadcast", tensor, torch.ones(3))


@needs("split_group")
def stored_types(ranks):
  """Types that PyTorch stores, but has little arithmetic for."""
  torch, dist = ranks.torch, ranks.dist
  for kind in (torch.uint16, torch.uint32, torch.uint64):
    tensor = torch.tensor([ranks.rank + 1, 7]).to(kind)
    dist.all_reduce(tensor)
    expect(tensor.dtype == kind and tensor.tolist() == [total(ranks.size), 7 * ranks.size], kind, "gives", tensor)
    tensor = torch.tensor([ranks.rank + 1, 7]).to(kind)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    expect(tensor.tolist() == [ranks.size, 7], "the maximum of", kind, "is", tensor)
    tensor = torch.tensor([1 << ranks.rank, 7]).to(kind)
    dist.all_reduce(tensor, dist.ReduceOp.BOR)
    expect(tensor.tolist() == [(1 << ranks.size) - 1, 7], "the union of", kind, "is", tensor)
  for kind in (torch.float8_e4m3fn, torch.float8_e5m2):
    tensor = torch.tensor([ranks.rank + 1.0, 0.5]).to(kind)
    dist.all_reduce(tensor)
    wanted = torch.tensor([total(ranks.size), 0.5 * ranks.size]).to(kind)
    expect(tensor.dtype == kind and torch.equal(tensor.float(), wanted.float()), kind, "gives", tensor)
  error = harness.error_of("bits of floats", lambda: dist.all_reduce(torch.ones(1).to(torch.float8_e4m3fnuz)))
  expect("there is no SUM of Float8_e4m3fnuz" in error, error)


@needs("get_reconfigure_handle", without="_is_safe_to_split")  # with that, split_group wants a device: before 2.15
def split(ranks):
  dist = ranks.dist
  parts = [[rank for rank in range(ranks.size) if rank % 2 == each] for each in (0, 1)]
  group = dist.split_group(split_ranks=[part for part in parts if part])
  mine = parts[ranks.rank % 2]
  expect(dist.get_process_group_ranks(group) == mine, "the group has ranks", dist.get_process_group_ranks(group))
  sums(ranks, group, mine)
  whole = dist.split_group(split_ranks=[list(reversed(range(ranks.size)))])
  tensor = ranks.torch.tensor([float(ranks.rank)])
  dist.broadcast(tensor, ranks.size - 1, group=whole)
  expect(tensor.item() == ranks.size - 1, "a broadcast in a split group is", tensor.item())


@needs("get_reconfigure_handle")  # before 2.14 back ends of others cannot shrink
def shrink(ranks):
  dist = ranks.dist
  group = dist.new_group(list(range(ranks.size)))
  if ranks.rank != 1:
    left = [rank for rank in range(ranks.size) if rank != 1]
    for flags in (0, 1):  # 1 aborts the group before
      shrunk = ranks.weir._backend_of(group).shrink([1], flags)
      tensor = ranks.torch.tensor([ranks.rank + 1.0])
      shrunk.allreduce([tensor]).wait()
      expect(tensor.item() == sum(rank + 1.0 for rank in left), "the sum without rank 1 is", tensor.item())
    error = harness.error_of("an aborted group", lambda: dist.all_reduce(tensor, group=group))
    expect("aborted" in error, error)


@needs("_reconfigure")
def reconfigure(ranks):
  """Other members in another order, the same again, and a group that had none."""
  dist, torch = ranks.dist, ranks.torch
  group = dist.new_group(list(range(ranks.size)))
  sums(ranks, group, range(ranks.size))
  backend = ranks.weir._backend_of(group)
  handles = [None] * ranks.size
  dist.all_gather_object(handles, backend.get_reconfigure_handle())
  options = torch._C._distributed_c10d.ReconfigureOptions()
  for uuid, members in enumerate(([2, 0], list(range(ranks.size)), [0, 2])):
    if ranks.rank in members:
      options.uuid = uuid + 1
      options.handles = [handles[rank] for rank in members]
      backend.reconfigure(options).wait()
      expect((backend.rank(), backend.size()) == (members.index(ranks.rank), len(members)), "it is rank", backend.rank())
      tensor = torch.tensor([ranks.rank + 1.0])
      backend.allreduce([tensor]).wait()
      expect(tensor.item() == sum(rank + 1.0 for rank in members), "the sum is", tensor.item())
      backend.barrier().wait()
  if ranks.rank in (0, 2):
    options.uuid, options.handles = 9, [handles[1]]
    error = harness.error_of("a group of others", lambda: backend.reconfigure(options))
    expect("none of them is this rank's" in error, error)
  alone = ranks.weir._C.create(dist.FileStore(f"{ranks.folder}/alone.{ranks.rank}", 1), 0, 1, datetime.timedelta(seconds=60),
                               awaits_members=True)
  error = harness.error_of("no members", lambda: alone.allreduce([tensor]) if ranks.rank != 1 else alone.barrier())
  expect("has no members yet" in error, error)
  options.uuid, options.handles = 1, {alone.get_reconfigure_handle()}
  alone.reconfigure(options).wait()
  alone.barrier().wait()


@needs("register_abort_hook")
def hooks(ranks):
  dist, torch = ranks.dist, ranks.torch
  group = dist.new_group(list(range(ranks.size)))
  backend = ranks.weir._backend_of(group)
  for what in ("supports_abort_hooks", "supports_completion_hooks"):
    expect(getattr(backend, what, True), what, "is false")  # 2.14 has abort hooks only, and does not ask
  called = []
  for hook in (5, 6):
    backend.register_abort_hook(hook, lambda hook=hook: called.append(hook))
  sums(ranks, group, range(ranks.size))
  backend.unregister_abort_hook(6)
  expect(not called, "an abort hook was called without a cause")
  if ranks.rank != 1:
    group.set_timeout(datetime.timedelta(seconds=1))
    harness.error_of("a sum without rank 1", lambda: dist.all_reduce(torch.ones(1), group=group))
    while not called:  # on another thread, soon
      time.sleep(0.01)
    expect(called == [5], "hooks that were called after an error:", called)
  ranks.weir.abort(group)
  harness.error_of("a sum after an abort", lambda: dist.all_reduce(torch.ones(1), group=group))
  expect(len(called) == (ranks.rank != 1), "hooks were called after the user's abort", called)


@needs("_enable_collectives_timing")
def timing(ranks):
  dist, torch = ranks.dist, ranks.torch
  group = dist.new_group(list(range(ranks.size)))
  work = dist.all_reduce(torch.ones(4), group=group, async_op=True)
  work.wait()
  error = harness.error_of("a duration that nobody measured", lambda: work._get_duration())
  expect("was not timed" in error, error)
  ranks.weir._backend_of(group)._enable_collectives_timing()
  work = dist.all_reduce(torch.ones(4), group=group, async_op=True)
  work.wait()
  expect(0 < work._get_duration() < 60_000, "a sum took", work._get_duration(), "ms")


@needs("_add_ephemeral_timeout")
def longer_timeout(ranks):
  """A time that is added counts for the operations until the first of them is done."""
  dist, torch = ranks.dist, ranks.torch
  group = dist.new_group(list(range(ranks.size)))
  dist.barrier(group)
  group.set_timeout(datetime.timedelta(seconds=1))
  dist.distributed_c10d._add_ephemeral_timeout_for_all_pgs(datetime.timedelta(seconds=60))
  work = dist.all_reduce(torch.ones(4), group=group, async_op=True) if ranks.rank != 1 else None
  if ranks.rank == 1:
    time.sleep(2)
    work = dist.all_reduce(torch.ones(4), group=group, async_op=True)
  work.wait()


@needs("allocate_tensor")
def allocated(ranks):
  """Tensors in memory that the ranks of a host read in place."""
  torch, dist = ranks.torch, ranks.dist
  backend = ranks.weir._backend_of(None)
  expect(backend.supports_tensor_alloc(torch.device("cpu")), "tensors cannot be allocated")
  tensor = backend.allocate_tensor(100_000, dtype=torch.float64, device=torch.device("cpu"))
  expect(tensor.shape == (100_000,) and tensor.dtype == torch.float64, "it is", tensor.shape, tensor.dtype)
  tensor.fill_(ranks.rank + 1)
  dist.all_reduce(tensor)
  expect(bool((tensor == total(ranks.size)).all()), "its sum is", tensor[:3])


@needs("gather_single")
def gather_single(ranks):
  torch = ranks.torch
  own = torch.full((2, 3), float(ranks.rank))
  output = torch.empty(2 * ranks.size, 3) if ranks.rank == 1 else torch.empty(0)
  options = torch._C._distributed_c10d.GatherOptions()
  options.rootRank = 1
  ranks.weir._backend_of(None).gather_single(output, own, options).wait()
  if ranks.rank == 1:
    expect_same("what was gathered", output, torch.arange(float(ranks.size)).repeat_interleave(6).reshape(-1, 3))


@needs("supports_coalescing")
def coalesced(ranks):
  """Operations between start and end are one Work; its future has the outputs of all."""
  torch, dist = ranks.torch, ranks.dist
  backend = ranks.weir._backend_of(None)
  tensors = [torch.full((each + 1,), ranks.rank + 1.0) for each in range(3)]
  backend._start_coalescing()
  for tensor in tensors:
    backend.allreduce([tensor])
  work = backend._end_coalescing()
  work.wait()
  for tensor in tensors:
    expect_same("a coalesced sum", tensor, torch.full_like(tensor, total(ranks.size)))
  backend._start_coalescing()
  for tensor in tensors:
    backend.allreduce([tensor])
  outputs = backend._end_coalescing().get_future().wait()
  expect([tensor.numel() for tensor in outputs] == [1, 2, 3], "its future has", outputs)
  error = harness.error_of("an end without a start", lambda: backend._end_coalescing())
  expect("had not been started" in error, error)


@needs("suspend")
def suspended(ranks):
  """A group that gives its memory back, and gets it again."""
  dist, torch = ranks.dist, ranks.torch
  group = dist.new_group(list(range(ranks.size)))
  backend = ranks.weir._backend_of(group)
  sums(ranks, group, range(ranks.size))
  before = backend.memory_stats()
  expect(before["total"] > 0 and before["suspended"] == 0, "it uses", before)
  backend.suspend()
  expect(backend.memory_stats()["suspended"] == 1, "it is not suspended")
  error = harness.error_of("a suspended group", lambda: dist.all_reduce(torch.ones(1), group=group))
  expect("suspend" in error, error)
  backend.resume()
  sums(ranks, group, range(ranks.size))


@needs("_new_window")
def windows(ranks):
  """Each rank writes into its right neighbour's tensor."""
  torch, dist = ranks.torch, ranks.dist
  tensor = torch.zeros(4)
  window = ranks.weir._backend_of(None).new_window(tensor)
  right, left = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
  for turn in range(3):
    window.put(torch.full((2,), ranks.rank + turn + 1.0), right, 1, False)
    window.signal(right, False)
    window.wait_signal(left, False)
    expect_same("what the left neighbour has put", tensor, torch.tensor([0, left + turn + 1.0, left + turn + 1.0, 0]))
    dist.barrier()
  error = harness.error_of("beyond the end", lambda: window.put(torch.ones(2), right, 3, False))
  expect("window" in error, error)


if __name__ == "__main__":
  os.environ.setdefault("TORCH_INCLUDE_STACK_TRACE", "0")  # PyTorch's own hook writes them after an error, for up to 15 s
  all_checks = (sparse, operators, expanded, stored_types, split, shrink, reconfigure, hooks, timing, longer_timeout, allocated,
                gather_single, coalesced, suspended, windows)
  harness.main({check.__name__: harness.started(check) for check in all_checks})
