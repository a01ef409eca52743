#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that ask for Gloo and get weir: replace_test.py PACKAGE --ranks N."""

import datetime

import ranks as harness
from ranks import expect


def name_of(ranks, group=None):
  """Of the back end that carries out the group's operations."""
  backend = ranks.weir._backend_of(group)
  return backend.name() if hasattr(backend, "name") else type(backend).__name__


def join(ranks):
  expect("expected 'gloo'" in harness.error_of("another back end", lambda: ranks.weir.replace("nccl")), "wrong words")
  for _ in range(2):  # the second time changes nothing
    ranks.weir.replace("gloo")
  ranks.dist.init_process_group("gloo", init_method=f"file://{ranks.folder}/meeting", rank=ranks.rank,
                                world_size=ranks.size, timeout=datetime.timedelta(seconds=120))


def is_called_gloo(ranks):
  join(ranks)
  dist, torch = ranks.dist, ranks.torch
  expect(dist.get_backend() == "gloo", "the back end is called", dist.get_backend())
  expect("weir" in name_of(ranks), "the back end is", name_of(ranks))
  tensor = torch.full((5,), ranks.rank + 1.0)
  dist.all_reduce(tensor)
  expect(tensor.tolist() == [ranks.size * (ranks.size + 1) / 2] * 5, "the sum is", tensor)


def sub_groups_are_replaced(ranks):
  group = ranks.dist.new_group(backend="gloo")
  expect(ranks.dist.get_backend(group) == "gloo" and "weir" in name_of(ranks, group), "it is", name_of(ranks, group))
  ranks.dist.barrier(group)
  ranks.dist.monitored_barrier(group, timeout=datetime.timedelta(seconds=60))


def gloo_is_reachable(ranks):
  group = ranks.dist.new_group(backend="original_gloo")
  expect("weir" not in name_of(ranks, group), "the original is", name_of(ranks, group))
  tensor = ranks.torch.ones(3)
  ranks.dist.all_reduce(tensor, group=group)
  expect(tensor.tolist() == [float(ranks.size)] * 3, "its sum is", tensor)


def events_are_gloos(ranks):
  torch, dist = ranks.torch, ranks.dist
  with torch.autograd.profiler.profile() as profiler:
    dist.all_reduce(torch.ones(3))
  names = [event.name for event in profiler.function_events]
  expect(names.count("gloo:all_reduce") == 1, "events are", names)


def trains(ranks):
  torch = ranks.torch
  torch.manual_seed(0)
  model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
  model(torch.full((3, 4), float(ranks.rank))).sum().backward()
  wanted = 3 * sum(range(ranks.size)) / ranks.size
  expect(torch.allclose(model.module.weight.grad, torch.full((2, 4), wanted)), "gradients are", model.module.weight.grad)


if __name__ == "__main__":
  harness.main({check.__name__: check for check in
                (is_called_gloo, events_are_gloos, sub_groups_are_replaced, gloo_is_reachable, trains)})
