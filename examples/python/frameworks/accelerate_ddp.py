#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains with Accelerate on CPUs. Accelerate accepts no back end of its users' choice there: it asks for Gloo.

    WEIR_TORCH_REPLACE=gloo torchrun --nproc_per_node 2 examples/python/frameworks/accelerate_ddp.py
"""

import accelerate
import torch
import torch.distributed as dist
from torch import nn

STEPS = 24


def main():
  accelerator = accelerate.Accelerator(cpu=True)
  torch.manual_seed(1)
  model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10))
  rows, classes = torch.randn(16 * STEPS, 64), torch.randint(0, 10, (16 * STEPS,))
  data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, classes), batch_size=8)
  model, optimizer, data = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-2), data)
  for step, (inputs, targets) in enumerate(data):
    loss = nn.functional.cross_entropy(model(inputs), targets)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    mean = accelerator.reduce(loss.detach(), "mean").item()
    if accelerator.is_main_process and step % 8 == 7:
      print(f"step {step:3d}  loss {mean:.6f}", flush=True)
  gathered = accelerator.gather(torch.tensor([float(accelerator.process_index)])).tolist()
  accelerator.print(f"back end {dist.get_backend()}, ranks {gathered}")
  accelerator.wait_for_everyone()
  dist.destroy_process_group()


if __name__ == "__main__":
  main()
