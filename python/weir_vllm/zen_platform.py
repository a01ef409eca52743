# SPDX-License-Identifier: Apache-2.0
"""vLLM's platform for CPUs of AMD with zentorch, with weir between its workers."""

from vllm.platforms.zen_cpu import ZenCpuPlatform

from .platform import OverWeir


class WeirZenCpuPlatform(OverWeir, ZenCpuPlatform):
  pass
