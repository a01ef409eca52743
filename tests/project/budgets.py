#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses what grew too big or is not written here: budgets.py ROOT.

A file has at most 600 lines, a function 60, an interface 8 virtual functions, those of its bases included, and a class 60
members; there is no goto, and no function-like macro outside the files named below. What is larger today is named below with
its number, and may only shrink.
"""

import ast
import re
import statistics
import sys

import classes
import source_tree

FILE_LINES = 600
FUNCTION_LINES = 60
VIRTUALS = 8  # of a class that declares one; without destructors
MEMBERS = 60  # data and functions that a class's definition lists

# What was larger when the budget came: file and class, and the number. When a class gets smaller, so does its number here.
MANY_VIRTUALS = {
    "src/device/gpu.h Gpu": 21,
    "transports/memory/transport.h MemoryTransport": 12,
    "transports/transport.h Transport": 9,
}
MANY_MEMBERS = {
    "src/core/communicator/communicator.h Communicator": 40,
}
# Tables: a member for each option.
ANY_MEMBERS = {"src/base/options.h Options"}
# A macro that returns from its caller, and the log's, which must not evaluate what it does not print.
MACROS_ANYWHERE = {"WEIR_TRY", "WEIR_TRY_ASSIGN"}
# The log; the aliases of the ABI; what NCCL's own header promises to its callers.
MACRO_FILES = {"src/base/log.h", "src/api/abi.h", "include/nccl.h", "include/rccl/rccl.h"}


def check_text(path, text):
  bare = source_tree.without_comments(text)
  for line, directive in source_tree.directives(bare):
    macro = re.match(r"define\s+(\w+)\(", directive)
    if macro and macro.group(1) not in MACROS_ANYWHERE and path not in MACRO_FILES:
      yield line, f"{macro.group(1)} is a function-like macro; write a function or a template"
  for found in re.finditer(r"\bgoto\b", bare):
    yield bare.count("\n", 0, found.start()) + 1, "goto; return early, or make a function of it"


def check_functions(functions):
  for function in functions:
    if function.lines > FUNCTION_LINES:
      yield function.first_line, f"function {function.name} has {function.lines} lines; at most {FUNCTION_LINES}"


def check_size(path, owner, count, budget, allowed, what):
  """A class against a budget, or against its number in `allowed`, which goes with what it is for."""
  most = allowed.get(f"{path} {owner.name}", budget)
  if count > most:
    yield owner.line, f"{owner.name} has {count} {what}; at most {most}"
  elif count < most and most != budget:
    yield owner.line, f"{owner.name} has {count} {what}; tests/project/budgets.py still allows {most}: lower that"


def check_classes(path, tree, many_virtuals, many_members):
  for owner in tree.shapes[path][1]:
    if owner.virtuals:
      yield from check_size(path, owner, tree.virtuals(path, owner), VIRTUALS, many_virtuals,
                            "virtual functions, those of its bases included")
    if f"{path} {owner.name}" not in ANY_MEMBERS:
      yield from check_size(path, owner, owner.members, MEMBERS, many_members, "members")


def check_exceptions(tree, *exceptions):
  """Those that are for no class."""
  there = {f"{path} {owner.name}" for path, (_, owners) in tree.shapes.items() for owner in owners}
  for name in {name for each in exceptions for name in each if name not in there}:
    yield f"tests/project/budgets.py:1: allows more for {name}, which is not there"


def check_python(path, text):
  for node in ast.walk(ast.parse(text, path)):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
      lines = node.end_lineno - node.lineno + 1
      if lines > FUNCTION_LINES:
        yield node.lineno, f"function {node.name} has {lines} lines; at most {FUNCTION_LINES}"


def check(root, many_virtuals=None, many_members=None):
  """(breaches as 'file:line: sentence', line count of each C++ file)."""
  many_virtuals = MANY_VIRTUALS if many_virtuals is None else many_virtuals
  many_members = MANY_MEMBERS if many_members is None else many_members
  tree = classes.Classes(root)
  breaches, counts = [], []
  for path in source_tree.source_files(root, source_tree.CPP_SUFFIXES + source_tree.SCRIPT_SUFFIXES):
    text = tree.texts[path] if path in tree.texts else source_tree.read(root, path)
    lines = text.count("\n")
    found = []
    if path in tree.texts:
      counts.append(lines)
      found += check_text(path, text)
      found += check_functions(tree.shapes[path][0])
      found += check_classes(path, tree, many_virtuals, many_members)
    elif path.endswith(".py"):
      found += check_python(path, text)
    if lines > FILE_LINES:
      breaches.append(f"{path}:{FILE_LINES + 1}: the file has {lines} lines; at most {FILE_LINES}")
    breaches += [f"{path}:{line}: {sentence}" for line, sentence in found]
  return breaches + sorted(check_exceptions(tree, many_virtuals, many_members)), counts


def main():
  breaches, counts = check(sys.argv[1] if len(sys.argv) > 1 else ".")
  if counts:
    print(f"{len(counts)} C++ files, median {statistics.median(counts):.0f} lines, largest {max(counts)}")
  print("\n".join(breaches) if breaches else "within budgets")
  return 1 if breaches else 0


if __name__ == "__main__":
  sys.exit(main())
