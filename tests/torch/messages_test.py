#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends and receives over weir: messages_test.py PACKAGE --ranks N [check...]."""

import time

import ranks as harness
from ranks import error_of, expect, expect_same


def message(ranks, source, target, number, count=5):
  return ranks.torch.arange(count, dtype=ranks.torch.int64) + 10_000 * source + 100 * target + number


def others(ranks):
  return [rank for rank in range(ranks.size) if rank != ranks.rank]


def ring(ranks):
  """Blocking, all sizes: what fits in an envelope, and what does not."""
  to, source = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
  for count in (0, 1, 126, 127, 5000, 1_000_000):
    got = ranks.torch.empty(count, dtype=ranks.torch.int64)
    work = ranks.dist.isend(message(ranks, ranks.rank, to, 1, count), to)
    ranks.dist.recv(got, source)
    work.wait()
    expect_same(f"a message of {count}", got, message(ranks, source, ranks.rank, 1, count))


def everybody(ranks):
  """All pairs at once, several messages each, waited for in the other order."""
  works, results = [], []
  for number in range(4):
    for other in others(ranks):
      got = ranks.torch.empty(5, dtype=ranks.torch.int64)
      works.append(ranks.dist.irecv(got, other))
      works.append(ranks.dist.isend(message(ranks, ranks.rank, other, number), other))
      results.append((got, message(ranks, other, ranks.rank, number)))
  for work in reversed(works):
    work.wait()
  for got, right in results:
    expect_same("one of many messages", got, right)


def tags(ranks):
  """Asked for in another order than sent; both messages of one tag in their order."""
  if ranks.rank == 0:
    for count in (5, 4000):
      for tag, number in ((7, 1), (8, 2), (7, 3)):
        ranks.dist.send(message(ranks, 0, 1, number, count), 1, tag=tag)
  elif ranks.rank == 1:
    for count in (5, 4000):
      for tag, number in ((8, 2), (7, 1), (7, 3)):
        got = ranks.torch.empty(count, dtype=ranks.torch.int64)
        ranks.dist.recv(got, 0, tag=tag)
        expect_same(f"tag {tag}", got, message(ranks, 0, 1, number, count))
  # A receive that waits for its tag does not hold up another one's.
  if ranks.rank == 0:
    answer = ranks.torch.empty(5, dtype=ranks.torch.int64)
    ranks.dist.send(message(ranks, 0, 1, 4), 1, tag=2)
    ranks.dist.recv(answer, 1)
    ranks.dist.send(message(ranks, 0, 1, 5), 1, tag=1)
  elif ranks.rank == 1:
    first, second = (ranks.torch.empty(5, dtype=ranks.torch.int64) for _ in range(2))
    late, early = ranks.dist.irecv(first, 0, tag=1), ranks.dist.irecv(second, 0, tag=2)
    early.wait()
    ranks.dist.send(second, 0)
    late.wait()
    expect_same("the early one", second, message(ranks, 0, 1, 4))
    expect_same("the late one", first, message(ranks, 0, 1, 5))


def from_anybody(ranks):
  """Rank 0 takes what comes; then names a rank that it asked everybody for before."""
  if ranks.rank != 0:
    for number in range(3):
      ranks.dist.send(message(ranks, ranks.rank, 0, number, 1 + 300 * number), 0, tag=number)
    return
  for number in range(3):
    count = 1 + 300 * number
    seen = []
    for _ in others(ranks):
      got = ranks.torch.empty(count, dtype=ranks.torch.int64)
      source = ranks.dist.recv(got, tag=number)
      expect_same(f"from rank {source}", got, message(ranks, source, 0, number, count))
      seen.append(source)
    expect(sorted(seen) == others(ranks), "messages came from", seen)


def with_collectives(ranks):
  """A receive that nothing comes for yet does not hold up collectives, nor they it."""
  to, source = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
  got = ranks.torch.empty(5, dtype=ranks.torch.int64)
  receive = ranks.dist.irecv(got, source)
  total = ranks.torch.ones(3)
  ranks.dist.all_reduce(total)
  late = ranks.dist.all_reduce(total, async_op=True)
  ranks.dist.send(message(ranks, ranks.rank, to, 9), to)
  receive.wait()
  late.wait()
  expect_same("beside a collective", got, message(ranks, source, ranks.rank, 9))
  expect_same("beside a message", total, ranks.torch.full((3,), float(ranks.size**2)))


def batches(ranks):
  dist, torch = ranks.dist, ranks.torch
  to, source = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
  for _ in range(3):
    gaps = torch.zeros(5, 2, dtype=torch.int64)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, message(ranks, ranks.rank, to, 3), to),
                                        dist.P2POp(dist.irecv, gaps[:, 1], source)]):
      work.wait()
    expect_same("a batch", gaps[:, 1].contiguous(), message(ranks, source, ranks.rank, 3))


def wrong_ones(ranks):
  """Errors that leave the group alive."""
  error = error_of("to itself", lambda: ranks.dist.send(ranks.torch.ones(1), ranks.rank))
  words = "another rank of the group", "not be the same as the rank of the current process"  # weir's; PyTorch's from 2 on
  expect(any(one in error for one in words), error)
  if ranks.rank == 0:
    ranks.dist.send(ranks.torch.ones(3), 1)
    ranks.dist.send(ranks.torch.ones(4), 1)
  elif ranks.rank == 1:
    error = error_of("another size", lambda: ranks.dist.recv(ranks.torch.ones(4), 0))
    expect("has 12 bytes, expected the size of the receiving tensor, 16" in error, error)
    ranks.dist.recv(ranks.torch.ones(4), 0)


def soon_done(ranks):
  """Nobody waits, and still it is done; who was received from is known."""
  to, source = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
  got = ranks.torch.empty(5, dtype=ranks.torch.int64)
  works = [ranks.dist.irecv(got, source), ranks.dist.isend(message(ranks, ranks.rank, to, 6), to)]
  deadline = time.monotonic() + 60
  while not all(work.is_completed() for work in works) and time.monotonic() < deadline:
    time.sleep(0.001)
  expect(all(work.is_completed() for work in works), "nobody carries messages that nobody waits for")
  expect_same("a message that nobody waited for", got, message(ranks, source, ranks.rank, 6))


def last_words(ranks):
  """What was sent before the group was left still arrives, and what hangs on it is called."""
  called = []
  if ranks.rank == 0:
    future = ranks.dist.isend(message(ranks, 0, 1, 8), 1, tag=3).get_future()
    then = future.then(lambda _: called.append("sent"))
    ranks.dist.destroy_process_group()
    then.wait()
    expect(called == ["sent"], "what hangs on a send was not called")
  elif ranks.rank == 1:
    got = ranks.torch.empty(5, dtype=ranks.torch.int64)
    ranks.dist.recv(got, 0, tag=3)
    expect_same("the last words", got, message(ranks, 0, 1, 8))


CHECKS = (ring, everybody, tags, from_anybody, with_collectives, batches, wrong_ones, soon_done, last_words)


def followed(check):
  """All have looked before the next one begins; after the last words nobody can meet any more."""
  def run(ranks):
    check(ranks)
    if check is not last_words:
      ranks.dist.barrier()
  return run


if __name__ == "__main__":
  harness.main({check.__name__: harness.started(followed(check)) for check in CHECKS})
