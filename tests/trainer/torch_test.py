#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The trainer's gradients are PyTorch's: torch_test.py PROGRAM, which prints a first step as JSON (first_step.cc).

Ends with 77 (skipped) where PyTorch is not installed (Debian's python3-torch).
"""

import json
import math
import os
import subprocess
import sys

SKIPPED = 77
DEBIANS = "/usr/bin/python3"
TOLERANCE = 1e-5


def block(torch, x, heads, parameter):
  """One block of GPT-2, x of [sequences, length, width]."""
  functional = torch.nn.functional
  sequences, length, width = x.shape

  def norm(name, values):
    return functional.layer_norm(values, (width,), parameter(name + ".gain")[0], parameter(name + ".bias")[0])

  def layer(name, values):
    weights = parameter(name + ".weight")
    if name in ("attention", "widen"):  # of which rows are outputs
      weights = weights.T
    return values @ weights + parameter(name + ".bias")

  def by_head(values):
    return values.reshape(sequences, length, heads, width // heads).transpose(1, 2)

  queries, keys, values = map(by_head, layer("attention", norm("norm1", x)).split(width, dim=2))
  scores = queries @ keys.transpose(2, 3) / math.sqrt(width // heads)
  hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
  mixed = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=3) @ values
  x = x + layer("mix", mixed.transpose(1, 2).reshape(sequences, length, width))
  widened = layer("widen", norm("norm2", x))
  gelu = 0.5 * widened * (1 + torch.tanh(math.sqrt(2 / math.pi) * (widened + 0.044715 * widened**3)))
  return x + layer("narrow", gelu)


def rms_norm(torch, x, gain, epsilon):
  return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * gain


def turned(torch, heads, base):
  """Rotary position embedding in Llama's form, heads of [sequences, heads, length, size]."""
  length, size = heads.shape[2:]
  angles = torch.arange(length, dtype=torch.float64)[:, None] * base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
  low, high = heads.split(size // 2, dim=3)
  return torch.cat((low * angles.cos() - high * angles.sin(), high * angles.cos() + low * angles.sin()), dim=3)


def llama_block(torch, x, step, parameter):
  """One block of Llama, x of [sequences, length, width]."""
  sequences, length, width = x.shape
  size = width // step["heads"]

  def by_head(name, values, heads):
    return (values @ parameter(name + ".weight").T).reshape(sequences, length, heads, size).transpose(1, 2)

  normal = rms_norm(torch, x, parameter("norm1.gain")[0], step["epsilon"])
  group = step["heads"] // step["key_value_heads"]
  queries = turned(torch, by_head("query", normal, step["heads"]), step["rotary_base"])
  keys = turned(torch, by_head("key", normal, step["key_value_heads"]), step["rotary_base"]).repeat_interleave(group, dim=1)
  values = by_head("value", normal, step["key_value_heads"]).repeat_interleave(group, dim=1)
  hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
  scores = (queries @ keys.transpose(2, 3) / math.sqrt(size)).masked_fill(hidden, -math.inf)
  mixed = (torch.softmax(scores, dim=3) @ values).transpose(1, 2).reshape(sequences, length, width)
  x = x + mixed @ parameter("mix.weight")
  normal = rms_norm(torch, x, parameter("norm2.gain")[0], step["epsilon"])
  gate = torch.nn.functional.silu(normal @ parameter("gate.weight").T)
  return x + (gate * (normal @ parameter("up.weight").T)) @ parameter("down.weight")


def mean_loss(torch, step, tensors):
  functional = torch.nn.functional
  sequences = torch.tensor(step["sequences"])
  tokens, targets = sequences[:, :-1], sequences[:, 1:]
  x = tensors["embedding.tokens"][tokens]
  if not step["is_llama"]:
    x = x + tensors["embedding.positions"]
  for layer in range(step["layers"]):
    of_layer = lambda name, layer=layer: tensors[f"block{layer}.{name}"]
    x = llama_block(torch, x, step, of_layer) if step["is_llama"] else block(torch, x, step["heads"], of_layer)
  if step["is_llama"]:
    normal = rms_norm(torch, x, tensors["head.norm.gain"][0], step["epsilon"])
  else:
    normal = functional.layer_norm(x, x.shape[2:], tensors["head.norm.gain"][0], tensors["head.norm.bias"][0])
  logits = normal @ tensors["head.weight"]
  return functional.cross_entropy(logits.reshape(-1, logits.shape[2]), targets.reshape(-1))


def compare(torch, *form):
  step = json.loads(subprocess.run([sys.argv[1], *form], check=True, capture_output=True, text=True).stdout)
  tensors = {name: torch.tensor(tensor["values"], dtype=torch.float64).reshape(tensor["shape"]).requires_grad_()
             for name, tensor in step["tensors"].items()}
  loss = mean_loss(torch, step, tensors)
  loss.backward()
  wrong = [] if abs(loss.item() - step["loss"]) < TOLERANCE else [f"loss {step['loss']}, PyTorch's {loss.item()}"]
  for name, tensor in step["tensors"].items():
    own = torch.tensor(tensor["gradients"], dtype=torch.float64).reshape(tensor["shape"])
    difference = (own - tensors[name].grad).abs().max().item()
    if not difference < TOLERANCE * max(1.0, tensors[name].grad.abs().max().item()):
      wrong.append(f"{name}: the gradients differ by {difference}")
  print("\n".join(wrong) if wrong else f"{len(tensors)} gradients are PyTorch's")
  return not wrong


def main():
  try:
    import torch
  except ImportError:
    if sys.executable != DEBIANS and os.access(DEBIANS, os.X_OK):  # its package is for its own interpreter
      os.execv(DEBIANS, [DEBIANS, *sys.argv])
    print("PyTorch is not installed (python3-torch): nothing to compare the gradients with")
    return SKIPPED
  return 0 if all([compare(torch), compare(torch, "llama")]) else 1


if __name__ == "__main__":
  sys.exit(main())
