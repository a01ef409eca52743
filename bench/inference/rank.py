# SPDX-License-Identifier: Apache-2.0
"""One rank of bench/compare-inference: times the decoding loop of a tensor-parallel model over several ways, alternately.

    rank.py RANK RANKS STORE OPTIONS    (OPTIONS: JSON, the fields of Options)

All ways live in one process, so that consecutive measurements differ in the way only. Rank 0 prints a line of JSON per batch size
and way: tokens/s and the share of the time in calls, for each repetition.
"""

import dataclasses
import datetime
import json
import os
import sys
import time

import torch
import torch.distributed as dist

import ways

CALLS = 96  # all-reduces of a step: two for each of 48 layers
GATHERS = 2  # all-gathers of a step
MESSAGE_EVERY = 8  # steps between two messages
WARM_UP = 3  # steps


@dataclasses.dataclass(frozen=True)
class Options:
  ways: list
  batches: list  # sequences that are decoded at the same time: a step makes a token of each
  hidden: int  # elements of a token's state
  vocabulary: int
  weights: int  # bytes that a rank multiplies with between two calls; 0: it computes nothing
  threads: int
  repetitions: int
  budget_ms: float  # time for one repetition
  modules: list  # folders of weir_torch and weir_vllm


class Model:
  """The arithmetic between the calls: row-parallel products, on all threads of the rank, with weights that are not the last ones."""

  def __init__(self, batch, options, ranks):
    torch.manual_seed(1)
    self.state = torch.ones(batch, options.hidden, dtype=torch.bfloat16)
    self.logits = torch.ones(batch, options.vocabulary // ranks, dtype=torch.bfloat16)
    self.gathered = torch.empty(ranks * batch, options.hidden, dtype=torch.bfloat16)
    rows = options.weights // (2 * options.hidden)
    self.layers = [torch.rand(rows, options.hidden).to(torch.bfloat16) for _ in range(CALLS)] if rows else None
    self.input = torch.rand(batch, rows).to(torch.bfloat16)
    self.message = {"hidden_states": self.state, "residual": self.state.clone()}

  def partial(self, call):
    """What a layer leaves to be summed over the ranks: a new tensor, as in the model."""
    return torch.mm(self.input, self.layers[call]) if self.layers else torch.empty_like(self.state)


class Loop:
  """The steps of one rank over one way."""

  def __init__(self, way, model):
    self.way, self.model, self.steps, self.in_calls = way, model, 0, 0.0

  def timed(self, call, *arguments):
    begin = time.perf_counter()
    call(*arguments)
    self.in_calls += time.perf_counter() - begin

  def message(self):
    """From each even rank to the next one."""
    peer = self.way.rank ^ 1
    if peer < self.way.ranks:
      self.timed(*((self.way.receive, peer) if self.way.rank % 2 else (self.way.send, self.model.message, peer)))

  def step(self):
    for call in range(CALLS):
      self.timed(self.way.all_reduce, self.model.partial(call))
    for _ in range(GATHERS):
      self.timed(self.way.all_gather, self.model.gathered, self.model.state)
    self.timed(self.way.gather, self.model.logits)
    if self.steps % MESSAGE_EVERY == 0:
      self.message()
    self.steps += 1

  def run(self, steps):
    """(seconds of all ranks, the share of the calls in them, mean over the ranks).

    Before each step ranks meet, as vLLM's workers wait for what the next one computes. It does not count. Without it vLLM's operators
    hang more often: with rank 0 in the gather of a step, and the other rank in the all-reduce of the next one."""
    self.in_calls = taken = 0.0
    for _ in range(steps):
      dist.barrier()
      begin = time.perf_counter()
      self.step()
      taken += time.perf_counter() - begin
    return agreed(taken, dist.ReduceOp.MAX), agreed(self.in_calls / taken, dist.ReduceOp.SUM) / self.way.ranks


def agreed(value, operator):
  box = torch.tensor([value], dtype=torch.float64)
  dist.all_reduce(box, op=operator)
  return box.item()


def is_right(way, model):
  """Whether each call has the right result; small whole numbers have exact sums."""
  ranks, rank = way.ranks, way.rank
  pattern = lambda of: (torch.arange(model.state.numel()) % 13 + of).to(torch.bfloat16).view_as(model.state)
  right = torch.equal(way.all_reduce(pattern(rank)), sum(pattern(of) for of in range(1, ranks)) + pattern(0))
  way.all_gather(model.gathered, pattern(rank))
  right &= torch.equal(model.gathered, torch.cat([pattern(of) for of in range(ranks)]))
  parts = way.gather(pattern(rank))
  right &= rank != 0 or all(torch.equal(part, pattern(of)) for of, part in enumerate(parts))
  if rank % 2:
    received = way.receive(rank - 1)
    right &= list(received) == ["a", "b"] and all(torch.equal(value, pattern(rank - 1)) for value in received.values())
  elif rank + 1 < ranks:
    way.send({"a": pattern(rank), "b": pattern(rank)}, rank + 1)
  return agreed(0.0 if right else 1.0, dist.ReduceOp.SUM) == 0


def measure(batch, found, options, ranks):
  model = Model(batch, options, ranks)
  loops, rows = {}, {}
  for name, way in found.items():
    right = is_right(way, model)
    loops[name] = Loop(way, model)
    loops[name].run(WARM_UP)
    seconds, _ = loops[name].run(WARM_UP)
    steps = max(2, int(options.budget_ms / 1000 * WARM_UP / seconds))
    rows[name] = {"way": name, "ranks": ranks, "batch": batch, "bytes": 2 * batch * options.hidden, "steps": steps, "ok": right,
                  "tokens_per_s": [], "share": []}
  for repetition in range(options.repetitions):
    for name in list(loops)[:: 1 if repetition % 2 else -1]:
      seconds, share = loops[name].run(rows[name]["steps"])
      rows[name]["tokens_per_s"].append(batch * rows[name]["steps"] / seconds)
      rows[name]["share"].append(share)
  return rows.values()


def main():
  rank, ranks, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
  options = Options(**json.loads(sys.argv[4]))
  torch.set_num_threads(options.threads)
  sys.path[:0] = options.modules
  if "weir" in options.ways:
    import weir_torch  # noqa: F401
  dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks, timeout=datetime.timedelta(minutes=5))
  found = ways.make(options.ways)
  if rank == 0:
    with open(os.path.join(os.path.dirname(store), "ready"), "w", encoding="ascii"):
      pass
  for batch in options.batches:
    for row in measure(batch, found, options, ranks):
      if rank == 0:
        print(json.dumps(row), flush=True)
  dist.barrier()
  sys.stdout.flush()
  os._exit(0)  # vLLM's operators have no end of their own


if __name__ == "__main__":
  main()
