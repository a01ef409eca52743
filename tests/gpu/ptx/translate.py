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
#include "tests/gpu/ptx/covered.h"
#include "tests/gpu/ptx/kernel_entry.h"
#include "tests/gpu/ptx/values.h"

namespace weir::ptx {
namespace {
"""

FUNCTION = "uint64_t code_of_{name}(Thread& t, {parameters}) {{\nuint64_t {result}{{}};\n"

TAIL = """
constexpr Covered kCovered[] = {{{rows}}};
}}  // namespace
}}  // namespace weir::ptx

extern "C" __attribute__((visibility("default"))) uint32_t weir_ptx_coverage(weir::ptx::Coverage* list, uint32_t most) {{
  return weir::ptx::list_coverage(weir::ptx::kCovered, list, most);
}}

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
  """The statements of a kernel, and the numbers of instructions of its pieces: each begins where code can be entered or left, counts
  its instructions, and notes that it ran."""
  writer, lines, sizes, counted = ptx_code.Writer(kernel), [], [], None

  def count(ends):
    nonlocal counted
    if counted is None:
      lines.append("")
      sizes.append(0)
      counted = len(lines) - 1
    sizes[-1] += 1
    lines[counted] = f"t.count({sizes[-1]}); ran_of_{kernel.name}[{len(sizes) - 1}] = true;"
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
  return lines, sizes


def head_of(kernel):
  if kernel.argument:
    return f"void code_of_{kernel.name}(Thread& t) {{\n"
  return FUNCTION.format(name=kernel.name, result=kernel.result, parameters=", ".join(f"uint64_t {one}" for one in kernel.parameters))


def translate(text, only=()):
  parts, entries, rows = [HEAD], [], []
  for kernel in [*ptx_text.functions(text), *ptx_text.kernels(text)]:
    if only and kernel.argument and kernel.name not in only:
      continue
    statements, sizes = body(kernel)
    lines = [register(kind, name) for kind, name in kernel.registers] + statements
    parts.append(f"bool ran_of_{kernel.name}[{len(sizes)}];\n"
                 f"constexpr uint32_t kSizesOf_{kernel.name}[] = {{{', '.join(map(str, sizes))}}};\n"
                 f"{head_of(kernel)}" + "\n".join(lines) + "\n}\n")
    rows.append(f'{{"{kernel.name}", ran_of_{kernel.name}, kSizesOf_{kernel.name}, {len(sizes)}}}')
    if kernel.argument:
      entries.append(ENTRY.format(name=kernel.name, bytes=kernel.argument_bytes, shared=max(kernel.shared_bytes, 16)))
  if not entries:
    raise ptx_code.Unknown("no kernel")
  return "\n".join(parts) + TAIL.format(rows=", ".join(rows)) + "\n".join(entries)


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
