#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FSDP2 and tensor parallelism give the losses of a run on one device: torch_sharded.py [--ranks N] (PyTorch 2.6 or newer)."""

import ranks as harness
import small_model

STEPS = 5


def alone(ranks):
  """Every rank trains the whole model on the batches of all: what sharding must come to."""
  torch = ranks.torch
  torch.manual_seed(7)
  model = small_model.make(torch).to(ranks.device)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  losses = []
  for step in range(STEPS):
    parts = [small_model.batch(torch, step, rank) for rank in range(ranks.size)]
    tokens, following = (torch.cat(some).to(ranks.device) for some in zip(*parts))
    losses.append(train(torch, model, optimizer, tokens, following))
  return torch.stack(losses)


def train(torch, model, optimizer, tokens, following):
  loss = small_model.loss_of(torch, model, tokens, following)
  optimizer.zero_grad()
  loss.backward()
  optimizer.step()
  return loss.detach().clone()


def fully_sharded(ranks, mesh):
  from torch.distributed.fsdp import fully_shard
  torch = ranks.torch
  torch.manual_seed(7)
  model = small_model.make(torch).to(ranks.device)
  for block in model.blocks:
    fully_shard(block, mesh=mesh)
  fully_shard(model, mesh=mesh)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  losses = []
  for step in range(STEPS):
    tokens, following = (part.to(ranks.device) for part in small_model.batch(torch, step, ranks.rank))
    loss = train(torch, model, optimizer, tokens, following)
    ranks.dist.all_reduce(loss)
    losses.append(loss / ranks.size)
  return torch.stack(losses)


def tensor_parallel(ranks, mesh):
  """The two linear layers of every block are split, the one by columns, the other by rows."""
  from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
  torch = ranks.torch
  torch.manual_seed(7)
  model = small_model.make(torch).to(ranks.device)
  for block in model.blocks:
    parallelize_module(block, mesh, {"widen": ColwiseParallel(), "narrow": RowwiseParallel()})
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
  losses = []
  for step in range(STEPS):
    parts = [small_model.batch(torch, step, rank) for rank in range(ranks.size)]
    tokens, following = (torch.cat(some).to(ranks.device) for some in zip(*parts))
    losses.append(train(torch, model, optimizer, tokens, following))
  return torch.stack(losses)


def check(ranks):
  ranks.needs(2, 6, "FSDP2")
  from torch.distributed.device_mesh import init_device_mesh
  ranks.start()
  ranks.torch.backends.cuda.matmul.allow_tf32 = False
  mesh = init_device_mesh(ranks.kind, (ranks.size,))
  wanted = alone(ranks)
  harness.expect_close("losses with FSDP2", fully_sharded(ranks, mesh), wanted, 1e-3)
  harness.expect_close("losses with tensor parallelism", tensor_parallel(ranks, mesh), wanted, 1e-3)
  ranks.barrier()
  return f"rank {ranks.rank}: FSDP2 and tensor parallelism learn as one device does"


if __name__ == "__main__":
  harness.run(check)
