# SPDX-License-Identifier: Apache-2.0
"""vLLM's CPU platform with weir between its workers."""

import weir_torch  # noqa: F401, registers the back end before vLLM makes its first group
from vllm.platforms.cpu import CpuPlatform


class OverWeir:
  """What a CPU platform of vLLM says differently."""

  dist_backend = "weir"

  @classmethod
  def get_device_communicator_cls(cls):
    return "weir_vllm.communicator.WeirCommunicator"


class WeirCpuPlatform(OverWeir, CpuPlatform):
  pass
