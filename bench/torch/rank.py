# SPDX-License-Identifier: Apache-2.0
"""One rank of bench/compare-torch: times torch.distributed's collectives over several back ends, alternately.

    rank.py RANK RANKS STORE OPTIONS    (OPTIONS: JSON, the fields of Options)

All back ends run in one process as groups of all ranks, so that consecutive measurements differ in the back end only. Rank 0 prints
a line of JSON per operation, size and back end: the time of one call in microseconds for each repetition, maximum over the ranks.
"""

import dataclasses
import datetime
import json
import sys
import time

import torch
import torch.distributed as dist

ELEMENT = 4  # bytes: everything is float32
MATRIX = 256  # rows and columns of what is multiplied before a call: some tenths of a millisecond


@dataclasses.dataclass(frozen=True)
class Options:
  backends: list
  ops: list
  sizes: list  # sizes of a rank's larger buffer, bytes
  repetitions: int
  budget_ms: float  # time for one batch of calls
  threads: int  # intra-op threads
  computes: bool  # whether they multiply matrices before each call
  module: str  # folder of weir_torch


class Buffers:
  """The tensors of one operation of one size. `share` is a rank's part of the whole, in elements."""

  def __init__(self, size, rank, ranks):
    self.rank, self.ranks = rank, ranks
    self.share = max(1, -(-size // ELEMENT // ranks))
    self.whole = self.share * ranks
    self.count = max(1, size // ELEMENT)
    self.one = torch.zeros(self.count)
    self.input, self.output = torch.zeros(self.whole), torch.zeros(self.whole)
    self.part = torch.zeros(self.share)

  def bytes(self, op):
    return ELEMENT * (self.count if op in ("all_reduce", "broadcast") else self.whole)


# Each operation: (call, fill, expected). `fill` initializes the input, `expected` is the correct content of a
# tensor.
def _pattern(count, rank):
  return torch.arange(count, dtype=torch.float32) % 1021 + rank


def _sum(count, ranks):
  return sum(_pattern(count, rank) for rank in range(ranks))


class AllReduce:
  def __init__(self, buffers, group, _):
    self.b, self.group = buffers, group

  def call(self):
    dist.all_reduce(self.b.one, group=self.group)

  def check(self):
    self.b.one.copy_(_pattern(self.b.count, self.b.rank))
    self.call()
    same = torch.equal(self.b.one, _sum(self.b.count, self.b.ranks))
    self.b.one.zero_()  # repeated in-place sums would overflow
    return same


class Broadcast:
  def __init__(self, buffers, group, _):
    self.b, self.group = buffers, group

  def call(self):
    dist.broadcast(self.b.one, 0, group=self.group)

  def check(self):
    self.b.one.copy_(_pattern(self.b.count, self.b.rank))
    self.call()
    return torch.equal(self.b.one, _pattern(self.b.count, 0))


class AllGather:
  def __init__(self, buffers, group, _):
    self.b, self.group = buffers, group
    self.outputs = list(buffers.output.chunk(buffers.ranks))

  def call(self):
    dist.all_gather(self.outputs, self.b.part, group=self.group)

  def check(self):
    self.b.part.copy_(_pattern(self.b.share, self.b.rank))
    self.call()
    return all(torch.equal(output, _pattern(self.b.share, rank)) for rank, output in enumerate(self.outputs))


class ReduceScatter:
  """Replaces reduce-scatter, which Gloo lacks: users sum everything and keep their part."""

  def __init__(self, buffers, group, backend):
    self.b, self.group = buffers, group
    self.inputs = list(buffers.input.chunk(buffers.ranks))
    self.call = self.composed if backend == "gloo" else self.direct

  def direct(self):
    dist.reduce_scatter(self.b.part, self.inputs, group=self.group)

  def composed(self):
    dist.all_reduce(self.b.input, group=self.group)
    self.b.part.copy_(self.inputs[self.b.rank])

  def check(self):
    self.b.input.copy_(_pattern(self.b.whole, self.b.rank))
    self.call()
    begin = self.b.rank * self.b.share
    same = torch.equal(self.b.part, _sum(self.b.whole, self.b.ranks)[begin:begin + self.b.share])
    self.b.input.zero_()
    return same


class AllToAll:
  def __init__(self, buffers, group, _):
    self.b, self.group = buffers, group

  def call(self):
    dist.all_to_all_single(self.b.output, self.b.input, group=self.group)

  def check(self):
    self.b.input.copy_(_pattern(self.b.whole, self.b.rank))
    self.call()
    begin = self.b.rank * self.b.share
    parts = self.b.output.chunk(self.b.ranks)
    return all(torch.equal(part, _pattern(self.b.whole, rank)[begin:begin + self.b.share])
               for rank, part in enumerate(parts))


OPS = {"all_reduce": AllReduce, "all_gather": AllGather, "reduce_scatter": ReduceScatter, "all_to_all": AllToAll,
       "broadcast": Broadcast}


def _agreed(value, operator):
  """Returns the same number on all ranks: the maximum or the sum of all ranks' numbers."""
  box = torch.tensor([value], dtype=torch.float64)
  dist.all_reduce(box, op=operator)
  return box.item()


class Batches:
  """Times calls, alone or each after a matrix product on all intra-op threads, whose time does not count."""

  def __init__(self, options):
    self.budget = options.budget_ms / 1000
    self.factor = torch.ones(MATRIX, MATRIX) if options.computes else None

  def seconds(self, work, calls, group):
    """The time of a call of this rank, mean over the calls."""
    dist.barrier(group)
    if self.factor is not None:
      return sum(self._after_product(work) for _ in range(calls)) / calls
    begin = time.perf_counter()
    for _ in range(calls):
      work.call()
    return (time.perf_counter() - begin) / calls

  def _after_product(self, work):
    torch.mm(self.factor, self.factor)
    begin = time.perf_counter()
    work.call()
    return time.perf_counter() - begin

  def calls(self, quick):
    """How many calls make a batch, if one takes so many seconds."""
    return int(min(5000 if self.factor is None else 100, max(2, self.budget / quick)))


def _measure(op, size, groups, options, rank, ranks):
  batches = Batches(options)
  buffers = Buffers(size, rank, ranks)
  works = {backend: OPS[op](buffers, group, backend) for backend, group in groups.items()}
  rows = {}
  for backend, work in works.items():
    wrong = _agreed(0.0 if work.check() else 1.0, dist.ReduceOp.SUM)
    batches.seconds(work, 3, groups[backend])  # the first calls create connections
    calls = batches.calls(_agreed(batches.seconds(work, 3, groups[backend]), dist.ReduceOp.MAX))
    rows[backend] = {"op": op, "ranks": ranks, "bytes": buffers.bytes(op), "backend": backend, "calls": calls,
                     "ok": wrong == 0, "us": []}
  for _ in range(options.repetitions):
    for backend, work in works.items():
      seconds = batches.seconds(work, rows[backend]["calls"], groups[backend])
      rows[backend]["us"].append(1e6 * _agreed(seconds, dist.ReduceOp.MAX))
  return rows.values()


def main():
  rank, ranks, store, text = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
  options = Options(**json.loads(text))
  torch.set_num_threads(options.threads)
  if "weir" in options.backends:
    sys.path.insert(0, options.module)
    import weir_torch  # noqa: F401, pylint: disable=unused-import,import-outside-toplevel
  dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks,
                          timeout=datetime.timedelta(seconds=120))
  groups = {backend: dist.new_group(list(range(ranks)), backend=backend) for backend in options.backends}
  for op in options.ops:
    for size in options.sizes:
      for row in _measure(op, size, groups, options, rank, ranks):
        if rank == 0:
          print(json.dumps(row), flush=True)
  dist.barrier()
  dist.destroy_process_group()


if __name__ == "__main__":
  main()
