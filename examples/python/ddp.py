#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small byte-level transformer with DistributedDataParallel on CPUs, over weir or another back end.

    PYTHONPATH=build/python /usr/bin/python3 examples/python/ddp.py --ranks 2
    PYTHONPATH=build/python /usr/bin/python3 -m torch.distributed.run --nproc_per_node 2 \\
        --redirects 1 --tee 1 examples/python/ddp.py

--ranks starts the processes; alternatively use a launcher that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (the options
--redirects and --tee are for PyTorch 1.13 on Python 3.11, where their defaults fail). The last line contains tokens/s of all ranks
together and a hash of all parameters: runs with the same options have the same hash.
"""

import argparse
import contextlib
import hashlib
import math
import os
import random
import socket
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

BYTES = 256


class Block(nn.Module):
  """Attention and two linear layers, each with a residual connection."""

  def __init__(self, width, heads):
    super().__init__()
    self.heads = heads
    self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
    self.attention, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
    self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

  def forward(self, x, hidden):
    sequences, length, width = x.shape
    queries, keys, values = (part.reshape(sequences, length, self.heads, -1).transpose(1, 2)
                             for part in self.attention(self.norm1(x)).split(width, dim=2))
    scores = queries @ keys.transpose(2, 3) / math.sqrt(width // self.heads)
    mixed = torch.softmax(scores + hidden, dim=3) @ values
    x = x + self.mix(mixed.transpose(1, 2).reshape(sequences, length, width))
    return x + self.narrow(nn.functional.gelu(self.widen(self.norm2(x))))


class Transformer(nn.Module):
  """Predicts the next byte for each byte of a sequence."""

  def __init__(self, options):
    super().__init__()
    self.tokens, self.places = nn.Embedding(BYTES, options.width), nn.Embedding(options.length, options.width)
    self.blocks = nn.ModuleList(Block(options.width, options.heads) for _ in range(options.layers))
    self.norm, self.head = nn.LayerNorm(options.width), nn.Linear(options.width, BYTES)
    self.register_buffer("hidden", torch.full((options.length, options.length), -math.inf).triu(1))

  def forward(self, tokens):
    length = tokens.shape[1]
    x = self.tokens(tokens) + self.places.weight[:length]
    for block in self.blocks:
      x = block(x, self.hidden[:length, :length])
    return self.head(self.norm(x))


def text_of(options):
  """Returns the bytes to train on: those of a file, or correct sums."""
  if options.text:
    with open(options.text, "rb") as file:
      data = file.read()
  else:
    data = "".join(f"{i % 97}+{i * 7 % 89}={i % 97 + i * 7 % 89}\n" for i in range(20_000)).encode()
  return torch.tensor(list(data), dtype=torch.long)


def batches(options, rank, count):
  """Yields this many batches for this rank; every run gives the same ones."""
  text = text_of(options)
  generator = torch.Generator().manual_seed(1234 + rank)
  for _ in range(count):
    starts = torch.randint(0, len(text) - options.length - 1, (options.batch,), generator=generator)
    rows = torch.stack([text[start:start + options.length + 1] for start in starts.tolist()])
    yield rows[:, :-1], rows[:, 1:]


def loss_of(model, batch):
  inputs, targets = batch
  logits = model(inputs)
  return nn.functional.cross_entropy(logits.reshape(-1, BYTES), targets.reshape(-1))


def train(options, model, optimizer):
  """Returns the losses of this rank's steps and its number of tokens. In an uneven run, rank r makes r more steps than rank 0."""
  rank = dist.get_rank()
  steps = options.steps + (rank if options.uneven else 0)
  source = batches(options, rank, steps * options.accumulate)
  losses, tokens = [], 0
  joined = Join([model]) if options.uneven else contextlib.nullcontext()
  with joined:
    for step in range(steps):
      optimizer.zero_grad()
      for part in range(options.accumulate):
        last = part == options.accumulate - 1
        with contextlib.nullcontext() if last else model.no_sync():
          loss = loss_of(model, next(source)) / options.accumulate
          loss.backward()
        tokens += options.batch * options.length
      optimizer.step()
      losses.append(loss.item() * options.accumulate)
      if rank == 0 and (step % 10 == 0 or step == steps - 1):
        print(f"step {step:4d}  loss {losses[-1]:.6f}", flush=True)
  return losses, tokens


