# SPDX-License-Identifier: Apache-2.0
"""weir as a process group of torchft, whose Manager forms the group anew when replicas leave or join.

    from weir_torch.torchft import ProcessGroupWeir

    manager = torchft.Manager(pg=ProcessGroupWeir(timeout=datetime.timedelta(seconds=30)), ...)

torchft.ProcessGroupGloo makes its groups of Gloo's class itself, so that weir_torch.replace("gloo") does not reach them.
"""

import torch
import torch.distributed as dist
from torchft.process_group import ProcessGroupWrapper

from . import _C

__all__ = ["ProcessGroupWeir"]


class ProcessGroupWeir(ProcessGroupWrapper):
  """A group for tensors of the CPU that configure() makes anew. One thread at a time may call its methods.

  configure() returns when all its ranks have connected, and raises RuntimeError if one is missing after `timeout`. A rank that
  dies or leaves ends the operations of the others with an error.
  """

  def _create_pg(self, store, rank, world_size):
    custom = dist.ProcessGroup.BackendType.CUSTOM
    group = dist.ProcessGroup(store, rank, world_size)
    group._set_default_backend(custom)
    backend = _C.create(store, rank, world_size, self._timeout, "weir", False)
    group._register_backend(torch.device("cpu"), custom, backend)
    group.barrier().wait()  # a rank that is missing is known here, and not in the first operation
    return group

  def shutdown(self):
    """Leaves the group: the others' operations end with an error."""
    if self._pg is not None:
      self._pg.abort()
    super().shutdown()

  def getBackendName(self):
    return "torchft-weir"
