#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed over weir gives what Gloo gives, element by element, or what its definition says
where Gloo does not have it: collectives_test.py PACKAGE --ranks N [check...]."""

import functools

import ranks as harness
from ranks import error_of, expect, expect_same

TYPES = ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64",
         "complex128")
# All-reduces of these are Gloo's, which knows no others.
GLOO_TYPES = ("float32", "float64", "float16", "uint8", "int8", "int32", "int64")
WHOLE = ("uint8", "int8", "int16", "int32", "int64", "bool")
COMPLEX = ("complex64", "complex128")
OPS = ("SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "AVG")
COUNTS = (1, 7, 1000)


def values(ranks, kind, shape, seed=1):
  """Of this rank: numbers that every type holds, with sums and products of few ranks."""
  torch = ranks.torch
  generator = torch.Generator().manual_seed(seed * 1000 + ranks.rank)
  numbers = torch.randint(0, 4, shape, generator=generator)
  if kind in COMPLEX:
    return torch.complex(numbers.double(), torch.randint(0, 3, shape, generator=generator).double()).to(
        getattr(torch, kind))
  if kind == "bool":
    return numbers > 1
  return numbers.to(getattr(torch, kind))


def of_all(ranks, mine):
  """The tensor of every rank, by Gloo, whatever its type."""
  everything = [None] * ranks.size
  ranks.dist.all_gather_object(everything, mine.contiguous(), group=ranks.gloo)
  return everything


def has_meaning(kind, op):
  if kind in COMPLEX:
    return op in ("SUM", "AVG")  # what torch.distributed lets through
  if op in ("BAND", "BOR", "BXOR"):
    return kind in WHOLE
  return not (kind == "bool" and op == "AVG")


def reduced(ranks, parts, op):
  """By definition, in the order of the ranks."""
  torch = ranks.torch
  if parts[0].dtype == torch.bool:
    op = {"SUM": "BOR", "MAX": "BOR", "PRODUCT": "BAND", "MIN": "BAND"}.get(op, op)
  fold = {"SUM": torch.add, "AVG": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
          "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}[op]
  if op == "AVG" and parts[0].dtype.is_floating_point:  # floats are scaled before they are summed
    parts = [(part.double() / len(parts)).to(part.dtype) for part in parts]
    return functools.reduce(fold, parts)
  total = functools.reduce(fold, parts)
  if op == "AVG":
    total = total / len(parts) if total.dtype.is_complex else torch.div(total, len(parts), rounding_mode="trunc")
  return total


def wanted(ranks, mine, op):
  """By Gloo where it knows type and operation, else by definition."""
  kind = str(mine.dtype).split(".")[1]
  if kind in GLOO_TYPES and op != "AVG":
    result = mine.clone().contiguous()
    ranks.dist.all_reduce(result, op=getattr(ranks.dist.ReduceOp, op), group=ranks.gloo)
    return result
  return reduced(ranks, of_all(ranks, mine), op)


def check_sum(ranks, what, got, expected):
  """The same, but for the rounding of averages, of which the order is weir's."""
  torch = ranks.torch
  if "AVG" in what and (got.dtype.is_floating_point or got.dtype.is_complex):
    tolerance = {torch.float16: 4e-3, torch.bfloat16: 4e-2}.get(got.dtype, 1e-6)
    wide = torch.complex128 if got.dtype.is_complex else torch.float64
    expect(torch.allclose(got.to(wide), expected.to(wide), rtol=tolerance, atol=tolerance), what)
  else:
    expect_same(what, got, expected)


def reductions(ranks):
  dist = ranks.dist
  for kind in TYPES:
    for op in OPS:
      operation = getattr(dist.ReduceOp, op)
      if not has_meaning(kind, op):
        if kind not in COMPLEX:
          error = error_of(f"{op} of {kind}", lambda: dist.all_reduce(values(ranks, kind, (3,)), op=operation))
          expect(f"there is no {op} of" in error, error)
        continue
      for count in COUNTS:
        what = f"{op} of {count} {kind}"
        mine = values(ranks, kind, (count,))
        expected = wanted(ranks, mine, op)
        got = mine.clone()
        dist.all_reduce(got, op=operation)
        check_sum(ranks, f"all_reduce {what}", got, expected)
        root = (count + len(op)) % ranks.size
        got = mine.clone()
        if kind not in COMPLEX or op == "SUM":
          dist.reduce(got, root, op=operation)
          check_sum(ranks, f"reduce {what}", got, expected if ranks.rank == root else mine)


