#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small byte-level transformer with FullyShardedDataParallel (fully_shard) on CPUs, over weir or another back end.

    torchrun --nproc_per_node 4 examples/python/fsdp.py
    python3 examples/python/fsdp.py --ranks 4

Each rank keeps one part of every parameter, its gradient and its moments; blocks are gathered when they are needed. Needs a new
PyTorch (tried with 2.15) with its own weir_torch (pip install build/python): 1.13 and 2.6 shard on GPUs only. --ranks starts the processes;
alternatively use a launcher that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
"""

import os
import sys

import torch
import torch.distributed as dist

import ddp

NO_FSDP = 77  # exit status, as of a test that is skipped


def train(options):
  """The mean losses of all ranks' steps."""
  from torch.distributed.device_mesh import init_device_mesh
  from torch.distributed.fsdp import fully_shard
  mesh = init_device_mesh("cpu", (dist.get_world_size(),))
  torch.manual_seed(1)
  model = ddp.Transformer(options)
  for block in model.blocks:
    fully_shard(block, mesh=mesh)
  fully_shard(model, mesh=mesh)
  optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
  losses = []
  for step, batch in enumerate(ddp.batches(options, dist.get_rank(), options.steps)):
    loss = ddp.loss_of(model, batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    losses.append(mean.item() / dist.get_world_size())
    if dist.get_rank() == 0 and (step % 10 == 0 or step == options.steps - 1):
      print(f"step {step:4d}  loss {losses[-1]:.6f}", flush=True)
  own = sum(parameter.to_local().numel() for parameter in model.parameters())
  whole = sum(parameter.numel() for parameter in model.parameters())
  return losses, own, whole


def be_a_rank(options):
  if options.backend == "weir":
    import weir_torch  # noqa: F401
  torch.set_num_threads(options.threads)
  dist.init_process_group(options.backend)  # env://
  losses, own, whole = train(options)
  if dist.get_rank() == 0:
    print(f"{options.backend}, {dist.get_world_size()} ranks: loss {losses[0]:.6f} to {losses[-1]:.6f}; rank 0 keeps {own} of "
          f"{whole} parameters", flush=True)
  dist.barrier()
  dist.destroy_process_group()
  return 0


def main():
  version = tuple(int(part) for part in torch.__version__.split(".")[:2])
  if version < (2, 7):
    print(f"skipped: PyTorch {torch.__version__} shards on GPUs only; tried with 2.15")
    return NO_FSDP
  options = ddp.parser_of(__doc__, 50).parse_args()
  return be_a_rank(options) if "RANK" in os.environ else ddp.start_ranks(options)


if __name__ == "__main__":
  sys.exit(main())
