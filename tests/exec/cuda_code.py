#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What nvcc made of the kernels, read from the code itself: cuda_code.py sm_90.cubin... compute_100.ptx

Of each kernel: registers of a thread, memory for spills (none is allowed), bytes of code, loads and stores of 16 bytes.
Prints a table; ends with 1 where a budget is exceeded, and with 77 where there is no code because there was no compiler.
"""

import os
import struct
import sys

KERNELS = ("weir_lanes_bandwidth", "weir_lanes_packet", "weir_transfer", "weir_pairs")
# 512 threads on a multiprocessor of 65,536 registers.
REGISTERS = 128
CODE_BYTES = 160 * 1024
REGISTER_COUNT, FRAME_SIZE = 0x2F, 0x11  # attributes of .nv.info
# An instruction has 16 bytes. Low 12 bits: what it does; bits 73 to 75: how wide, 6 is 16 bytes.
LOADS, STORES, WIDE = (0x981, 0x381), (0x986, 0x386), 6


def sections(data):
  """{name: (bytes, info)} of an ELF file."""
  header = struct.unpack_from("<Q", data, 0x28)[0]
  size, count, names = struct.unpack_from("<HHH", data, 0x3A)
  rows = [struct.unpack_from("<IIQQQQIIQQ", data, header + size * i) for i in range(count)]
  text = rows[names][4]
  found = {}
  for row in rows:
    begin = text + row[0]
    name = data[begin:data.index(b"\0", begin)].decode()
    found[name] = (data[row[4]:row[4] + row[5]] if row[1] != 8 else b"", row[7])
  return found


def symbols(found):
  table, strings = found[".symtab"][0], found[".strtab"][0]
  for at in range(0, len(table), 24):
    name = struct.unpack_from("<I", table, at)[0]
    yield strings[name:strings.index(b"\0", name)].decode()


def attributes(found):
  """{(attribute, kernel): value} of .nv.info, as far as they are of one kernel."""
  names, info, result, at = list(symbols(found)), found[".nv.info"][0], {}, 0
  while at + 4 <= len(info):
    form, attribute, size = struct.unpack_from("<BBH", info, at)
    at += 4
    if form == 4:
      if size == 8:
        symbol, value = struct.unpack_from("<II", info, at)
        result[attribute, names[symbol]] = value
      at += size
  return result


def wide(code, kinds):
  """How many instructions of these kinds move 16 bytes per thread."""
  count = 0
  for low, high in struct.iter_unpack("<QQ", code):
    count += (low & 0xFFF) in kinds and (high >> 9 & 7) == WIDE
  return count


def check(path):
  """(row, complaints) of each kernel in a file."""
  with open(path, "rb") as file:
    found = sections(file.read())
  told = attributes(found)
  for kernel in KERNELS:
    code = found[f".text.{kernel}"][0]
    registers, frame = told[REGISTER_COUNT, kernel], told.get((FRAME_SIZE, kernel), 0)
    loads, stores = wide(code, LOADS), wide(code, STORES)
    complaints = []
    if registers > REGISTERS:
      complaints.append(f"{registers} registers; at most {REGISTERS}")
    if frame > 0:
      complaints.append(f"{frame} bytes of registers are kept in memory; none may")
    if len(code) > CODE_BYTES:
      complaints.append(f"{len(code)} bytes of code; at most {CODE_BYTES}")
    if kernel != "weir_lanes_packet" and (loads < 4 or stores < 4):
      complaints.append(f"{loads} loads and {stores} stores of 16 bytes; at least 4 of each")
    name = os.path.basename(path)
    yield f"{name:12} {kernel:22} {registers:9} {frame:6} {len(code):7} {loads:6} {stores:7}", \
        [f"{name}: {kernel}: {complaint}" for complaint in complaints]


def main():
  paths = [path for path in sys.argv[1:] if path.endswith(".cubin")]
  if not paths:
    print("no code for NVIDIA's GPUs was built: nvcc is not installed, or this is a build with sanitizers")
    return 77
  missing = [path for path in paths if not os.path.exists(path)]
  if missing:
    print(f"{missing[0]} is not built: build the target weir_cuda")
    return 1
  print(f"{'code':12} {'kernel':22} {'registers':>9} {'spills':>6} {'bytes':>7} {'ld.128':>6} {'st.128':>7}")
  bad = []
  for path in paths:
    for row, complaints in check(path):
      print(row)
      bad += complaints
  print("\n".join(bad))
  return 1 if bad else 0


if __name__ == "__main__":
  sys.exit(main())