def scattered_reductions(ranks):
  dist, torch = ranks.dist, ranks.torch
  for kind in TYPES:
    for op in ("SUM", "MAX", "BXOR"):
      if not has_meaning(kind, op):
        continue
      for count in COUNTS:
        what = f"{op} of {count} {kind}"
        mine = values(ranks, kind, (count * ranks.size,), 2)
        expected = wanted(ranks, mine, op).chunk(ranks.size)[ranks.rank]
        got = torch.empty_like(expected)
        dist.reduce_scatter(got, [part.clone() for part in mine.chunk(ranks.size)], op=getattr(dist.ReduceOp, op))
        expect_same(f"reduce_scatter {what}", got, expected)
        if kind in COMPLEX:
          continue
        got = torch.empty_like(expected)
        dist.reduce_scatter_tensor(got, mine, op=getattr(dist.ReduceOp, op))
        expect_same(f"reduce_scatter_tensor {what}", got, expected)
  # Blocks that differ in size.
  blocks = [values(ranks, "int64", (rank * 3,), 3) for rank in range(ranks.size)]
  expected = wanted(ranks, torch.cat(blocks), "SUM").split([rank * 3 for rank in range(ranks.size)])[ranks.rank]
  got = torch.empty_like(expected)
  dist.reduce_scatter(got, blocks)
  expect_same("reduce_scatter of uneven blocks", got, expected)


def coalesced(ranks):
  dist = ranks.dist
  for op in ("SUM", "BXOR"):
    mine = [values(ranks, "int32", (count,), count) for count in (1, 0, 50, 3000)]
    expected = [wanted(ranks, tensor, op) if tensor.numel() else tensor.clone() for tensor in mine]
    dist.all_reduce_coalesced(mine, op=getattr(dist.ReduceOp, op))
    for got, right in zip(mine, expected):
      expect_same(f"all_reduce_coalesced {op}", got, right)
  twice = values(ranks, "int32", (5,), 7)
  expected = wanted(ranks, twice, "SUM")
  dist.all_reduce_coalesced([twice, twice])
  expect_same("all_reduce_coalesced of one tensor twice", twice, expected)
  mine = [values(ranks, "float32", (3, 2), 5), values(ranks, "float32", (4,), 6)]
  outputs = [[ranks.torch.empty_like(tensor) for tensor in mine] for _ in range(ranks.size)]
  dist.all_gather_coalesced(outputs, mine)
  for index, tensor in enumerate(mine):
    for rank, right in enumerate(of_all(ranks, tensor)):
      expect_same("all_gather_coalesced", outputs[rank][index], right)


def averages_of_factors(ranks):
  """PREMUL_SUM: each input times a factor."""
  dist, torch = ranks.dist, ranks.torch
  before_2 = torch.__version__.startswith("1.")
  for kind in ("float32", "float64", "float16"):
    mine = values(ranks, kind, (100,))
    expected = wanted(ranks, mine * 0.5, "SUM")
    tensor = torch.tensor([0.5], dtype=mine.dtype)
    for factor in (0.5, [tensor] if before_2 else tensor):
      got = mine.clone()
      dist.all_reduce(got, op=dist._make_nccl_premul_sum(factor))
      expect_same(f"PREMUL_SUM of {kind}", got, expected)


def moves(ranks):
  dist, torch = ranks.dist, ranks.torch
  for kind in TYPES:
    for count in COUNTS:
      what = f"of {count} {kind}"
      mine = values(ranks, kind, (count,), 4)
      everything = of_all(ranks, mine)
      root = count % ranks.size
      got = mine.clone()
      dist.broadcast(got, root)
      expect_same(f"broadcast {what}", got, everything[root])
      parts = [torch.empty_like(mine) for _ in range(ranks.size)]
      dist.all_gather(parts, mine)
      expect_same(f"all_gather {what}", torch.cat(parts), torch.cat(everything))
      flat = torch.empty(count * ranks.size, dtype=mine.dtype)
      dist.all_gather(list(flat.chunk(ranks.size)), mine)  # into views of one tensor
      expect_same(f"all_gather into views {what}", flat, torch.cat(everything))
      if kind not in COMPLEX:
        flat = torch.empty(count * ranks.size, dtype=mine.dtype)
        dist.all_gather_into_tensor(flat, mine)
        expect_same(f"all_gather_into_tensor {what}", flat, torch.cat(everything))
      parts = [torch.empty_like(mine) for _ in range(ranks.size)] if ranks.rank == root else None
      dist.gather(mine, parts, dst=root)
      if parts is not None:
        expect_same(f"gather {what}", torch.cat(parts), torch.cat(everything))
      wide = values(ranks, kind, (count * ranks.size,), 5)
      given = of_all(ranks, wide)[root].chunk(ranks.size)[ranks.rank]
      got = torch.empty_like(mine)
      dist.scatter(got, [part.clone() for part in wide.chunk(ranks.size)] if ranks.rank == root else None, src=root)
      expect_same(f"scatter {what}", got, given)
  parts = [torch.empty(rank * 2, dtype=torch.int16) for rank in range(ranks.size)]
  mine = values(ranks, "int16", (ranks.rank * 2,), 6)
  dist.all_gather(parts, mine)
  expect_same("all_gather of uneven sizes", torch.cat(parts), torch.cat(of_all(ranks, mine)))


