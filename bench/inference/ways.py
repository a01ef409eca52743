# SPDX-License-Identifier: Apache-2.0
"""Ways to carry out the calls of a vLLM worker: torch.distributed over a back end, or vLLM's operators for ranks of one host.

A way has all_reduce(tensor), gather(tensor) to rank 0, all_gather(output, input), send(dictionary, rank) and receive(rank).
"""

import os
import pickle
import sys

import torch
import torch.distributed as dist


class TorchWay:
  """torch.distributed over Gloo, called as vLLM's communicator calls it where its own operators cannot be used."""

  def __init__(self, group):
    self.group, self.rank, self.ranks = group, dist.get_rank(group), dist.get_world_size(group)

  def all_reduce(self, tensor):
    dist.all_reduce(tensor, group=self.group)
    return tensor

  def gather(self, tensor):
    parts = [torch.empty_like(tensor) for _ in range(self.ranks)] if self.rank == 0 else None
    dist.gather(tensor, parts, dst=0, group=self.group)
    return parts

  def all_gather(self, output, tensor):
    dist.all_gather_into_tensor(output, tensor, group=self.group)

  def send(self, tensors, rank):
    facts = torch.frombuffer(bytearray(pickle.dumps([(key, value.dtype, value.shape) for key, value in tensors.items()])),
                             dtype=torch.uint8)
    works = [dist.isend(tensor, rank, group=self.group) for tensor in (torch.tensor([facts.numel()]), facts, *tensors.values())]
    for work in works:
      work.wait()

  def receive(self, rank):
    size = torch.empty(1, dtype=torch.long)
    dist.recv(size, rank, group=self.group)
    facts = torch.empty(size.item(), dtype=torch.uint8)
    dist.recv(facts, rank, group=self.group)
    tensors = {key: torch.empty(shape, dtype=dtype) for key, dtype, shape in pickle.loads(facts.numpy().tobytes())}
    for work in [dist.irecv(tensor, rank, group=self.group) for tensor in tensors.values()]:
      work.wait()
    return tensors


class WeirWay(TorchWay):
  """weir's operators, called as the communicator of weir_vllm calls them."""

  def __init__(self, group):
    super().__init__(group)
    import weir_torch
    from weir_vllm import messages
    self.messages, self.number = messages, weir_torch.operator_group(group)

  def all_reduce(self, tensor):
    torch.ops.weir.all_reduce_(tensor, self.number)
    return tensor

  def gather(self, tensor):
    output = tensor.new_empty((self.ranks if self.rank == 0 else 0, *tensor.shape))
    torch.ops.weir.gather_(output, tensor, 0, self.number)
    return list(output) if self.rank == 0 else None

  def all_gather(self, output, tensor):
    torch.ops.weir.all_gather_(output, tensor, self.number)

  def send(self, tensors, rank):
    self.messages.send(tensors, rank, self.group)

  def receive(self, rank):
    return self.messages.receive(rank, self.group)


class VllmWay:
  """The operators of vLLM for ranks that share memory, called as its CpuCommunicator calls them."""

  @staticmethod
  def is_there():
    """vLLM's package has these operators for processors with AVX-512 only."""
    from vllm.platforms import current_platform
    current_platform.import_kernels()
    return hasattr(torch.ops._C, "init_shm_manager")

  def __init__(self, group, name):
    self.rank, self.ranks = dist.get_rank(group), dist.get_world_size(group)
    self.handle = self.manager(f"{name}-tp", group)
    self.pipeline = self.manager(f"{name}-pp", group)  # as in vLLM: messages do not share one with collectives

  def manager(self, name, group):
    handle = torch.ops._C.init_shm_manager(name, self.ranks, self.rank, torch.get_num_threads())
    dist.barrier(group)
    torch.ops._C.join_shm_manager(handle, name)
    dist.barrier(group)
    return handle

  def all_reduce(self, tensor):
    torch.ops._C.shm_allreduce(self.handle, tensor)
    return tensor

  def gather(self, tensor):
    parts = [torch.empty_like(tensor) for _ in range(self.ranks)] if self.rank == 0 else None
    torch.ops._C.shm_gather(self.handle, tensor, parts, 0)
    return parts

  def all_gather(self, output, tensor):
    torch.ops._C.shm_all_gather(self.handle, tensor, output)

  def send(self, tensors, rank):
    facts = torch.frombuffer(bytearray(pickle.dumps([list(tensors), [value.size() for value in tensors.values()]])),
                             dtype=torch.uint8)
    torch.ops._C.shm_send_tensor_list(self.pipeline, [*tensors.values(), facts], rank)

  def receive(self, rank):
    *values, facts = torch.ops._C.shm_recv_tensor_list(self.pipeline, rank)
    keys, sizes = pickle.loads(facts.numpy().tobytes())
    return {key: value.view(size) for key, size, value in zip(keys, sizes, values)}


def has_calls(way):
  """Whether the back end has all calls for bfloat16: Gloo lacks some of them before PyTorch 2."""
  tensor = torch.zeros(2, dtype=torch.bfloat16)
  try:
    way.all_reduce(tensor)
    way.all_gather(torch.zeros(2 * way.ranks, dtype=torch.bfloat16), tensor)
    way.gather(tensor)
  except RuntimeError as error:
    if way.rank == 0:
      sys.stderr.write(f"compare-inference: {type(way).__name__} is left out: {error}\n")
    return False
  return True


def make(names):
  """{name: way} over all ranks of the default group, which is Gloo's."""
  world = list(range(dist.get_world_size()))
  found = {}
  for name in names:
    if name == "vllm" and not VllmWay.is_there():
      if dist.get_rank() == 0:
        sys.stderr.write("compare-inference: VllmWay is left out: vLLM has no operators for shared memory on this processor\n")
    elif name == "vllm":
      found[name] = VllmWay(dist.group.WORLD, f"weir-compare-inference-{os.environ['WEIR_COMPARE_JOB']}")
    else:
      found[name] = {"weir": WeirWay, "gloo": TorchWay}[name](dist.new_group(world, backend=name))
  return {name: way for name, way in found.items() if name == "vllm" or has_calls(way)}
