# SPDX-License-Identifier: Apache-2.0
"""Prints what the build needs to know about this Python's PyTorch, separated by semicolons: version, folder, suffix of
extensions, folder of Python.h, definitions for the compiler. Without PyTorch, fails with the reason in the last line."""

import os
import sysconfig

import torch

facts = [torch.__version__, os.path.dirname(torch.__file__), sysconfig.get_config_var("EXT_SUFFIX"),
         sysconfig.get_path("include"), f"_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
# pybind11's ABI, which must match for classes to be shared with PyTorch.
for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
  value = getattr(torch._C, f"_PYBIND11_{name}", None)
  if value is not None:
    facts.append(f'PYBIND11_{name}="{value}"')
print(";".join(facts))