def exchanges(ranks):
  dist, torch = ranks.dist, ranks.torch
  for kind in TYPES:
    for count in (1, 333):
      what = f"of {count} {kind}"
      mine = values(ranks, kind, (count * ranks.size, 2), 7)
      from_all = of_all(ranks, mine)
      expected = torch.cat([other.chunk(ranks.size)[ranks.rank] for other in from_all])
      got = torch.empty_like(mine)
      if kind not in COMPLEX:
        dist.all_to_all_single(got, mine)
        expect_same(f"all_to_all_single {what}", got, expected)
      got = torch.empty_like(mine)
      dist.all_to_all(list(got.chunk(ranks.size)), [part.clone() for part in mine.chunk(ranks.size)])
      expect_same(f"all_to_all {what}", got, expected)
  # Rank i sends j + 2 i rows to rank j, but rank 0 nothing to itself.
  sends = [peer + 2 * ranks.rank for peer in range(ranks.size)]
  takes = [ranks.rank + 2 * peer for peer in range(ranks.size)]
  mine = values(ranks, "int32", (sum(sends), 3), 8)
  from_all = of_all(ranks, mine)
  expected = torch.cat([other.split([peer + 2 * rank for peer in range(ranks.size)])[ranks.rank]
                        for rank, other in enumerate(from_all)])
  got = torch.empty((sum(takes), 3), dtype=torch.int32)
  dist.all_to_all_single(got, mine, takes, sends)
  expect_same("all_to_all_single with splits", got, expected)
  got = torch.empty_like(got)
  dist.all_to_all(list(got.split(takes)), list(mine.split(sends)))
  expect_same("all_to_all of uneven sizes", got, expected)
  error = error_of("wrong splits", lambda: dist.all_to_all_single(got, mine, [1000] * ranks.size, sends))
  expect("do not add up" in error or "Split sizes" in error, error)
  for rows in (1, 3):  # what does not fit is neither written behind the output nor left out
    error = error_of("an output of another size", lambda: dist.all_to_all_single(
        torch.empty(rows * ranks.size), torch.empty(2 * ranks.size)))
    expect("expected as many as in the output" in error, error)


def shapes(ranks):
  """Tensors with gaps, in another order, of no element, of no dimension, that want gradients, conjugates."""
  dist, torch = ranks.dist, ranks.torch
  base = values(ranks, "float32", (6, 8), 9)
  for name, view in (("transposed", lambda t: t.t()), ("every second", lambda t: t[:, ::2]),
                     ("a column", lambda t: t[:, 3]), ("one value", lambda t: t[2, 5])):
    what = f"of {name}"
    expected = wanted(ranks, view(base).contiguous(), "SUM")
    whole = base.clone()
    dist.all_reduce(view(whole))
    expect_same(f"all_reduce {what}", view(whole).contiguous(), expected)
    untouched = base.clone()
    view(untouched).copy_(view(whole))
    expect_same(f"all_reduce {what}: the rest", whole, untouched)
    whole = base.clone()
    dist.broadcast(view(whole), ranks.size - 1)
    everything = of_all(ranks, view(base).contiguous())
    expect_same(f"broadcast {what}", view(whole).contiguous(), everything[-1])
    outputs = [torch.zeros(6, 8) for _ in range(ranks.size)]
    dist.all_gather([view(output) for output in outputs], view(base))
    for output, right in zip(outputs, everything):
      expect_same(f"all_gather {what}", view(output).contiguous(), right)
    got = torch.zeros(6, 8)
    dist.scatter(view(got), [view(base)] * ranks.size if ranks.rank == 0 else None, src=0)
    expect_same(f"scatter {what}", view(got).contiguous(), everything[0])
  for op in (lambda t: dist.all_reduce(t), lambda t: dist.broadcast(t, 0), lambda t: dist.reduce(t, 0),
             lambda t: dist.all_gather([torch.empty(0)] * ranks.size, t), lambda t: dist.all_to_all_single(t, t),
             lambda t: dist.reduce_scatter(t, [torch.empty(0)] * ranks.size),
             lambda t: dist.scatter(t, [torch.empty(0)] * ranks.size if ranks.rank == 0 else None, src=0)):
    op(torch.empty(0))
  leaf = torch.ones(4, requires_grad=True)
  dist.all_reduce(leaf)
  expect_same("all_reduce of a leaf", leaf.detach(), torch.full((4,), float(ranks.size)))
  conjugate = torch.complex(torch.ones(3), torch.ones(3)).conj()
  outputs = [torch.empty(3, dtype=torch.complex64) for _ in range(ranks.size)]
  ranks.dist.group.WORLD.allgather([outputs], [conjugate]).wait()
  expect_same("all_gather of a conjugate", outputs[-1], torch.complex(torch.ones(3), -torch.ones(3)))


