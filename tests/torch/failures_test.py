#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong ends in time, on every rank, with a sentence that names the culprit:
failures_test.py PACKAGE --ranks N [check...]. Each check has a group of its own; the last one kills rank 1."""

import datetime
import os
import signal
import threading
import time

import ranks as harness
from ranks import error_of, expect, expect_same

SHORT = 4.0    # seconds: a group's timeout that is meant to pass, but not while ranks that do come are late on a busy machine
LONG = 120.0   # one that is not
CULPRIT = 1


def new_group(ranks, seconds, used=True):
  """A group of all with this timeout, whose communicator works already if it was `used`."""
  ranks.dist.barrier()  # new_group itself gives late ranks no more time than that
  group = ranks.dist.new_group(timeout=datetime.timedelta(seconds=seconds))
  if used:
    ranks.dist.barrier(group=group)
  return group


def sum_of_ones(ranks, group, count=4):
  tensor = ranks.torch.ones(count)
  ranks.dist.all_reduce(tensor, group=group)
  return tensor


def sum_by_operator(ranks, group):
  tensor = ranks.torch.ones(4)
  ranks.torch.ops.weir.all_reduce_(tensor, ranks.weir.operator_group(group))
  return tensor


def expect_words(error, *words):
  for word in words:
    expect(word in error, f"the error does not say '{word}':", error)


def late_rank(ranks, group):
  """Who does not come to a collective is named when the group's timeout has passed."""
  error = error_of("an all_reduce without rank 1", lambda: sum_of_ones(ranks, group))
  expect_words(error, "rank 1 ", "is in no call of this communicator", "timed out", "4.0 s", "ncclAllReduce")


def late_operator(ranks, group):
  """The same for an operator."""
  error = error_of("an operator without rank 1", lambda: sum_by_operator(ranks, group))
  expect_words(error, "rank 1 ", "is in no call of this communicator", "timed out", "4.0 s", "ncclAllReduce")


def first_operation(ranks, group):
  """The same where the ranks have not met before."""
  error = error_of("a first all_reduce without rank 1", lambda: sum_of_ones(ranks, group))
  expect_words(error, "rank 1 did not join the first operation of the group within the timeout of 4.0 s", "timed out")


def futures(ranks, group):
  """Errors come in the future as well."""
  work = ranks.dist.all_reduce(ranks.torch.ones(3), group=group, async_op=True)
  future = work.get_future()
  expect_words(error_of("a future", future.wait), "rank 1 ", "timed out")
  expect(work.is_completed() and not work.is_success(), "a failed work is not completed, or a success")


def receive(ranks, group):
  """Who sends nothing is named."""
  error = error_of("recv", lambda: ranks.dist.recv(ranks.torch.ones(1), CULPRIT, group=group))
  expect_words(error, "rank 1 has sent nothing to this rank within 4.0 s")


def send(ranks, group):
  """So is who does not receive."""
  error = error_of("send", lambda: ranks.dist.send(ranks.torch.ones(1), CULPRIT, group=group))
  expect_words(error, "rank 1 has not posted a receive for this rank within the timeout of 4.0 s")


def receive_from_any(ranks, group):
  """Nobody is named where nobody in particular is waited for."""
  error = error_of("recv from any", lambda: ranks.dist.recv(ranks.torch.ones(1), group=group))
  expect_words(error, "receive from any rank with tag 0 was not done within the timeout of 4.0 s")


def in_thread(act, ranks, group, errors):
  def run():
    try:
      act(ranks, group)
    except Exception as error:  # for the rank's own thread to raise
      errors.append(error)
  thread = threading.Thread(target=run)
  thread.start()
  return thread


def without_rank_1(ranks):
  """What rank 1 does not come to, each in a group of its own; all at once, as each has to wait for a timeout."""
  waits = (late_rank, late_operator, first_operation, futures, receive, send, receive_from_any)
  groups = {act: new_group(ranks, SHORT, used=act is not first_operation) for act in waits}
  if ranks.rank != CULPRIT:
    errors = []
    for thread in [in_thread(act, ranks, group, errors) for act, group in groups.items()]:
      thread.join()
    for error in errors:
      raise error
  ranks.meet("without_rank_1")
  # The others' parts of the first sum may still be there for rank 1.
  error = error_of("all_reduces too late", lambda: [sum_of_ones(ranks, groups[late_rank]) for _ in range(3)])
  expect_words(error, "rank 1 ")


