#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clang made of the kernels for AMD's GPUs, from its assembly: hip_code.py gfx90a.s...

Of each kernel: registers of a thread, spilled ones (none may go to memory), bytes of code, accesses, releases and acquires at
system scope (hip_order.py). Prints a table; ends with 1 where a budget is exceeded or an order is missing, and with 77 where there
is no code because there was no compiler.
"""

import os
import re
import sys

import hip_order

KERNELS = ("weir_lanes_bandwidth", "weir_lanes_packet", "weir_transfer", "weir_pairs")
# 256 threads are four waves, one on each SIMD unit: of 256 registers.
REGISTERS = 256
CODE_BYTES = 64 * 1024


def read(path):
  """{kernel: {note: value}}, {kernel: bytes of code} and {kernel: assembly} of one architecture."""
  with open(path, encoding="utf-8") as file:
    text = file.read()
  notes = {}
  for part in re.split(r"\n\s*-\s+\.agpr_count:|\n\s*-\s+\.args:", text)[1:]:
    values = dict(re.findall(r"\.(\w+):\s+(\S+)", part))
    notes[values.get("name")] = values
  sizes = dict(re.findall(r"\.amdhsa_kernel (\w+)\n.*?codeLenInByte = (\d+)", text, re.S))
  return notes, sizes, hip_order.bodies(text)


def check(path):
  """(row, complaints) of each kernel in a file."""
  notes, sizes, bodies = read(path)
  name, _ = os.path.splitext(os.path.basename(path))
  if not notes:
    yield "", [f"{name}: the compiler failed, see {path[:-2]}.o.log"]
    return
  for kernel in KERNELS:
    if kernel not in notes or kernel not in bodies:
      yield "", [f"{name}: no notes on {kernel}"]
      continue
    note = {key: int(value) for key, value in notes[kernel].items() if value.isdigit()}
    registers, spilled = note["vgpr_count"], note["vgpr_spill_count"]
    memory, code = note["private_segment_fixed_size"], int(sizes[kernel])
    complaints, order = [], ""
    if registers > REGISTERS:
      complaints.append(f"{registers} vector registers; at most {REGISTERS}")
    if spilled > 0 or memory > 0:
      complaints.append(f"{spilled} vector registers spilled, {memory} bytes of memory per thread; none may")
    if code > CODE_BYTES:
      complaints.append(f"{code} bytes of code; at most {CODE_BYTES}")
    if name in hip_order.SYSTEM:
      wrong, *counts = hip_order.complaints(name, kernel, bodies[kernel])
      complaints += wrong
      order = "".join(f" {count:8}" for count in counts)
    yield (f"{name:7} {kernel:22} {registers:9} {note['sgpr_count']:7} {spilled:6} {memory:6} {code:7}{order}",
           [f"{name}: {kernel}: {complaint}" for complaint in complaints])


def main():
  paths = sys.argv[1:]
  if not paths:
    print("no code for AMD's GPUs was built: clang 19 is not installed (cmake/packages.sh gpu), or this is a build with sanitizers")
    return 77
  missing = [path for path in paths if not os.path.exists(path)]
  if missing:
    print(f"{missing[0]} is not built: build the target weir_hip")
    return 1
  print(f"{'code':7} {'kernel':22} {'registers':>9} {'scalar':>7} {'spills':>6} {'memory':>6} {'bytes':>7} {'system':>8} "
        f"{'releases':>8} {'acquires':>8}")
  bad = []
  for path in paths:
    for row, complaints in check(path):
      print(row)
      bad += complaints
  print("\n".join(bad))
  return 1 if bad else 0


if __name__ == "__main__":
  sys.exit(main())
