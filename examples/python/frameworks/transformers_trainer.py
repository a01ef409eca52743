#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small Llama with random weights by the Trainer of transformers, on CPUs. It accepts a few back ends only, among them Gloo.

    WEIR_TORCH_REPLACE=gloo torchrun --nproc_per_node 2 examples/python/frameworks/transformers_trainer.py
"""

import tempfile

import torch
import torch.distributed as dist
import transformers

STEPS = 12


def main():
  transformers.set_seed(1)
  model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
      vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2))
  tokens = torch.randint(0, 256, (STEPS * 8, 33)).tolist()
  data = [{"input_ids": row, "labels": row, "attention_mask": [1] * len(row)} for row in tokens]
  with tempfile.TemporaryDirectory() as folder:
    trainer = transformers.Trainer(model=model, train_dataset=data, args=transformers.TrainingArguments(
        folder, use_cpu=True, ddp_backend="gloo", max_steps=STEPS, per_device_train_batch_size=4, learning_rate=1e-2,
        logging_steps=4, save_strategy="no", report_to=[], disable_tqdm=True, seed=1))
    trainer.train()
  if dist.get_rank() == 0:
    for line in trainer.state.log_history:
      if "loss" in line:
        print(f"step {line['step']:3d}  loss {line['loss']}")
    print(f"back end {dist.get_backend()}", flush=True)
  dist.barrier()
  dist.destroy_process_group()


if __name__ == "__main__":
  main()
