#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translates kernels in PTX to C++ that runs every thread of a block on the host: translate.py FILE.ptx [--only KERNEL]...
[--fault NAME] -o FILE.cc

The result exports the kernels by name (HostKernel in src/exec/gpu/launch.h), as libweir_host_kernels.so does. --fault edits the text
first (faults.py): tests have to notice it.
"""

import argparse
import sys

import faults
import ptx_code
import ptx_text

HEAD = """// Written by tests/gpu/ptx/translate.py.
#include "tests/gpu/ptx/kernel_entry.h"
#include "tests/gpu/ptx/values.h"

namespace weir::ptx {
namespace {
"""

ENTRY = """extern "C" {{
extern __attribute__((visibility("default"))) const size_t {name}_argument_bytes = {bytes};
__attribute__((visibility("default"))) void {name}(const void* argument, uint32_t block, uint32_t blocks) {{
  weir::ptx::run_block({{weir::ptx::code_of_{name}, argument, block, blocks, {shared}}});
}}
}}
"""


def register(kind, name):
  """A register: PTX's types of registers are bits, numbers and predicates."""
  return f"{ptx_code.TYPES[kind]} {ptx_code.name_of(name)}{{}};"


def body(kernel):
  """The statements of a kernel. Instructions are counted where code can be entered or left."""
  writer, lines, counted = ptx_code.Writer(kernel), [], None

  def count(ends):
    nonlocal counted
    if counted is None:
      lines.append("")
      counted = [len(lines) - 1, 0]
    counted[1] += 1
    lines[counted[0]] = f"t.count({counted[1]});"
    if ends:
      counted = None

  for statement in kernel.statements:
    if statement[0] == "label":
      lines.append(f"{ptx_code.name_of(statement[1])}:;")
      counted = None
    elif statement[0] == "open":
      lines.append("{")
      counted = None
    elif statement[0] == "close":
      lines.append("}")
      counted = None
    elif statement[0] == "declare":
      lines.append(register(statement[1], statement[2]))
    else:
      _, guard, opcode, operands = statement
      count(opcode.split(".")[0] in ("bra", "ret"))
      text = writer.instruction(opcode, operands)
      if guard:
        lines.append(f"if ({'!' if guard[0] == '!' else ''}as<bool>({ptx_code.name_of(guard.lstrip('!'))})) {{ {text} }}")
      else:
        lines.append(f"{{ {text} }}")
  return lines


def translate(text, only=()):
  parts, entries = [HEAD], []
  for kernel in ptx_text.kernels(text):
    if only and kernel.name not in only:
      continue
    lines = [register(kind, name) for kind, name in kernel.registers] + body(kernel)
    parts.append(f"void code_of_{kernel.name}(Thread& t) {{\n" + "\n".join(lines) + "\n}\n")
    entries.append(ENTRY.format(name=kernel.name, bytes=kernel.argument_bytes, shared=max(kernel.shared_bytes, 16)))
  if not entries:
    raise ptx_code.Unknown("no kernel")
  return "\n".join(parts) + "}  // namespace\n}  // namespace weir::ptx\n\n" + "\n".join(entries)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("ptx")
  parser.add_argument("--only", action="append", default=[])
  parser.add_argument("--fault")
  parser.add_argument("-o", dest="output", required=True)
  arguments = parser.parse_args()
  with open(arguments.ptx, encoding="utf-8") as file:
    text = file.read()
  try:
    if arguments.fault:
      text = faults.planted(arguments.fault, text)
    result = translate(text, arguments.only)
  except (ptx_code.Unknown, faults.NoPlace) as error:
    print(f"translate.py: {arguments.ptx}: {error}", file=sys.stderr)
    return 1
  with open(arguments.output, "w", encoding="utf-8") as file:
    file.write(result)
  return 0


if __name__ == "__main__":
  sys.exit(main())