def large(ranks):
  """What does not fit in anything at once."""
  dist, torch = ranks.dist, ranks.torch
  mine = values(ranks, "float32", (3_000_001,), 10)
  expected = wanted(ranks, mine, "SUM")
  got = mine.clone()
  dist.all_reduce(got)
  expect_same("a large all_reduce", got, expected)
  flat = torch.empty(ranks.size * mine.numel())
  dist.all_gather_into_tensor(flat, mine)
  expect_same("a large all_gather", flat, torch.cat(of_all(ranks, mine)))


def asynchronous(ranks):
  """Many at once; in order, done without anybody waiting, with futures and what hangs on them."""
  import datetime
  import time
  dist, torch = ranks.dist, ranks.torch
  tensors = [torch.full((count,), float(ranks.rank + 1)) for count in (1, 100, 100_000) * 10]
  works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
  for work, tensor in zip(works, tensors):
    expect(work.wait(), "wait() says false")
    total = ranks.size * (ranks.size + 1) / 2
    expect_same("an asynchronous all_reduce", tensor, torch.full_like(tensor, total))
    expect(work.is_completed() and work.is_success(), "a work that was waited for is not done")
  work = dist.all_reduce(tensors[0], async_op=True)
  deadline = time.monotonic() + 60
  while not work.is_completed() and time.monotonic() < deadline:
    time.sleep(0.001)
  expect(work.is_completed(), "nobody carries out what nobody waits for")
  mine = torch.ones(10)
  future = dist.all_reduce(mine, async_op=True).get_future()
  doubled = future.then(lambda done: [tensor * 2 for tensor in done.value()])
  expect_same("a future", doubled.wait()[0], torch.full((10,), 2.0 * ranks.size))
  work = dist.all_reduce(mine, async_op=True)
  expect(work.wait(datetime.timedelta(seconds=60)), "wait with a timeout says false")
  first, second = torch.ones(5), torch.ones(5)
  works = [dist.all_reduce(first, async_op=True), dist.broadcast(second, 0, async_op=True)]
  for work in reversed(works):  # in another order than issued
    work.wait()
  dist.barrier()


def refusals(ranks):
  dist, torch = ranks.dist, ranks.torch
  ones, whole = torch.ones(2), torch.ones(5)
  for what, act, words in (
      ("sparse", lambda: dist.broadcast(ones.to_sparse(), 0), "sparse"),
      ("bits of floats", lambda: dist.all_reduce(ones, op=dist.ReduceOp.BOR), "there is no BOR of Float"),
      ("sizes", lambda: dist.all_gather_into_tensor(torch.empty(3 * ranks.size), ones), "elements"),
      ("overlap", lambda: dist.all_reduce_coalesced([whole[:3], whole[2:]]), "overlap in part"),
      ("an output without room", lambda: dist.all_gather_coalesced([[torch.empty(0)]] * ranks.size, [ones]),
       "output 0 of this rank has 0 elements, expected 2"),
      ("mixed types", lambda: dist.all_gather([torch.empty(2).double()] * ranks.size, ones), "type")):
    error = error_of(what, act)
    expect(words.lower() in error.lower(), what, "says", error)
  dist.barrier()  # none of it has harmed the group


CHECKS = {name.__name__: name for name in (reductions, scattered_reductions, coalesced, averages_of_factors, moves,
                                           exchanges, shapes, large, asynchronous, refusals)}


if __name__ == "__main__":
  harness.main({name: harness.started(check, gloo=True) for name, check in CHECKS.items()})
