# SPDX-License-Identifier: Apache-2.0
"""The communicator of a group of vLLM's CPU workers: tensor parallelism, pipelines, experts."""

import torch
import weir_torch
from vllm.distributed.device_communicators.base_device_communicator import DeviceCommunicatorBase
from vllm.distributed.device_communicators.cpu_communicator import CpuCommunicator

from . import messages


class WeirCommunicator(CpuCommunicator):
  """vLLM's communicator, with weir's operators in the place of those for shared memory, on one host or several.

  The operators are torch.ops.weir, which torch.compile passes over; what is not here goes through torch.distributed, whose back end
  is weir, too.
  """

  supports_tensor_dict = True  # vLLM calls send_tensor_dict and recv_tensor_dict

  def __init__(self, cpu_group, device=None, device_group=None, unique_name="", use_all2all=False):
    # Not CpuCommunicator's, which would look for memory that all ranks share.
    DeviceCommunicatorBase.__init__(self, cpu_group, device, device_group, unique_name, use_all2all=use_all2all)
    self.dist_module = torch.distributed
    self.number = weir_torch.operator_group(device_group)
    if self.use_all2all:
      from vllm.distributed.device_communicators.all2all import AgRsAll2AllManager
      self.all2all_manager = AgRsAll2AllManager(self.cpu_group)

  def all_reduce(self, input_):
    torch.ops.weir.all_reduce_(input_, self.number)
    return input_

  def all_gather(self, input_, dim=-1):
    dim = dim % input_.dim()
    output = input_.new_empty((self.world_size, *input_.shape))
    torch.ops.weir.all_gather_(output, input_.contiguous(), self.number)
    return output.movedim(0, dim).flatten(dim, dim + 1)

  def gather(self, input_, dst=0, dim=-1):
    dim = dim % input_.dim()
    root = self.rank_in_group == dst
    output = input_.new_empty((self.world_size if root else 0, *input_.shape))
    torch.ops.weir.gather_(output, input_.contiguous(), dst, self.number)
    return output.movedim(0, dim).flatten(dim, dim + 1) if root else None

  def send_tensor_dict(self, tensor_dict, dst):
    messages.send(tensor_dict, self.ranks[dst], self.device_group)

  def recv_tensor_dict(self, src):
    return messages.receive(self.ranks[src], self.device_group)
