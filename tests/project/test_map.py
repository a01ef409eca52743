#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each header names what tests it: test_map.py ROOT.

The contract, the first comment of a header behind its license, ends with a line '/// Tests: tests/base/text_test.cc', with a second
file behind a comma where one does not suffice. What is named is there. A header without functions may do without.
"""

import os
import re
import sys

import source_tree

FOLDERS = ("src/", "transports/", "algorithms/", "topology/", "include/weir/")
_LINE = re.compile(r"^/// Tests: (\S+(?:, \S+)*)$")
_NO_FUNCTION = r"static_assert|alignas|sizeof|decltype|requires|noexcept|defined|function"


def contract(text):
  """(line number, line) of the first comment behind the license."""
  lines = text.split("\n")
  for number, line in enumerate(lines[1:], 2):
    if not line.startswith("///"):
      return
    yield number, line


def has_functions(text):
  bare = source_tree.without_directives(source_tree.without_comments(text))
  return re.search(rf"(?<!\w)(?!(?:{_NO_FUNCTION})\b)\w+\s*\(", bare) is not None


def check_header(root, path):
  text = source_tree.read(root, path)
  lines = list(contract(text))
  named = [(number, line) for number, line in lines if line.startswith("/// Tests:")]
  if not named:
    if has_functions(text):
      where = lines[-1][0] if lines else 1
      yield f"{path}:{where}: no line '/// Tests: ...' ends the contract; name the file in tests/ that would notice a fault here"
    return
  number, line = named[0]
  found = _LINE.match(line)
  if len(named) > 1 or line != lines[-1][1] or not found:
    yield f"{path}:{number}: expected one line '/// Tests: FILE, FILE', the last one of the contract"
    return
  for test in found.group(1).split(", "):
    if not test.startswith("tests/") or not os.path.isfile(os.path.join(root, test)):
      yield f"{path}:{number}: there is no test {test}"


def check(root):
  """All complaints as 'file:line: sentence'."""
  return [complaint for path in source_tree.source_files(root, (".h",)) if path.startswith(FOLDERS)
          for complaint in check_header(root, path)]


def main():
  complaints = check(sys.argv[1] if len(sys.argv) > 1 else ".")
  print("\n".join(complaints) if complaints else "headers name their tests")
  return 1 if complaints else 0


if __name__ == "__main__":
  sys.exit(main())
