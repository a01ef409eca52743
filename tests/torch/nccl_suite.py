#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own back end `nccl` over weir, without a GPU: nccl_suite.py LIBRARIES [--ranks N] [check...].

LIBRARIES are those to load before PyTorch's, separated by colons: weir's libnccl.so.2, and the stand-ins of CUDA's driver and
runtimes, of which the one of PyTorch's CUDA is taken. The interpreter is that of WEIR_CUDA_TORCH_PYTHON, else this one; it
needs a PyTorch that is built for CUDA. On the stand-in there are memory and copies, but no kernels: tensors are made on the CPU
and copied.
"""

import argparse
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
PROBE = "import torch; print(torch.version.cuda or '')"


def interpreter():
  """A Python with PyTorch for CUDA, and the version of that; None, and why not."""
  python = os.environ.get("WEIR_CUDA_TORCH_PYTHON", sys.executable)
  try:
    found = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, timeout=300)
  except OSError as error:
    return None, f"{python}: {error.strerror}"
  if found.returncode != 0:
    return None, f"{python} has no PyTorch; WEIR_CUDA_TORCH_PYTHON names a Python whose PyTorch is built for CUDA"
  if not found.stdout.strip():
    return None, f"the PyTorch of {python} is built without CUDA; WEIR_CUDA_TORCH_PYTHON names another Python"
  return python, found.stdout.strip()


def launch(arguments):
  python, said = interpreter()
  if python is None:
    print(f"skipped: {said}")
    return SKIPPED
  runtime = "libcudart.so." + said.split(".", maxsplit=1)[0]
  libraries = ":".join(path for path in arguments.libraries.split(":")
                       if "libcudart" not in path or path.endswith(runtime))
  with tempfile.TemporaryDirectory() as folder:
    ranks = []
    for rank in range(arguments.ranks):
      environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(arguments.ranks), WEIR_FAKE_GPUS=str(arguments.ranks),
                         LD_PRELOAD=libraries, STORE=os.path.join(folder, "store"))
      ranks.append(subprocess.Popen([python, os.path.abspath(__file__), "--rank", arguments.libraries, *arguments.checks],
                                    env=environment))
    codes = [rank.wait() for rank in ranks]
  print(f"exit codes: {codes}")
  return 0 if not any(codes) else 1


class Ranks:
  """What a check works with."""

  def __init__(self):
    import torch
    import torch.distributed as dist
    self.torch, self.dist = torch, dist
    self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    self.device = torch.device("cuda", self.rank)

  def there(self, *values, kind="float32"):
    """A tensor of these values on this rank's GPU."""
    return self.torch.tensor(values, dtype=getattr(self.torch, kind)).to(self.device)

  def like(self, tensor, factor=1):
    return self.torch.empty(tensor.numel() * factor, dtype=tensor.dtype, device=self.device)


def same(what, tensor, *values):
  found = tensor.cpu().tolist()
  if found != list(values):
    raise AssertionError(f"{what}: {found}, expected {list(values)}")


def sums(ranks):
  dist, size = ranks.dist, ranks.size
  total = size * (size + 1) // 2
  for kind in ("float32", "float64", "int64", "int32", "bfloat16", "float16"):
    tensor = ranks.there(ranks.rank + 1, 2, kind=kind)
    dist.all_reduce(tensor)
    same(f"all_reduce of {kind}", tensor, total, 2 * size)
  tensor = ranks.there(ranks.rank + 1.0)
  dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
  same("all_reduce MAX", tensor, size)
  tensor = ranks.there(ranks.rank + 1.0)
  dist.reduce(tensor, 0)
  if ranks.rank == 0:
    same("reduce", tensor, total)
  whole = ranks.there(*[float(ranks.rank + block) for block in range(size)])
  part = ranks.torch.empty(1, device=ranks.device)
  dist.reduce_scatter_tensor(part, whole)
  same("reduce_scatter_tensor", part, sum(rank + ranks.rank for rank in range(size)))


def copies(ranks):
  dist, size, rank = ranks.dist, ranks.size, ranks.rank
  tensor = ranks.there(10 + rank, 20 + rank, kind="int32")
  dist.broadcast(tensor, 1)
  same("broadcast", tensor, 11, 21)
  mine = ranks.there(rank, -rank, kind="int64")
  all_of_them = ranks.like(mine, size)
  dist.all_gather_into_tensor(all_of_them, mine)
  same("all_gather_into_tensor", all_of_them, *[value for other in range(size) for value in (other, -other)])
  parts = [ranks.like(mine) for _ in range(size)]
  dist.all_gather(parts, mine)
  for other, part in enumerate(parts):
    same("all_gather", part, other, -other)
  sent = ranks.there(*[100 * rank + other for other in range(size)], kind="int32")
  got = ranks.like(sent)
  dist.all_to_all_single(got, sent)
  same("all_to_all_single", got, *[100 * other + rank for other in range(size)])
  parts = [ranks.like(mine) for _ in range(size)] if rank == 0 else None
  dist.gather(mine, parts, dst=0)
  if rank == 0:
    for other, part in enumerate(parts):
      same("gather", part, other, -other)
  one = ranks.like(mine)
  dist.scatter(one, [ranks.there(other, 7, kind="int64") for other in range(size)] if rank == 0 else None, src=0)
  same("scatter", one, rank, 7)


