#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Process groups over weir: groups_test.py PACKAGE --ranks N [check...]."""

import datetime
import os
import time

import ranks as harness
from ranks import expect, expect_same


def sub_groups(ranks):
  """Groups that overlap, used at once; ranks of a group are not those of the world."""
  dist, torch = ranks.dist, ranks.torch
  world = list(range(ranks.size))
  members = {"last": world[1:], "ends": [0, ranks.size - 1], "one": [1]}
  groups = {name: dist.new_group(list_) for name, list_ in members.items()}
  works = []
  for name, group in groups.items():
    if ranks.rank in members[name]:
      tensor = torch.tensor([float(ranks.rank)])
      works.append((dist.all_reduce(tensor, group=group, async_op=True), tensor, float(sum(members[name]))))
  for work, tensor, total in works:
    work.wait()
    expect(tensor.item() == total, "a group's sum is", tensor.item(), "and not", total)
  if ranks.rank in members["last"]:
    tensor = torch.tensor([ranks.rank])
    dist.broadcast(tensor, world[-1], group=groups["last"])
    expect(tensor.item() == world[-1], "a group's broadcast is", tensor.item())
  if ranks.rank in members["ends"] and ranks.size > 1:
    tensor = torch.tensor([ranks.rank])
    if ranks.rank == 0:
      dist.send(tensor, world[-1], group=groups["ends"])
    else:
      dist.recv(tensor, 0, group=groups["ends"])
      expect(tensor.item() == 0, "a group's message is", tensor.item())
  for name, group in groups.items():
    if ranks.rank in members[name]:
      dist.destroy_process_group(group)
  dist.barrier()


def objects(ranks):
  dist = ranks.dist
  mine = {"rank": ranks.rank, "text": "x" * (1 + 1000 * ranks.rank)}
  everything = [None] * ranks.size
  dist.all_gather_object(everything, mine)
  expect([one["rank"] for one in everything] == list(range(ranks.size)), "all_gather_object gives", everything)
  expect(len(everything[-1]["text"]) == 1 + 1000 * (ranks.size - 1), "a text was cut")
  gathered = [None] * ranks.size if ranks.rank == 0 else None
  dist.gather_object(mine, gathered, dst=0)
  expect(ranks.rank != 0 or gathered == everything, "gather_object gives", gathered)
  given = [("a", 1), None] if ranks.rank == 1 else [None, None]
  dist.broadcast_object_list(given, src=1)
  expect(given == [("a", 1), None], "broadcast_object_list gives", given)
  got = [None]
  dist.scatter_object_list(got, [f"for {rank}" for rank in range(ranks.size)] if ranks.rank == 0 else None, src=0)
  expect(got == [f"for {ranks.rank}"], "scatter_object_list gives", got)


def monitored_barrier(ranks):
  ranks.weir.monitored_barrier()
  ranks.weir.monitored_barrier(timeout=datetime.timedelta(seconds=60))
  error = ""
  if ranks.rank != 1:
    error = harness.error_of("a barrier without rank 1",
                             lambda: ranks.weir.monitored_barrier(timeout=datetime.timedelta(seconds=1)))
    expect("rank 1 did not join the monitored barrier within the timeout of 1.0 s" in error, error)
  ranks.meet("after_monitored")
  ranks.dist.all_reduce(ranks.torch.ones(1))  # the group is as good as before


def sequence_numbers(ranks):
  backend = ranks.weir._backend_of(None)  # a group asks only PyTorch's own back ends from 2 on
  before = backend._get_sequence_number_for_group()
  ranks.dist.barrier()
  expect(backend._get_sequence_number_for_group() == before + 1, "a barrier is not one operation")


def orders(ranks):
  """A group sums in the order that was set, and tells which one it is."""
  dist, torch = ranks.dist, ranks.torch
  expect(ranks.weir.sum_order() == "run", "the order of the world is", ranks.weir.sum_order())
  inputs = [torch.randn(10_000, generator=torch.Generator().manual_seed(rank)) * 10.0**rank for rank in range(ranks.size)]
  in_order = inputs[0].clone()
  for other in inputs[1:]:
    in_order += other
  group = dist.new_group(list(range(ranks.size)))
  expect(ranks.weir.sum_order(group) is None, "the order is known before any operation")
  ranks.weir.set_sum_order("ranks", group)
  for elements in (5, 10_000):
    tensor = inputs[ranks.rank][:elements].clone()
    dist.all_reduce(tensor, group=group)
    expect(torch.equal(tensor, in_order[:elements]), "a sum of", elements, "elements is not in rank order")
  expect(ranks.weir.sum_order(group) == "ranks", "the order is", ranks.weir.sum_order(group))
  error = harness.error_of("an order that comes late", lambda: ranks.weir.set_sum_order("any", group))
  expect("the order of sums was set after the first operation of the group" in error, error)
  error = harness.error_of("a wrong order", lambda: ranks.weir.set_sum_order("rank", group))
  expect("the order of sums is 'rank'; expected one of run, any, ranks" in error, error)
  dist.destroy_process_group(group)