def hash_of(model):
  digest = hashlib.sha256()
  for parameter in model.parameters():
    digest.update(parameter.detach().numpy().tobytes())
  return digest.hexdigest()[:16]


def be_a_rank(options):
  if options.backend == "weir":
    import weir_torch
  torch.set_num_threads(options.threads)
  dist.init_process_group(options.backend)  # env://
  torch.manual_seed(1)
  model = DistributedDataParallel(Transformer(options))
  if options.zero:
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=options.rate)
  else:
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
  start = time.perf_counter()
  _, tokens = train(options, model, optimizer)
  total = torch.tensor([tokens, time.perf_counter() - start], dtype=torch.float64)
  dist.all_reduce(total)
  hashes = [None] * dist.get_world_size()
  dist.all_gather_object(hashes, hash_of(model))
  if options.save and dist.get_rank() == 0:
    torch.save([parameter.detach() for parameter in model.parameters()], options.save)
  if dist.get_rank() == 0:
    count = sum(parameter.numel() for parameter in model.parameters())
    rate = total[0].item() / (total[1].item() / len(hashes))
    if options.backend == "weir":
      print(f"order of sums: {weir_torch.sum_order()}", flush=True)
    print(f"{options.backend}, {len(hashes)} ranks, {count} parameters: {rate:.0f} tokens/s, parameters {hashes[0]}"
          + ("" if len(set(hashes)) == 1 else f": ranks DIFFER, {hashes}"), flush=True)
  dist.barrier()
  dist.destroy_process_group()
  return 0 if len(set(hashes)) == 1 else 1


def free_port():
  """One below those that the system gives to sockets that ask for any: nobody else gets it until it is used."""
  with socket.socket() as free:
    while True:
      try:
        free.bind(("", random.randrange(20000, 32000)))
        return free.getsockname()[1]
      except OSError:
        continue


def start_ranks(options):
  """Starts this program once per rank; the first failure ends the others."""
  port = str(free_port())
  processes = [subprocess.Popen([sys.executable, *sys.argv],
                                env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(options.ranks), MASTER_PORT=port,
                                         MASTER_ADDR="127.0.0.1"))
               for rank in range(options.ranks)]
  codes = [None] * options.ranks
  while None in codes:
    time.sleep(0.05)
    codes = [process.poll() for process in processes]
    if any(codes):
      for process in processes:
        process.terminate()
  return 1 if any(codes) else 0


def parser_of(description, steps):
  """The options that the examples for PyTorch have in common."""
  parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--backend", default="weir", help="back end: weir, gloo or mpi")
  parser.add_argument("--ranks", type=int, default=2, help="processes to start, unless a launcher has started them")
  parser.add_argument("--steps", type=int, default=steps)
  parser.add_argument("--batch", type=int, default=8, help="sequences per rank and step")
  parser.add_argument("--length", type=int, default=64, help="bytes per sequence")
  parser.add_argument("--width", type=int, default=128)
  parser.add_argument("--layers", type=int, default=4)
  parser.add_argument("--heads", type=int, default=4)
  parser.add_argument("--rate", type=float, default=1e-3)
  parser.add_argument("--threads", type=int, default=1, help="threads per rank")
  parser.add_argument("--text", help="text file to train on, instead of sums")
  return parser


def main():
  parser = parser_of(__doc__, 100)
  parser.add_argument("--accumulate", type=int, default=1, help="batches whose gradients are accumulated before each step")
  parser.add_argument("--zero", action="store_true", help="use ZeroRedundancyOptimizer: each rank has a part of AdamW's state")
  parser.add_argument("--uneven", action="store_true", help="rank r makes r more steps than rank 0 (Join)")
  parser.add_argument("--save", help="save the parameters of rank 0 to this file")
  options = parser.parse_args()
  return be_a_rank(options) if "RANK" in os.environ else start_ranks(options)


if __name__ == "__main__":
  sys.exit(main())
