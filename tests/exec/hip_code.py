#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clang made of the kernels for AMD's GPUs, from the notes in the code: hip_code.py LLVM-READOBJ gfx90a.o...

Of each kernel: registers of a thread, spilled ones (none may go to memory), bytes of code. Prints a table; ends with 1 where a budget is
exceeded, and with 77 where there is no code because there was no compiler.
"""

import os
import re
import subprocess
import sys

KERNELS = ("weir_lanes_bandwidth", "weir_lanes_packet", "weir_transfer", "weir_pairs")
# 256 threads are four waves, one on each SIMD unit: of 256 registers.
REGISTERS = 256
CODE_BYTES = 64 * 1024


def read(readobj, path):
  """{kernel: {note: value}} and {symbol: bytes}."""
  text = subprocess.run([readobj, "--notes", "--symbols", path], capture_output=True, text=True, check=True).stdout
  notes = {}
  for part in re.split(r"\n\s*-\s+\.agpr_count:|\n\s*-\s+\.args:", text)[1:]:
    values = dict(re.findall(r"\.(\w+):\s+(\S+)", part))
    notes[values.get("name")] = values
  sizes = dict(re.findall(r"Name: (\w+) \(\d+\)\n\s*Value: \w+\n\s*Size: (\d+)", text))
  return notes, sizes


def check(readobj, path):
  notes, sizes = read(readobj, path)
  name = os.path.basename(path)
  for kernel in KERNELS:
    if kernel not in notes:
      yield "", [f"{name}: no notes on {kernel}"]
      continue
    note = {key: int(value) for key, value in notes[kernel].items() if value.isdigit()}
    registers, spilled = note["vgpr_count"], note["vgpr_spill_count"]
    memory, code = note["private_segment_fixed_size"], int(sizes[kernel])
    complaints = []
    if registers > REGISTERS:
      complaints.append(f"{registers} vector registers; at most {REGISTERS}")
    if spilled > 0 or memory > 0:
      complaints.append(f"{spilled} vector registers spilled, {memory} bytes of memory per thread; none may")
    if code > CODE_BYTES:
      complaints.append(f"{code} bytes of code; at most {CODE_BYTES}")
    yield (f"{name:10} {kernel:22} {registers:9} {note['sgpr_count']:7} {spilled:6} {memory:6} {code:7}",
           [f"{name}: {kernel}: {complaint}" for complaint in complaints])


def main():
  readobj, paths = sys.argv[1] if len(sys.argv) > 1 else "", sys.argv[2:]
  if not readobj or not paths:
    print("no code for AMD's GPUs was built: hipcc is not installed, or this is a build with sanitizers")
    return 77
  missing = [path for path in paths if not os.path.exists(path)]
  if missing:
    print(f"{missing[0]} is not built: build the target weir_hip")
    return 1
  print(f"{'code':10} {'kernel':22} {'registers':>9} {'scalar':>7} {'spills':>6} {'memory':>6} {'bytes':>7}")
  bad = []
  for path in paths:
    for row, complaints in check(readobj, path):
      print(row)
      bad += complaints
  print("\n".join(bad))
  return 1 if bad else 0


if __name__ == "__main__":
  sys.exit(main())
