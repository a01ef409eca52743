#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains with Lightning's Trainer on CPUs, with the strategy ddp.

    torchrun --nproc_per_node 2 examples/python/frameworks/lightning_ddp.py --backend weir
    WEIR_TORCH_REPLACE=gloo torchrun --nproc_per_node 2 examples/python/frameworks/lightning_ddp.py
"""

import argparse
import logging
import os
import warnings

import lightning
import torch
import torch.distributed as dist
from lightning.pytorch.strategies import DDPStrategy
from torch import nn

STEPS = 24


class Classifier(lightning.LightningModule):
  def __init__(self):
    super().__init__()
    self.layers = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10))

  def training_step(self, batch, index):
    inputs, targets = batch
    loss = nn.functional.cross_entropy(self.layers(inputs), targets)
    self.log("loss", loss, sync_dist=True)
    mean = self.all_gather(loss.detach()).mean().item()
    if self.global_rank == 0 and index % 8 == 7:
      print(f"step {index:3d}  loss {mean:.6f}", flush=True)
    return loss

  def configure_optimizers(self):
    return torch.optim.AdamW(self.parameters(), lr=1e-2)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--backend", default="gloo")
  options = parser.parse_args()
  if options.backend == "weir":
    import weir_torch  # noqa: F401
  warnings.simplefilter("ignore")
  logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
  lightning.seed_everything(1, verbose=False)
  rows, classes = torch.randn(16 * STEPS, 64), torch.randint(0, 10, (16 * STEPS,))
  data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, classes), batch_size=8)
  trainer = lightning.Trainer(accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1, logger=False,
                              strategy=DDPStrategy(process_group_backend=options.backend), enable_checkpointing=False,
                              enable_progress_bar=False, enable_model_summary=False)
  trainer.fit(Classifier(), data)
  if trainer.is_global_zero:
    print(f"back end {dist.get_backend()}", flush=True)
  dist.barrier()
  dist.destroy_process_group()


if __name__ == "__main__":
  main()
