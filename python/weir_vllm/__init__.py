# SPDX-License-Identifier: Apache-2.0
"""vLLM's CPU workers over weir: `pip install` of the package is all that is needed.

vLLM finds the platform plug-in by its entry point (vllm.platform_plugins) in all of its processes. VLLM_PLUGINS= (empty) leaves it
out. What is not communication stays vLLM's own.
"""

__all__ = ["platform_plugin"]

_CPU_PLATFORMS = {"vllm.platforms.cpu.CpuPlatform": "weir_vllm.platform.WeirCpuPlatform",
                  "vllm.platforms.zen_cpu.ZenCpuPlatform": "weir_vllm.zen_platform.WeirZenCpuPlatform"}


def platform_plugin():
  """The name of weir's platform where vLLM would take its own CPU platform; None where it would take another one."""
  from vllm.platforms import cpu_platform_plugin  # not earlier: vLLM looks for plug-ins while it is imported
  return _CPU_PLATFORMS.get(cpu_platform_plugin())
