#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses what grew too big or is not written here: budgets.py ROOT.

A file has at most 600 lines, a function 60, an interface 8 pure virtual functions; there is no goto, and no
function-like macro outside the files named below.
"""

import ast
import re
import statistics
import sys

import cpp_shape
import source_tree

FILE_LINES = 600
FUNCTION_LINES = 60
PURE_VIRTUALS = 8
# A macro that returns from its caller, and the log's, which must not evaluate what it does not print.
MACROS_ANYWHERE = {"WEIR_TRY", "WEIR_TRY_ASSIGN"}
# The log; the aliases of the ABI; what NCCL's own header promises to its callers.
MACRO_FILES = {"src/base/log.h", "src/api/abi.h", "include/nccl.h", "include/rccl/rccl.h"}


def check_cpp(path, text):
  bare = source_tree.without_comments(text)
  for line, directive in source_tree.directives(bare):
    macro = re.match(r"define\s+(\w+)\(", directive)
    if macro and macro.group(1) not in MACROS_ANYWHERE and path not in MACRO_FILES:
      yield line, f"{macro.group(1)} is a function-like macro; write a function or a template"
  for line, content in enumerate(bare.split("\n"), 1):
    if re.search(r"\bgoto\b", content):
      yield line, "goto; return early, or make a function of it"
  functions, interfaces = cpp_shape.shape(text)
  for function in functions:
    if function.lines > FUNCTION_LINES:
      yield function.first_line, f"function {function.name} has {function.lines} lines; at most {FUNCTION_LINES}"
  for interface in interfaces:
    if interface.pure_virtuals > PURE_VIRTUALS:
      yield interface.line, (f"{interface.name} has {interface.pure_virtuals} pure virtual functions; "
                             f"at most {PURE_VIRTUALS}")


def check_python(path, text):
  for node in ast.walk(ast.parse(text, path)):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
      lines = node.end_lineno - node.lineno + 1
      if lines > FUNCTION_LINES:
        yield node.lineno, f"function {node.name} has {lines} lines; at most {FUNCTION_LINES}"


def check(root):
  """(breaches as 'file:line: sentence', line count of each C++ file)."""
  breaches, counts = [], []
  for path in source_tree.source_files(root, source_tree.CPP_SUFFIXES + source_tree.SCRIPT_SUFFIXES):
    text = source_tree.read(root, path)
    lines = text.count("\n")
    is_cpp = path.endswith(source_tree.CPP_SUFFIXES)
    if is_cpp:
      counts.append(lines)
    if lines > FILE_LINES:
      breaches.append(f"{path}:{FILE_LINES + 1}: the file has {lines} lines; at most {FILE_LINES}")
    found = check_cpp(path, text) if is_cpp else check_python(path, text) if path.endswith(".py") else ()
    breaches += [f"{path}:{line}: {sentence}" for line, sentence in found]
  return breaches, counts


def main():
  breaches, counts = check(sys.argv[1] if len(sys.argv) > 1 else ".")
  if counts:
    print(f"{len(counts)} C++ files, median {statistics.median(counts):.0f} lines, largest {max(counts)}")
  print("\n".join(breaches) if breaches else "within budgets")
  return 1 if breaches else 0


if __name__ == "__main__":
  sys.exit(main())
