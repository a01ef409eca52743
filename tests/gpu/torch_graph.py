#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.graph captures collectives, and each replay carries them out again: torch_graph.py [--ranks N]."""

import ranks as harness


def check(ranks):
  ranks.only_with_a_gpu("torch.cuda.graph")
  ranks.start()
  torch, dist = ranks.torch, ranks.dist
  reduced = torch.zeros(1 << 16, device=ranks.device)
  gathered = torch.zeros(ranks.size << 10, device=ranks.device)
  part = torch.zeros(1 << 10, device=ranks.device)
  dist.all_reduce(reduced)  # what is set up at the first call is set up before the capture
  dist.all_gather_into_tensor(gathered, part)
  torch.cuda.synchronize()
  graph = torch.cuda.CUDAGraph()
  with torch.cuda.graph(graph, capture_error_mode="thread_local"):
    doubled = reduced * 2
    dist.all_reduce(doubled)
    part.copy_(doubled[:1 << 10] + ranks.rank)
    dist.all_gather_into_tensor(gathered, part)
  for turn in range(1, 6):
    reduced.fill_(turn * (ranks.rank + 1))
    graph.replay()
    torch.cuda.synchronize()
    total = 2 * turn * sum(range(1, ranks.size + 1))
    harness.expect_close(f"the all-reduce of replay {turn}", doubled, torch.full((1 << 16,), float(total)))
    wanted = torch.cat([torch.full((1 << 10,), float(total + rank)) for rank in range(ranks.size)])
    harness.expect_close(f"the all-gather of replay {turn}", gathered, wanted)
  ranks.barrier()
  return f"rank {ranks.rank}: 5 replays of a graph with two collectives are right"


if __name__ == "__main__":
  harness.run(check)
