# SPDX-License-Identifier: Apache-2.0
"""One rank of bench/compare-torch --train: trains the transformer of examples/python/ddp.py over several back ends, alternately.

    train_rank.py RANK RANKS STORE OPTIONS    (OPTIONS: JSON, the fields of Options)

All back ends train models of their own in one process, with the same parameters and batches. Rank 0 prints a line of JSON per back
end: the tokens/s of all ranks together for each repetition, and whether all models are the same in the end.
"""

import argparse
import dataclasses
import datetime
import hashlib
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python"))
import ddp  # noqa: E402

MODEL = argparse.Namespace(width=128, layers=4, heads=4, length=64, text=None)
WARM_UP = 3  # steps


@dataclasses.dataclass(frozen=True)
class Options:
  backends: list
  batch: int  # sequences per rank and step
  threads: int  # intra-op threads
  repetitions: int
  steps: int  # of a repetition
  sharded: bool  # FSDP2 instead of DDP
  module: str  # folder of weir_torch


def fully_sharded(model, group):
  """The model with the parameters of each block sharded over the group (FSDP2)."""
  from torch.distributed.device_mesh import DeviceMesh
  from torch.distributed.fsdp import fully_shard
  mesh = DeviceMesh.from_group(group, "cpu")
  for block in model.blocks:
    fully_shard(block, mesh=mesh)
  return fully_shard(model, mesh=mesh)


def whole(parameter):
  return parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter


def only_meet(group, bucket):
  """A hook of DDP that exchanges no gradients: the ranks only wait for each other, once per step."""
  if bucket.is_last():
    dist.all_reduce(torch.zeros(1), group=group)
  done = torch.futures.Future()
  done.set_result(bucket.buffer())
  return done


class Training:
  """A model that is trained over one back end. `exchanges`: False for the limit of all back ends: the ranks do everything else."""

  def __init__(self, group, batches, sharded, exchanges=True):
    torch.manual_seed(1)
    model = ddp.Transformer(MODEL)
    if not sharded:
      model = DistributedDataParallel(model, process_group=group)
      if not exchanges:
        model.register_comm_hook(group, only_meet)
    elif exchanges:
      model = fully_sharded(model, group)
    self.exchanges = exchanges
    self.model = model
    self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
    self.batches = batches

  def seconds(self, steps):
    """The time of these steps, maximum over the ranks."""
    dist.barrier()
    start = time.perf_counter()
    for step in range(steps):
      self.optimizer.zero_grad()
      ddp.loss_of(self.model, self.batches[step % len(self.batches)]).backward()
      self.optimizer.step()
    taken = torch.tensor([time.perf_counter() - start], dtype=torch.float64)
    dist.all_reduce(taken, op=dist.ReduceOp.MAX)
    return taken.item()

  def is_alike(self):
    """Whether all ranks have the same parameters, as far as they have to."""
    if not self.exchanges:
      return True
    hashes = [None] * dist.get_world_size()
    digest = hashlib.sha256(b"".join(whole(parameter).detach().numpy().tobytes() for parameter in self.model.parameters()))
    dist.all_gather_object(hashes, digest.hexdigest())
    return len(set(hashes)) == 1


def main():
  rank, ranks, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
  options = Options(**json.loads(sys.argv[4]))
  sys.path.insert(0, options.module)
  import weir_torch  # noqa: F401
  torch.set_num_threads(options.threads)
  dist.init_process_group("gloo", store=dist.FileStore(store, ranks), rank=rank, world_size=ranks,
                          timeout=datetime.timedelta(minutes=5))
  batches = list(ddp.batches(argparse.Namespace(**vars(MODEL), batch=options.batch), rank, options.steps))
  groups = {name: dist.group.WORLD if name == "gloo" else dist.new_group(backend=name) for name in options.backends}
  trainings = {name: Training(group, batches, options.sharded) for name, group in groups.items()}
  trainings["limit"] = Training(groups["weir"], batches, options.sharded, exchanges=False)
  rates = {name: [] for name in trainings}
  for training in trainings.values():
    training.seconds(WARM_UP)
  for repetition in range(options.repetitions):
    order = list(trainings)[:: 1 if repetition % 2 else -1]
    for name in order:
      rates[name].append(ranks * options.steps * options.batch * MODEL.length / trainings[name].seconds(options.steps))
  for name, training in trainings.items():
    same = training.is_alike()
    if rank == 0:
      print(json.dumps({"backend": name, "ranks": ranks, "tokens_per_s": rates[name], "ok": same}), flush=True)
  dist.barrier()
  os._exit(0)  # PyTorch 1.13 can wait for ever when it destroys a group of Gloo's that a model has used


if __name__ == "__main__":
  main()
