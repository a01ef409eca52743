#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The headers of the device interface compile: device_headers_test.py SOURCE_FOLDER C_COMPILER CXX_COMPILER [NVCC]

Each of them alone, as C11 where it is for C, as C++14 and C++20; and kernels (device_kernels.cu) with nvcc. Ends with 77
(skipped) where there is no nvcc, and nothing else is wrong.
"""

import os
import subprocess
import sys
import tempfile

SKIPPED = 77
FOR_C = {"host.h", "teams.h", "absent.h"}


def compiles(command, text):
  """What the compiler says; empty: nothing."""
  done = subprocess.run([*command, "-"], input=text, capture_output=True, text=True, check=False)
  return "" if done.returncode == 0 else f"{' '.join(command)}\n{text}{done.stderr}"


def main():
  source, c_compiler, cxx_compiler = sys.argv[1:4]
  nvcc = sys.argv[4] if len(sys.argv) > 4 else ""
  include = os.path.join(source, "include")
  flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-DWEIR_NO_CUDA", "-I", include]
  wrong = []
  headers = ["nccl_device.h", *(f"nccl_device/{name}" for name in sorted(os.listdir(os.path.join(include, "nccl_device"))))]
  for header in headers:
    text = f"#include <{header}>\n"
    if header == "nccl_device.h" or os.path.basename(header) in FOR_C:
      wrong.append(compiles([c_compiler, "-std=c11", "-Wno-unused-function", *flags, "-x", "c"], text))
    for standard in ("c++14", "c++20"):
      wrong.append(compiles([cxx_compiler, f"-std={standard}", *flags, "-x", "c++"], text))
  if nvcc and not nvcc.endswith("NOTFOUND"):
    kernels = os.path.join(source, "tests/api/device_kernels.cu")
    for architecture, standard in (("sm_75", "c++17"), ("sm_90", "c++20")):
      with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, f"-std={standard}", f"-arch={architecture}", "-I", include, "-c", kernels, "-o", os.path.join(folder, "out.o")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wrong.append("" if done.returncode == 0 else f"{' '.join(command)}\n{done.stderr}")
  wrong = [sentence for sentence in wrong if sentence]
  print("\n".join(wrong))
  if wrong:
    return 1
  if not nvcc or nvcc.endswith("NOTFOUND"):
    print("skipped: no nvcc on this machine; the headers compile for the host")
    return SKIPPED
  return 0


if __name__ == "__main__":
  sys.exit(main())
