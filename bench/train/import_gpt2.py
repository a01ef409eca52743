#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GPT-2 of 124M with random parameters in weir-train and in PyTorch: import_gpt2.py WEIR_TRAIN PRINT_LOGITS.

Needs torch and transformers. Saves the model as transformers does, compares logits, and trains three steps on both sides
from the same parameters, on the same tokens, with the same AdamW; prints the losses.
"""

import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

MASK = 0xFFFFFFFF
SEED = 1
STEPS = 3
SAMPLES = 2  # purpose of random numbers (philox.h)


def philox(counter, key):
  """Philox4x32-10 (Salmon et al., 2011)."""
  for _ in range(10):
    first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
    counter = [second >> 32 ^ counter[1] ^ key[0], second & MASK, first >> 32 ^ counter[3] ^ key[1], first & MASK]
    key = [key[0] + 0x9E3779B9 & MASK, key[1] + 0xBB67AE85 & MASK]
  return counter


def sequences(tokens, batch, length, step):
  """Those of weir-train's batch (samples.cc): the last tenth of the tokens is held out."""
  size = len(tokens) - len(tokens) // 10
  parts = []
  for number in range(batch):
    block = philox([step, 0, number, SAMPLES], [SEED, 0])
    begin = (block[0] << 32 | block[1]) % (size - length)
    parts.append(tokens[begin:begin + length + 1])
  return parts


def write_shard(path, tokens):
  """A file of tokens in the form of llm.c."""
  with open(path, "wb") as file:
    file.write(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253))
    file.write(struct.pack(f"<{len(tokens)}H", *tokens))


def weir_steps(program, folder, data, batch, options):
  """(loss, learning rate) of each step."""
  metrics = os.path.join(folder, "metrics.jsonl")
  command = [program, "--import", os.path.join(folder, "model"), "--data", data, "--batch", f"{batch}", "--steps", f"{STEPS}", "--warm-up", "1",
             "--untied", "--learning-rate", "0.0006", "--clip", "0", "--seed", f"{SEED}", "--sample", "0", "--evaluate-every", "0", "--evaluation-sequences",
             "1", "--metrics", metrics, *options]
  run = subprocess.run(command, capture_output=True, text=True, check=False)
  if run.returncode != 0:
    sys.exit(run.stdout + run.stderr)
  with open(metrics, encoding="utf-8") as file:
    lines = [json.loads(line) for line in file]
  return [(line["loss"], line["learning_rate"]) for line in lines if "loss" in line]


def torch_steps(torch, model, tokens, batch, rates):
  """The output layer has a copy of the embedding, which is trained by itself, as weir-train does."""
  model.config.tie_word_embeddings = False
  model.lm_head.weight = torch.nn.Parameter(model.transformer.wte.weight.detach().clone())
  model.train()
  matrices = [values for values in model.parameters() if values.dim() > 1]
  vectors = [values for values in model.parameters() if values.dim() == 1]
  adamw = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}], betas=(0.9, 0.95), eps=1e-8)
  losses = []
  for step, rate in enumerate(rates):
    for group in adamw.param_groups:
      group["lr"] = rate
    parts = torch.tensor(sequences(tokens, batch, model.config.n_positions, step))
    logits = model(parts[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), parts[:, 1:].reshape(-1))
    adamw.zero_grad()
    loss.backward()
    adamw.step()
    losses.append(loss.item())
  return losses


def logits_off(torch, print_logits, folder, model):
  text = b"And God said, Let there be light"
  printed = subprocess.run([print_logits, os.path.join(folder, "model")], input=text, capture_output=True, check=True).stdout
  own = torch.tensor(json.loads(printed)).reshape(len(text), model.config.vocab_size)
  with torch.no_grad():
    theirs = model(torch.tensor([list(text)])).logits[0]
  return (own - theirs).abs().max().item(), theirs.abs().max().item()


def compare(program, print_logits, config, batch, options=()):
  """Prints both sides; returns the largest difference of losses."""
  import torch
  import transformers
  torch.manual_seed(SEED)
  model = transformers.GPT2LMHeadModel(config).eval()
  with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(os.path.join(folder, "model"))
    off, largest = logits_off(torch, print_logits, folder, model)
    print(f"{model.num_parameters() / 1e6:.1f} M parameters: logits differ by at most {off:.1e}, of at most {largest:.2f}")
    chosen = random.Random(SEED)
    tokens = [chosen.randrange(config.vocab_size) for _ in range(20 * config.n_positions)]
    data = os.path.join(folder, "tokens.bin")
    write_shard(data, tokens)
    own = weir_steps(program, folder, data, batch, options)
    theirs = torch_steps(torch, model, tokens, batch, [rate for _, rate in own])
  for step, ((loss, rate), other) in enumerate(zip(own, theirs), 1):
    print(f"step {step}: loss {loss:.6f}, PyTorch {other:.6f}, differ by {abs(loss - other):.1e}; learning rate {rate:.2e}")
  return max(abs(loss - other) for (loss, _), other in zip(own, theirs))


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("program")
  parser.add_argument("print_logits")
  parser.add_argument("--batch", type=int, default=1)
  arguments, options = parser.parse_known_args()
  import transformers
  config = transformers.GPT2Config(attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
  compare(arguments.program, arguments.print_logits, config, arguments.batch, options)


if __name__ == "__main__":
  main()