def again(ranks):
  """A process may leave its group and join another one."""
  ranks.dist.destroy_process_group()
  ranks.dist.init_process_group("weir", init_method=f"file://{ranks.folder}/again", rank=ranks.rank,
                                world_size=ranks.size)
  tensor = ranks.torch.ones(2)
  ranks.dist.all_reduce(tensor)
  expect_same("after joining again", tensor, ranks.torch.full((2,), float(ranks.size)))
  ranks.dist.destroy_process_group()
  os.environ.update(MASTER_ADDR="127.0.0.1", RANK=str(ranks.rank), WORLD_SIZE=str(ranks.size), USE_LIBUV="0")
  if ranks.rank == 0:
    import socket
    with socket.socket() as free:
      free.bind(("127.0.0.1", 0))
      with open(f"{ranks.folder}/port.new", "w", encoding="utf-8") as file:
        file.write(str(free.getsockname()[1]))
    os.rename(f"{ranks.folder}/port.new", f"{ranks.folder}/port")
  ranks.meet("port_known")
  with open(f"{ranks.folder}/port", encoding="utf-8") as file:
    os.environ["MASTER_PORT"] = file.read()
  ranks.dist.init_process_group("weir")  # env://
  ranks.dist.all_reduce(tensor)
  expect_same("with env://", tensor, ranks.torch.full((2,), float(ranks.size**2)))
  ranks.dist.barrier()


def profiler_events(ranks):
  """Each operation is an event of PyTorch's profiler, that ends with it, named as those of PyTorch's own back ends."""
  torch, dist = ranks.torch, ranks.dist
  tensor, blocks = torch.ones(3, 5), [torch.empty(3, 5) for _ in range(ranks.size)]
  with torch.autograd.profiler.profile(record_shapes=True) as profiler:
    dist.all_reduce(tensor)
    dist.all_reduce(tensor, async_op=True).wait()
    dist.all_gather(blocks, tensor)
    if ranks.rank == 0:
      dist.send(tensor, 1)
    elif ranks.rank == 1:
      dist.recv(tensor, 0)
  wanted = {"weir:all_reduce": 2, "weir:all_gather": 1, "weir:send": int(ranks.rank == 0), "weir:recv": int(ranks.rank == 1)}
  for name, count in wanted.items():
    events = [event for event in profiler.function_events if event.name == name]
    expect(len(events) == count, f"{name}: {len(events)} events, not {count}")
    for event in events:
      expect(event.is_async and event.input_shapes == [[3, 5]], name, "is async:", event.is_async, "shapes:", event.input_shapes)


def attempts(ranks):
  """An attempt of a restarted job finds the others of its own attempt, although the store still has what earlier ones left."""
  store = ranks.dist.FileStore(f"{ranks.folder}/attempts", ranks.size)
  late = 1

  def join(seconds):
    return ranks.weir._C.create(store, ranks.rank, ranks.size, datetime.timedelta(seconds=seconds))

  def add(backend):
    tensor = ranks.torch.ones(2)
    backend.allreduce([tensor]).wait()
    return tensor

  for attempt in range(5):
    ranks.meet(f"attempt_{attempt}")  # those of the last one have ended
    if attempt == 2:  # one that fails before all have come
      if ranks.rank != late:
        error = harness.error_of("an attempt without rank 1", lambda: add(join(2)))
        expect("rank 1 did not join the first operation of the group within the timeout of 2.0 s" in error, error)
      continue
    if ranks.rank == 0 and attempt % 2 == 1:
      ranks.meet(f"others_{attempt}", wait=False)
      while not os.path.exists(f"{ranks.folder}/others_{attempt}.{late}"):
        time.sleep(0.01)
      time.sleep(0.2)  # the others see the last attempt's words of rank 0 only
    elif ranks.rank != 0:
      ranks.meet(f"others_{attempt}", wait=False)
    backend = join(60)
    expect_same(f"the sum of attempt {attempt}", add(backend), ranks.torch.full((2,), float(ranks.size)))


def leaving(ranks):
  """A group that nobody refers to any more leaves, as one that is shut down or destroyed does: its threads end, the others learn of it."""
  dist, torch = ranks.dist, ranks.torch
  store = dist.FileStore(f"{ranks.folder}/leaving", -1)
  last = ranks.size - 1

  def threads():
    return len(os.listdir("/proc/self/task"))

  for how in ("shutdown", "no reference"):
    if how == "shutdown" and not hasattr(dist.Backend, "shutdown"):
      continue
    before = threads()
    backend = ranks.weir._C.create(dist.PrefixStore(how, store), ranks.rank, ranks.size, datetime.timedelta(seconds=100))
    backend.allreduce([torch.ones(2)]).wait()
    if ranks.rank == last:
      expect(threads() > before, "a group has no threads")
      if how == "shutdown":
        backend.shutdown()
        error = harness.error_of("a group that was shut down", lambda: backend.allreduce([torch.ones(2)]).wait())
        expect("the group was closed" in error, error)
      else:
        del backend
      expect(threads() == before, how, "leaves", threads() - before, "threads")
    else:
      error = harness.error_of(f"an operation without rank {last}", lambda: backend.allreduce([torch.ones(2)]).wait())
      expect("has destroyed or aborted this communicator" in error or "has left" in error, how, error)
    ranks.meet(how.replace(" ", "_"))


CHECKS = (sub_groups, objects, monitored_barrier, sequence_numbers, orders, profiler_events, attempts, again, leaving)


if __name__ == "__main__":
  harness.main({check.__name__: harness.started(check) for check in CHECKS})
