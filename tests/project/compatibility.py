#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/compatibility.md says what is so: compatibility.py ROOT.

Every exported name (src/api/names.txt), field of ncclConfig_t (include/nccl.h) and variable (src/base/options.cc,
src/base/nccl_variables.h) has its row there and no other has; versions and states agree with the code; the tests that
rows name exist and mention what they test.
"""

import os
import re
import sys

import source_tree

PAGE = "docs/compatibility.md"
NAMES = "src/api/names.txt"
HEADER = "include/nccl.h"
OPTIONS = "src/base/options.cc"
VARIABLES = "src/base/nccl_variables.h"
STATES = ("implemented", "without effect", "refused")
ELSEWHERE = {"NCCL_CONF_FILE", "NCCL_ENV_PLUGIN"}  # read before the table


def plain(name):
  """A C++ function's own name: '_Z12ncclCommDumpP8...' is ncclCommDump."""
  mangled = re.match(r"_Z(\d+)(.*)", name)
  return mangled.group(2)[:int(mangled.group(1))] if mangled else name


def exported(root):
  """{name: since}."""
  found = {}
  for line in source_tree.read(root, NAMES).split("\n"):
    words = line.split("#")[0].split()
    if words:
      found[plain(words[0])] = words[1]
  return found


def config_fields(root):
  text = source_tree.without_comments(source_tree.read(root, HEADER))
  body = re.search(r"typedef struct ncclConfig_v\w+ \{(.*?)\}", text, re.DOTALL)
  return re.findall(r"(\w+);", body.group(1)) if body else []


def options(root):
  """Rows of the table of options, and further names of options; comments do not count."""
  text = source_tree.without_comments(source_tree.read(root, OPTIONS), keep_strings=True)
  return set(re.findall(r'(?:OptionRow|OtherName)\{\s*"([A-Z0-9_]+)"', text))


def documented(root):
  text = source_tree.without_comments(source_tree.read(root, VARIABLES), keep_strings=True)
  return set(re.findall(r'"(NCCL_[A-Z0-9_]+)"', text))


def rows(root):
  """{heading: [(line number, cells)]} of rows that begin with a name in code."""
  found, heading = {}, ""
  for number, line in enumerate(source_tree.read(root, PAGE).split("\n"), 1):
    if line.startswith("## "):
      heading = line[3:].strip()
    elif re.match(r"\| `\w+` \|", line):
      cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
      found.setdefault(heading, []).append((number, [cells[0].strip("`"), *cells[1:]]))
  return found


def compare(listed, expected, source):
  """Rows for exactly the expected names, each once."""
  seen = set()
  for number, cells in listed:
    if cells[0] in seen:
      yield f"{PAGE}:{number}: {cells[0]} has a second row"
    elif cells[0] not in expected:
      yield f"{PAGE}:{number}: {cells[0]} is not in {source}"
    seen.add(cells[0])
  for name in sorted(set(expected) - seen):
    yield f"{PAGE}:1: has no row for {name} of {source}"


def check_state(number, name, state, remark, allowed):
  if state not in allowed:
    yield f"{PAGE}:{number}: the state of {name} is '{state}'; expected one of: {', '.join(allowed)}"
  if state in ("refused", "without effect") and not remark:
    yield f"{PAGE}:{number}: {name} is {state}, and the remark does not say why or what to use instead"


def check_test(root, number, name, cell):
  link = re.fullmatch(r"\[([^\]]+)\]\(\.\./(tests/[^)]+)\)", cell)
  if not link or link.group(2) != f"tests/{link.group(1)}":
    yield f"{PAGE}:{number}: the test of {name} is '{cell}'; expected a link like [api/x_test.cc](../tests/api/x_test.cc)"
  elif not os.path.isfile(os.path.join(root, link.group(2))):
    yield f"{PAGE}:{number}: there is no file {link.group(2)}"
  elif not re.search(rf"\b{name}\b", source_tree.read(root, link.group(2))):
    yield f"{PAGE}:{number}: {link.group(2)} does not mention {name}"


def refusals(root):
  """Names that the code refuses whatever the arguments: their functions do nothing but call refuse."""
  for path in source_tree.source_files(root, (".cc",)):
    if path.startswith("src/api/"):
      yield from re.findall(r'\brefuse(?:_pointer|_endpoint)?\("(\w+)"', source_tree.read(root, path))


def check_symbols(root, listed):
  names = exported(root)
  yield from compare(listed, names, NAMES)
  refused = set(refusals(root))
  for number, cells in listed:
    if len(cells) != 5:
      yield f"{PAGE}:{number}: has {len(cells)} cells; expected symbol, since, state, remark, tested by"
      continue
    name, since, state, remark, test = cells
    if name in names and since != names[name]:
      yield f"{PAGE}:{number}: {name} is there since {names[name]}, says {NAMES}, not {since}"
    yield from check_state(number, name, state, remark, STATES)
    if name in refused and state != "refused":
      yield f"{PAGE}:{number}: src/api refuses {name}, and the row says that it is {state}"
    yield from check_test(root, number, name, test)


def check_fields(root, listed):
  yield from compare(listed, config_fields(root), f"ncclConfig_t ({HEADER})")
  for number, (name, *rest) in listed:
    state, remark = (rest + ["", ""])[:2]
    yield from check_state(number, name, state, remark, STATES[:2])


def check_variables(root, listed):
  honoured = {name for name in options(root) if name.startswith("NCCL_")} | ELSEWHERE
  yield from compare(listed, honoured | documented(root), f"{OPTIONS} or {VARIABLES}")
  for number, (name, *rest) in listed:
    expected = "honoured" if name in honoured else "without meaning"
    if not rest or rest[0] != expected:
      yield f"{PAGE}:{number}: {name} is '{rest[0] if rest else ''}'; by {OPTIONS} it is {expected}"


def check(root):
  """All complaints as 'file:line: sentence'."""
  found = rows(root)
  parts = (("Symbols", check_symbols), ("Fields of ncclConfig_t", check_fields),
           ("Variables of the environment", check_variables))
  return [complaint for heading, rule in parts for complaint in rule(root, found.get(heading, []))]


def main():
  complaints = check(sys.argv[1] if len(sys.argv) > 1 else ".")
  print("\n".join(complaints) if complaints else f"{PAGE} is true")
  return 1 if complaints else 0


if __name__ == "__main__":
  sys.exit(main())
