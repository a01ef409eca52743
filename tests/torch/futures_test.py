#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A callback of a future may call anything, also what has to wait for a later operation of its own group:
futures_test.py PACKAGE --ranks N [check...]."""

import datetime
import threading

import ranks as harness
from ranks import expect, expect_same

LIMIT = 120  # seconds, for what takes milliseconds where it is right
DEPTH = 5


def new_group(ranks):
  return ranks.dist.new_group(timeout=datetime.timedelta(seconds=LIMIT))


def ones(ranks):
  return ranks.torch.ones(4)


def sums(ranks, times=1):
  """The ones of all ranks, summed so many times."""
  return ranks.torch.full((4,), float(ranks.size ** times))


def start_sum(ranks, group, tensor):
  return ranks.dist.all_reduce(tensor, group=group, async_op=True)


def later_collective(ranks):
  """A callback waits for the future of a collective that it issues, and so on: as DDP's PowerSGD hook does."""
  group = new_group(ranks)

  def again(tensor, depth):
    future = start_sum(ranks, group, tensor).get_future()
    if depth == 1:
      return future.wait()[0]
    return future.then(lambda done: again(done.wait()[0], depth - 1)).wait()

  for depth in range(1, DEPTH + 1):
    expect_same(f"{depth} sums, each in the callback of the last", again(ones(ranks), depth), sums(ranks, depth))


def later_work(ranks):
  """The same by wait() of the work, with which the callback's thread carries the operation out."""
  group = new_group(ranks)

  def again(done):
    tensor = done.wait()[0]
    start_sum(ranks, group, tensor).wait()
    return tensor

  for _ in range(20):
    future = start_sum(ranks, group, ones(ranks)).get_future().then(again)
    expect_same("a sum in a callback", future.wait(), sums(ranks, 2))


def waiting_thread(ranks):
  """A thread that waits for an operation does not run the callbacks of earlier ones: they may wait for it."""
  group = new_group(ranks)
  free = threading.Event()
  early = start_sum(ranks, group, ones(ranks)).get_future().then(lambda done: free.wait(LIMIT))
  late = ones(ranks)
  start_sum(ranks, group, late).wait()
  expect_same("a sum behind a callback that waits", late, sums(ranks))
  free.set()
  expect(early.wait(), "the callback waited in vain for the thread that waited for a later sum")


def several_threads(ranks):
  """Callbacks of several groups and threads at once."""
  groups = [new_group(ranks) for _ in range(4)]
  failures = []

  def work(group):
    try:
      for _ in range(25):
        future = start_sum(ranks, group, ones(ranks)).get_future().then(
            lambda done: start_sum(ranks, group, done.wait()[0]).get_future().wait()[0])
        expect_same("a sum of one thread of several", future.wait(), sums(ranks, 2))
    except Exception as error:  # for the rank's own thread to raise
      failures.append(error)

  threads = [threading.Thread(target=work, args=(group,)) for group in groups]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  for failure in failures:
    raise failure


def messages(ranks):
  """A callback of a receive answers, and waits for the answer to that."""
  dist, torch = ranks.dist, ranks.torch
  group = new_group(ranks)
  if ranks.rank > 1:
    return
  other = 1 - ranks.rank
  number = torch.zeros(1)

  def answer(_):
    dist.isend(number + 1, other, group=group, tag=2).wait()
    got = torch.zeros(1)
    dist.irecv(got, other, group=group, tag=2).get_future().wait()
    return got

  asked = dist.irecv(number, other, group=group, tag=1).get_future().then(answer)
  dist.isend(torch.full((1,), 10.0 + ranks.rank), other, group=group, tag=1).wait()
  expect_same("the answer to the other's number", asked.wait(), torch.full((1,), 11.0 + ranks.rank))


def last_reference(ranks):
  """A callback may end its own group."""
  for _ in range(5):
    kept = [new_group(ranks)]

    def end(done):
      ranks.dist.destroy_process_group(kept.pop())
      return done.wait()[0]

    future = start_sum(ranks, kept[0], ones(ranks)).get_future().then(end)
    expect_same("the sum of a group that its callback ends", future.wait(), sums(ranks))
    expect(not kept, "the callback has not run")


CHECKS = (later_collective, later_work, waiting_thread, several_threads, messages, last_reference)


if __name__ == "__main__":
  harness.main({check.__name__: harness.started(check) for check in CHECKS})
