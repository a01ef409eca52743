# SPDX-License-Identifier: Apache-2.0
"""Writes a small Llama with random weights to a folder, for vLLM: tiny_model.py FOLDER. Without a tokenizer: prompts are numbers."""

import os
import sys

VOCABULARY = 512


def write(folder):
  os.environ["HF_HUB_OFFLINE"] = "1"
  import torch
  import transformers
  torch.manual_seed(1)
  config = transformers.LlamaConfig(
      vocab_size=VOCABULARY, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4,
      num_key_value_heads=2, head_dim=64, max_position_embeddings=512, bos_token_id=1, eos_token_id=2,
      initializer_range=0.2)  # large, so that tokens differ
  config.dtype = torch.bfloat16
  transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


if __name__ == "__main__":
  write(sys.argv[1])
