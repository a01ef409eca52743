#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains with DeepSpeed's ZeRO on CPUs.

    DS_ACCELERATOR=cpu torchrun --nproc_per_node 2 examples/python/frameworks/deepspeed_zero.py --backend weir --stage 3
    WEIR_TORCH_REPLACE=gloo DS_ACCELERATOR=cpu torchrun --nproc_per_node 2 examples/python/frameworks/deepspeed_zero.py
"""

import argparse
import logging
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

STEPS = 24


class Classifier(nn.Module):
  def __init__(self):
    super().__init__()
    self.layers = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10))

  def forward(self, inputs, targets):
    return nn.functional.cross_entropy(self.layers(inputs), targets)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--backend", default="gloo")
  parser.add_argument("--stage", type=int, default=2, help="of ZeRO: 1 to 3")
  parser.add_argument("--local_rank", help=argparse.SUPPRESS)
  options = parser.parse_args()
  if options.backend == "weir":
    import weir_torch  # noqa: F401
  deepspeed.utils.logger.setLevel(logging.ERROR)
  deepspeed.init_distributed(dist_backend=options.backend, verbose=False)
  torch.manual_seed(1)
  model = Classifier()
  engine, _, _, _ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-2), config={
      "train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": options.stage}, "zero_allow_untested_optimizer": True})
  torch.manual_seed(100 + dist.get_rank())
  for step in range(STEPS):
    loss = engine(torch.randn(8, 64), torch.randint(0, 10, (8,)))
    engine.backward(loss)
    engine.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if dist.get_rank() == 0 and step % 8 == 7:
      print(f"step {step:3d}  loss {mean.item() / dist.get_world_size():.6f}", flush=True)
  if dist.get_rank() == 0:
    print(f"back end {dist.get_backend()}, ZeRO stage {options.stage}", flush=True)
  dist.barrier()
  dist.destroy_process_group()


if __name__ == "__main__":
  main()