def wait_timeout(ranks):
  """wait(timeout) raises and harms nobody: the operation goes on."""
  group = new_group(ranks, LONG)
  if ranks.rank == CULPRIT:
    ranks.meet("wait_timeout", wait=False)
    while not all(os.path.exists(f"{ranks.folder}/wait_timeout.{rank}") for rank in range(ranks.size)):
      time.sleep(0.01)
    tensor = sum_of_ones(ranks, group)
  else:
    tensor = ranks.torch.ones(4)
    work = ranks.dist.all_reduce(tensor, group=group, async_op=True)
    error = error_of("wait", lambda: work.wait(datetime.timedelta(seconds=0.5)))
    expect_words(error, "all_reduce was not done within the timeout of 0.5 s")
    ranks.meet("wait_timeout", wait=False)
    work.wait()
  expect_same("after waiting in vain", tensor, ranks.torch.full((4,), float(ranks.size)))


def mismatch(ranks):
  """Ranks that call different things are told which."""
  group = new_group(ranks, LONG)
  error = error_of("a mismatch", lambda: sum_of_ones(ranks, group, 10 if ranks.rank == CULPRIT else 20))
  expect_words(error, "do not match", "count 10", "count 20")


def abort(ranks):
  """An all_reduce that waits ends when another thread aborts the group, and others are told that this rank has left."""
  for name, way in (("abort", sum_of_ones), ("abort_operator", sum_by_operator)):
    abort_of(ranks, name, way)


def abort_of(ranks, name, way):
  group = new_group(ranks, LONG)
  if ranks.rank == CULPRIT:
    ranks.meet(name)
    return
  errors = []
  waiting = threading.Thread(target=lambda: errors.append(error_of("all_reduce", lambda: way(ranks, group))))
  waiting.start()
  time.sleep(0.3)
  ranks.weir.abort(group)
  waiting.join(60)
  expect(errors, "an all_reduce goes on after abort")
  expect_words(error_of("after abort", lambda: sum_of_ones(ranks, group)), "the group was aborted")
  receive = error_of("a message after abort", lambda: ranks.dist.recv(ranks.torch.ones(1), CULPRIT, group=group))
  expect_words(receive, "abort")
  ranks.meet(name)


def abort_first(ranks):
  """So does the wait for ranks that have not come to the group's first operation."""
  group = new_group(ranks, LONG, used=False)
  if ranks.rank != CULPRIT:
    timer = threading.Timer(0.3, lambda: ranks.weir.abort(group))
    timer.start()
    start = time.monotonic()
    error = error_of("a first all_reduce", lambda: sum_of_ones(ranks, group))
    expect_words(error, "the group was aborted")
    expect(time.monotonic() - start < LONG, "it took as long as the timeout")
    timer.join()
  ranks.meet("abort_first")


def later_timeout(ranks):
  """A timeout that is set later counts for the operations after it."""
  group = new_group(ranks, LONG)
  if not hasattr(ranks.dist, "set_timeout"):
    return  # this PyTorch sets timeouts of its own back ends only
  ranks.dist.set_timeout(datetime.timedelta(seconds=SHORT), group)
  if ranks.rank != CULPRIT:
    error = error_of("an all_reduce without rank 1", lambda: sum_of_ones(ranks, group))
    expect_words(error, "rank 1 ", "timed out", "4.0 s")
  ranks.meet("later_timeout")


def killed_rank(ranks):
  """A rank that dies is named on all others, long before the timeout; messages from it fail, too."""
  group, operators, messages = (new_group(ranks, LONG) for _ in range(3))
  for peer in range(ranks.size):  # the ways that messages take are made
    if ranks.rank == CULPRIT and peer != CULPRIT:
      ranks.dist.send(ranks.torch.ones(1), peer, group=messages)
    elif ranks.rank == peer != CULPRIT:
      ranks.dist.recv(ranks.torch.ones(1), CULPRIT, group=messages)
  if ranks.rank == CULPRIT:
    os.kill(os.getpid(), signal.SIGKILL)
  start = time.monotonic()
  work = ranks.dist.irecv(ranks.torch.ones(1), CULPRIT, group=messages)
  expect_words(error_of("an all_reduce with a dead rank", lambda: sum_of_ones(ranks, group)), "rank 1 ", "is dead",
               "ncclAllReduce")
  expect_words(error_of("an operator with a dead rank", lambda: sum_by_operator(ranks, operators)), "rank 1 ", "is dead")
  expect_words(error_of("a message of a dead rank", work.wait), "message from rank 1", "is dead")
  expect(time.monotonic() - start < LONG, "it took as long as the timeout")
  if hasattr(group, "_get_backend"):
    backend = group._get_backend(ranks.torch.device("cpu"))
    if hasattr(backend, "get_error"):
      expect("REMOTE_ERROR" in str(backend.get_error()), "get_error() of a group with a dead rank is", backend.get_error())


CHECKS = (without_rank_1, wait_timeout, mismatch, abort, abort_first, later_timeout, killed_rank)


if __name__ == "__main__":
  harness.main({check.__name__: harness.started(check) for check in CHECKS}, killed=(CULPRIT,))
