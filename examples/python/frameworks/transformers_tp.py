#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates tokens with a small Llama whose tensors are split over the processes by transformers: tp_plan="auto".

    WEIR_TORCH_REPLACE=gloo torchrun --nproc_per_node 2 examples/python/frameworks/transformers_tp.py
"""

import os
import tempfile
import time

import torch
import torch.distributed as dist
import transformers

TOKENS = 20


def main():
  with tempfile.TemporaryDirectory() as folder:  # each process writes the same model
    torch.manual_seed(1)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=256, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=4)).save_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, tp_plan="auto", device_map=None)
  prompt = torch.arange(8).reshape(1, 8)
  how = {"do_sample": False, "max_new_tokens": TOKENS, "min_new_tokens": TOKENS, "pad_token_id": 0}
  model.generate(prompt, **how)
  start = time.perf_counter()
  tokens = model.generate(prompt, **how)
  seconds = time.perf_counter() - start
  with torch.no_grad():
    logits = model(prompt).logits
  if dist.get_rank() == 0:
    print(f"tokens {tokens[0, 8:].tolist()}")
    print(f"logits {logits.double().abs().sum().item():.6f}")
    print(f"back end {dist.get_backend()}, {os.environ['WORLD_SIZE']} ranks: {TOKENS} tokens in {seconds:.3f} s", flush=True)
  dist.barrier()
  dist.destroy_process_group()


if __name__ == "__main__":
  main()