def messages(ranks):
  dist, size, rank = ranks.dist, ranks.size, ranks.rank
  right, left = (rank + 1) % size, (rank - 1) % size
  sent = ranks.there(rank + 0.5)
  got = ranks.like(sent)
  works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, right), dist.P2POp(dist.irecv, got, left)])
  for work in works:
    work.wait()
  same("batch_isend_irecv", got, left + 0.5)
  if rank == 0:
    dist.send(sent, 1)
  elif rank == 1:
    dist.recv(got, 0)
    same("recv", got, 0.5)


def large(ranks):
  count = 3 << 20
  tensor = ranks.torch.ones(count).to(ranks.device)
  works = [ranks.dist.all_reduce(tensor, async_op=True) for _ in range(3)]
  for work in works:
    work.wait()
  ranks.torch.cuda.synchronize()
  here = tensor.cpu()
  if not bool((here == float(ranks.size**3)).all()):
    raise AssertionError(f"three sums of {count} ones: {here[:4].tolist()}")


def splits(ranks):
  dist = ranks.dist
  groups = [dist.new_group([rank]) for rank in range(ranks.size)] + [dist.new_group(list(range(ranks.size)))]
  tensor = ranks.there(ranks.rank + 1.0)
  dist.all_reduce(tensor, group=groups[ranks.rank])
  same("all_reduce of one rank", tensor, ranks.rank + 1)
  dist.all_reduce(tensor, group=groups[-1])
  same("all_reduce of a further group", tensor, ranks.size * (ranks.size + 1) / 2)
  if hasattr(dist, "split_group"):
    child = dist.split_group(split_ranks=[list(range(ranks.size))])
    tensor = ranks.there(1.0)
    dist.all_reduce(tensor, group=child)
    same("all_reduce of a split", tensor, ranks.size)


def can_capture(torch):
  """Whether PyTorch begins a graph without what the stand-in refuses, such as kernels; 2.10 does not."""
  with torch.cuda.stream(torch.cuda.Stream()):
    graph = torch.cuda.CUDAGraph()
    try:
      graph.capture_begin()
    except RuntimeError as error:
      if "not supported" not in str(error):
        raise
      return False
    graph.capture_end()
  return True


def graphs(ranks):
  torch, dist = ranks.torch, ranks.dist
  if not can_capture(torch):
    print(f"rank {ranks.rank}: graphs: skipped, the stand-in cannot begin one for PyTorch {torch.__version__}")
    return
  tensor = ranks.there(1.0)
  dist.all_reduce(tensor)
  stream = torch.cuda.Stream()
  graph = torch.cuda.CUDAGraph()
  with torch.cuda.graph(graph, stream=stream):
    dist.all_reduce(tensor)
  for _ in range(2):
    graph.replay()
  torch.cuda.synchronize()
  same("a graph of all_reduce, replayed twice", tensor, ranks.size**3)


CHECKS = {check.__name__: check for check in (sums, copies, messages, large, splits, graphs)}


def be_rank(names):
  ranks = Ranks()
  torch, dist = ranks.torch, ranks.dist
  torch.cuda.set_device(ranks.device)
  dist.init_process_group("nccl", init_method=f"file://{os.environ['STORE']}", rank=ranks.rank, world_size=ranks.size,
                          device_id=ranks.device)
  for name in names or CHECKS:
    CHECKS[name](ranks)
    print(f"rank {ranks.rank}: {name}: right", flush=True)
  other = dist.new_group(list(range(ranks.size)))
  dist.all_reduce(ranks.there(1.0), group=other)
  torch.cuda.synchronize()
  other_backend = other._get_backend(ranks.device)
  other_backend.abort()
  dist.destroy_process_group()
  print(f"rank {ranks.rank}: abort and destroy: done", flush=True)
  return 0


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("libraries")
  parser.add_argument("checks", nargs="*")
  parser.add_argument("--ranks", type=int, default=2)
  parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
  arguments = parser.parse_args()
  return be_rank(arguments.checks) if arguments.rank else launch(arguments)


if __name__ == "__main__":
  sys.exit(main())
