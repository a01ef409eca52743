#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All collectives of PyTorch against Gloo's results on the CPU: torch_collectives.py [--ranks N]."""

import ranks as harness

SIZES = (1, 1000, 1 << 18)
TYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8")
# What Gloo lacks it cannot be asked for; the wanted values come from its all-gather.
NOT_OF_GLOO = {"reduce_scatter", "all_to_all", "all_gather_into_tensor", "reduce_scatter_tensor"}


def values(ranks, count, seed):
  """Of this rank: whole numbers so small that every type holds every sum and product exactly."""
  generator = ranks.torch.Generator().manual_seed(seed * 1000 + ranks.rank)
  return ranks.torch.randint(0, 3, (count,), generator=generator).double()


def of_all(ranks, mine):
  """The tensor of every rank, by Gloo."""
  parts = [ranks.torch.empty_like(mine) for _ in range(ranks.size)]
  ranks.dist.all_gather(parts, mine, group=ranks.gloo)
  return parts


def placed(ranks, tensor, kind):
  """A copy of the values as this type, on the ranks' device."""
  return tensor.to(kind).to(ranks.device, copy=True)


def blocks(tensor, count):
  return list(tensor.chunk(count)) if tensor.numel() else [tensor] * count


def check_reductions(ranks, kind, count):
  torch, dist = ranks.torch, ranks.dist
  mine = values(ranks, count, 1)
  for name in ("SUM", "PRODUCT", "MIN", "MAX"):
    wanted = mine.clone()
    dist.all_reduce(wanted, op=getattr(dist.ReduceOp, name), group=ranks.gloo)
    got = placed(ranks, mine, kind)
    dist.all_reduce(got, op=getattr(dist.ReduceOp, name))
    harness.expect_close(f"all_reduce {name} of {count} {kind}", got, wanted)
    root = (count + len(name)) % ranks.size
    got = placed(ranks, mine, kind)
    dist.reduce(got, root, op=getattr(dist.ReduceOp, name))
    if ranks.rank == root:
      harness.expect_close(f"reduce {name} of {count} {kind}", got, wanted)
  if ranks.backend == "nccl" and kind in (torch.float32, torch.float64):
    got = placed(ranks, mine, kind)
    dist.all_reduce(got, op=dist.ReduceOp.AVG)
    harness.expect_close(f"all_reduce AVG of {count} {kind}", got, torch.stack(of_all(ranks, mine)).mean(0), 1e-6)


def check_moves(ranks, kind, count):
  torch, dist = ranks.torch, ranks.dist
  mine = values(ranks, count, 2)
  everything = of_all(ranks, mine)
  root = count % ranks.size
  own = placed(ranks, mine, kind)
  what = f"of {count} {kind}"

  got = own.clone()
  dist.broadcast(got, root)
  harness.expect_close(f"broadcast {what}", got, everything[root])

  parts = [torch.empty_like(own) for _ in range(ranks.size)]
  dist.all_gather(parts, own)
  harness.expect_close(f"all_gather {what}", torch.cat(parts), torch.cat(everything))

  parts = [torch.empty_like(own) for _ in range(ranks.size)] if ranks.rank == root else None
  dist.gather(own, parts, dst=root)
  if parts is not None:
    harness.expect_close(f"gather {what}", torch.cat(parts), torch.cat(everything))

  wide = values(ranks, count * ranks.size, 3)
  given = blocks(of_all(ranks, wide)[root], ranks.size)
  got = torch.empty_like(own)
  parts = [placed(ranks, part, kind) for part in blocks(wide, ranks.size)]
  dist.scatter(got, parts if ranks.rank == root else None, src=root)
  harness.expect_close(f"scatter {what}", got, given[ranks.rank])


def check_exchanges(ranks, kind, count):
  torch, dist = ranks.torch, ranks.dist
  wide = values(ranks, count * ranks.size, 4)
  from_all = of_all(ranks, wide)
  mine = placed(ranks, wide, kind)
  what = f"of {count} {kind}"

  def wanted(name):
    return ranks.backend != "gloo" or name not in NOT_OF_GLOO

  summed = blocks(torch.stack(from_all).sum(0), ranks.size)[ranks.rank]
  if wanted("reduce_scatter"):
    got = torch.empty(count, dtype=kind, device=ranks.device)
    dist.reduce_scatter(got, blocks(mine.clone(), ranks.size))
    harness.expect_close(f"reduce_scatter {what}", got, summed)
  if wanted("reduce_scatter_tensor"):
    got = torch.empty(count, dtype=kind, device=ranks.device)
    dist.reduce_scatter_tensor(got, mine)
    harness.expect_close(f"reduce_scatter_tensor {what}", got, summed)
  if wanted("all_gather_into_tensor"):
    got = torch.empty(mine.numel() * ranks.size, dtype=kind, device=ranks.device)
    dist.all_gather_into_tensor(got, mine)
    harness.expect_close(f"all_gather_into_tensor {what}", got, torch.cat(from_all))
  if wanted("all_to_all"):
    exchanged = torch.cat([blocks(other, ranks.size)[ranks.rank] for other in from_all])
    got = torch.empty_like(mine)
    dist.all_to_all_single(got, mine)
    harness.expect_close(f"all_to_all {what}", got, exchanged)


def check_pairs(ranks, kind, count):
  """Round a ring, as pipelines do."""
  torch, dist = ranks.torch, ranks.dist
  mine = values(ranks, count, 5)
  everything = of_all(ranks, mine)
  got = torch.empty(count, dtype=kind, device=ranks.device)
  to, source = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
  works = dist.batch_isend_irecv([dist.P2POp(dist.isend, placed(ranks, mine, kind), to),
                                  dist.P2POp(dist.irecv, got, source)])
  for work in works:
    work.wait()
  harness.expect_close(f"send and receive of {count} {kind}", got, everything[source])


def check_order(ranks):
  """Results are used on the stream without waiting on the host, many calls in a row."""
  total = ranks.torch.ones(4096, device=ranks.device)
  for _ in range(20):
    ranks.dist.all_reduce(total)
    total /= ranks.size
  harness.expect_close("20 all-reduces in stream order", total, ranks.torch.ones(4096), 1e-6)


def check(ranks):
  ranks.start()
  types = [getattr(ranks.torch, name) for name in TYPES]
  for kind in types:
    if ranks.backend == "gloo" and kind == ranks.torch.bfloat16:
      continue  # older releases of Gloo's backend have no such sums
    for count in SIZES:
      check_reductions(ranks, kind, count)
      check_moves(ranks, kind, count)
      check_exchanges(ranks, kind, count)
      if ranks.size > 1:
        check_pairs(ranks, kind, count)
  check_order(ranks)
  ranks.barrier()
  return f"rank {ranks.rank} of {ranks.size}: all collectives are Gloo's"


if __name__ == "__main__":
  harness.run(check)
