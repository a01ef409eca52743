#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel: the loss curve of a small transformer is that of the run over Gloo on the CPU.

torch_train.py [--ranks N]
"""

import ranks as harness
import small_model

STEPS = 20


def curve(ranks, device, group):
  """The mean loss over all ranks, step by step."""
  torch, dist = ranks.torch, ranks.dist
  torch.manual_seed(7)
  model = torch.nn.parallel.DistributedDataParallel(small_model.make(torch).to(device), process_group=group,
                                                    bucket_cap_mb=0.1)
  optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
  losses = []
  for step in range(STEPS):
    tokens, following = (part.to(device) for part in small_model.batch(torch, step, ranks.rank))
    loss = small_model.loss_of(torch, model, tokens, following)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean, group=group)
    losses.append(mean.cpu() / ranks.size)
  return torch.stack(losses)


def check(ranks):
  ranks.start()
  torch = ranks.torch
  if ranks.kind == "cuda":
    torch.backends.cuda.matmul.allow_tf32 = False
  wanted = curve(ranks, torch.device("cpu"), ranks.gloo)
  got = curve(ranks, ranks.device, None)
  # Devices round differently, and training carries that on.
  harness.expect_close("the loss curve", got, wanted, 0.0 if ranks.kind == "cpu" else 5e-3)
  if not wanted[-1] < 0.8 * wanted[0]:
    raise harness.Wrong(f"nothing was learned: the loss went from {wanted[0]:g} to {wanted[-1]:g}")
  ranks.barrier()
  return f"rank {ranks.rank}: loss {got[0]:.4f} to {got[-1]:.4f} in {STEPS} steps, as over Gloo"


if __name__ == "__main__":
  harness.run(check)
