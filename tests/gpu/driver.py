#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which driver the programs load, and whether it is new enough: driver.py cuda|hip 0|1.

1: the stand-in is expected, 0: a real one. Prints a sentence with its file, its version and its first GPU; the exit code is
1 if there is none, if it is not the expected one, or if it is too old (docs/gpu.md, Required driver versions).
"""

import ctypes
import os
import sys

NAME_BYTES = 256


class Wrong(Exception):
  """There is no driver that fits."""


def loaded_file(names):
  """(library, its file) of the first name that can be loaded."""
  for name in names:
    try:
      library = ctypes.CDLL(name)
    except OSError:
      continue
    with open("/proc/self/maps", encoding="utf-8") as maps:
      return library, next(line.split(maxsplit=5)[5].strip() for line in maps if f"/{name.split('.so')[0]}.so" in line)
  raise Wrong(f"{' and '.join(names)} cannot be loaded: the driver is not installed, or its folder is not searched")


def call(library, name, *arguments):
  code = getattr(library, name)(*arguments)
  if code != 0:
    raise Wrong(f"{name} failed with error {code}")


def cuda():
  library, file = loaded_file(["libcuda.so.1"])
  number, text = ctypes.c_int(), ctypes.create_string_buffer(NAME_BYTES)
  call(library, "cuDriverGetVersion", ctypes.byref(number))
  version = number.value // 1000, number.value % 1000 // 10
  if version < (11, 7):
    raise Wrong(f"the driver {file} is for CUDA {version[0]}.{version[1]}; expected 11.7 (driver 515) or newer")
  call(library, "cuInit", 0)
  call(library, "cuDeviceGetCount", ctypes.byref(number))
  count = number.value
  call(library, "cuDeviceGetName", text, NAME_BYTES, 0)
  return file, version, count, text.value.decode()


def hip():
  library, file = loaded_file(["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"])
  number, text = ctypes.c_int(), ctypes.create_string_buffer(NAME_BYTES)
  call(library, "hipDriverGetVersion", ctypes.byref(number))
  version = number.value // 10_000_000, number.value // 100_000 % 100
  if version < (5, 3):
    raise Wrong(f"the driver {file} is of ROCm {version[0]}.{version[1]}; expected 5.3 or newer")
  call(library, "hipGetDeviceCount", ctypes.byref(number))
  count = number.value
  call(library, "hipDeviceGetName", text, NAME_BYTES, 0)
  return file, version, count, text.value.decode()


def main(vendor, fake):
  file, version, count, name = cuda() if vendor == "cuda" else hip()
  if os.path.basename(os.path.dirname(file)).startswith("fake_") != fake:
    raise Wrong(f"{file} was loaded; expected {'the stand-in' if fake else 'a real driver'}")
  print(f"{file}, version {version[0]}.{version[1]}, {count} GPU{'' if count == 1 else 's'}, the first one: {name}")


if __name__ == "__main__":
  try:
    main(sys.argv[1], sys.argv[2] == "1")
  except Wrong as why:
    sys.exit(str(why))
