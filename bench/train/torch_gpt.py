#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The trainer's presets in PyTorch, for compare.py: one process of data parallel training over Gloo, with DDP or FSDP2.

Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun sets them. Rank 0 prints one line per step:
{"step": n, "loss": nats, "seconds": s}. Model, batch and optimizer are those of weir-train: blocks of GPT-2 over bytes, learned
positions, a separate output layer, AdamW with decoupled weight decay of matrices, clipping by the global norm, fp32.
"""

import argparse
import json
import math
import os
import time

import torch
from torch import nn
from torch.nn import functional

PRESETS = {"tiny": (4, 128, 4, 64), "small": (4, 256, 4, 128), "medium": (6, 384, 6, 256), "124M": (12, 768, 12, 1024)}
VOCABULARY = 256


class Block(nn.Module):
  def __init__(self, width, heads, length):
    super().__init__()
    self.heads = heads
    self.norm1 = nn.LayerNorm(width)
    self.attention = nn.Linear(width, 3 * width)
    self.mix = nn.Linear(width, width)
    self.norm2 = nn.LayerNorm(width)
    self.widen = nn.Linear(width, 4 * width)
    self.narrow = nn.Linear(4 * width, width)
    self.register_buffer("hidden", torch.full((length, length), -math.inf).triu(1), persistent=False)

  def forward(self, x):
    sequences, length, width = x.shape
    size = width // self.heads
    queries, keys, values = self.attention(self.norm1(x)).split(width, dim=2)
    by_head = [part.view(sequences, length, self.heads, size).transpose(1, 2) for part in (queries, keys, values)]
    if hasattr(functional, "scaled_dot_product_attention"):  # PyTorch 2.0 or later
      mixed = functional.scaled_dot_product_attention(*by_head, is_causal=True)
    else:
      scores = (by_head[0] @ by_head[1].transpose(-2, -1)) * (1 / math.sqrt(size)) + self.hidden
      mixed = functional.softmax(scores, dim=-1) @ by_head[2]
    x = x + self.mix(mixed.transpose(1, 2).reshape(sequences, length, width))
    return x + self.narrow(functional.gelu(self.widen(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
  def __init__(self, layers, width, heads, length):
    super().__init__()
    self.tokens = nn.Embedding(VOCABULARY, width)
    self.positions = nn.Parameter(torch.empty(length, width))
    self.blocks = nn.Sequential(*(Block(width, heads, length) for _ in range(layers)))
    self.norm = nn.LayerNorm(width)
    self.head = nn.Linear(width, VOCABULARY, bias=False)
    for parameter in self.parameters():
      if parameter.dim() > 1:
        nn.init.normal_(parameter, std=0.02)

  def forward(self, tokens, targets):
    logits = self.head(self.norm(self.blocks(self.tokens(tokens) + self.positions)))
    return functional.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))


def optimizer_of(model, rate):
  parameters = list(model.parameters())
  groups = [
      {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1},
      {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
  ]
  return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), eps=1e-8, foreach=True)


def distributed(model, way):
  """The model as DDP or FSDP2 trains it: FSDP2 shards each block, and the rest as one unit."""
  torch.distributed.init_process_group("gloo")
  if way == "ddp":
    return nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
  from torch.distributed.device_mesh import init_device_mesh
  from torch.distributed.fsdp import fully_shard  # PyTorch 2.6 or later
  mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
  for unit in (*model.blocks, model):
    fully_shard(unit, mesh=mesh)
  return model


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--preset", choices=PRESETS, default="small")
  parser.add_argument("--batch", type=int, default=16, help="sequences per step over all processes; a multiple of the number of processes")
  parser.add_argument("--steps", type=int, default=20)
  parser.add_argument("--threads", type=int, default=1)
  parser.add_argument("--way", choices=("ddp", "fsdp2"), default="ddp", help="with more than one process")
  parser.add_argument("--data", required=True, help="text file to train on")
  arguments = parser.parse_args()
  rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
  torch.set_num_threads(arguments.threads)
  torch.manual_seed(1)
  layers, width, heads, length = PRESETS[arguments.preset]
  model = Model(layers, width, heads, length)
  run = distributed(model, arguments.way) if ranks > 1 else model
  optimizer = optimizer_of(model, 3e-3)
  with open(arguments.data, "rb") as file:
    text = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
  draw = torch.Generator().manual_seed(1000 + rank)
  own = arguments.batch // ranks
  for step in range(arguments.steps):
    begin = time.perf_counter()
    starts = torch.randint(len(text) - length - 1, (own,), generator=draw)
    samples = torch.stack([text[at : at + length + 1] for at in starts]).long()
    loss = run(samples[:, :-1], samples[:, 1:])
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if rank == 0:
      print(json.dumps({"step": step + 1, "loss": loss.item(), "seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
  main()
