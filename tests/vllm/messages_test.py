#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of tensors between ranks, without vLLM: messages_test.py PACKAGE --ranks N [check...]; needs PyTorch."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "torch")]
import ranks as harness  # noqa: E402
from ranks import expect, expect_same  # noqa: E402


def values_of(torch, rank, round_):
  return {"hidden_states": torch.arange(6.0).view(2, 3).to(torch.bfloat16) + rank, "residual": torch.full((3, 2), rank + 1.0).t(),
          "none": torch.empty(0, 4), "numbers": [rank, round_], "long": "x" * (round_ * 5000)}


def messages(ranks):
  """From each rank to the next one, in a ring; in the last rounds the head is too short."""
  sys.path.append(os.path.join(sys.argv[1], "..", "python_vllm"))
  from weir_vllm import messages as tested
  for round_ in range(3):
    after, before = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
    own = values_of(ranks.torch, ranks.rank, round_)
    send = lambda: tested.send(own, after, ranks.dist.group.WORLD)
    if ranks.rank == 0:
      send()
    found = tested.receive(before, ranks.dist.group.WORLD)
    if ranks.rank != 0:
      send()
    wanted = values_of(ranks.torch, before, round_)
    expect(list(found) == list(wanted), "the keys are", list(found))
    for key, value in wanted.items():
      if isinstance(value, ranks.torch.Tensor):
        expect_same(key, found[key], value)
      else:
        expect(found[key] == value, key, "is", found[key])


if __name__ == "__main__":
  harness.main({"messages": harness.started(messages)})
