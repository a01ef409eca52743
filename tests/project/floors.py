#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses includes that go up: floors.py ROOT. The table is the one in docs/architecture.md, under '## Floors'.

A file may include its own folder, include/, and what its row grants: folders, or single headers. Vendor headers stay in src/drivers, its tests and
src/device: everybody else starts on a machine that has none of them.
"""

import os
import posixpath
import re
import sys

import source_tree

DOCUMENT = "docs/architecture.md"
VENDOR = re.compile(
    r"^(cuda|nvml|hip/|hip_|hsa|rocm|rccl\.h|roctx|nvtx|nvToolsExt|cooperative_groups|infiniband/|rdma/|"
    r"uc[pst]/|mlx5|cublas|cudnn|openssl/)")
VENDOR_FOLDERS = ("src/drivers", "src/device", "tests/drivers")
# The C headers name stream types: with a toolkit installed they must be the toolkit's own.
VENDOR_FILES = {"include/nccl.h", "include/rccl/rccl.h", "include/nccl_device/barriers.h", "include/nccl_device/gin.h"}


class TableError(Exception):
  """The table in the document cannot be read; the text says where and why."""


def _section(text):
  """(line number, cells) of each row of the table under '## Floors'."""
  inside = False
  for number, line in enumerate(text.split("\n"), 1):
    if line.startswith("## "):
      inside = line.strip() == "## Floors"
    elif inside and line.startswith("|") and not re.match(r"^\|[-| ]+\|$", line):
      yield number, [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_table(text):
  """{folder: set of folders and headers it may include, or None for anything}, from the document's text."""
  rows = [(number, cells) for number, cells in _section(text) if cells[0] != "floor"]
  if not rows:
    raise TableError(f"{DOCUMENT}:1: there is no table under '## Floors'")
  floors = {}
  for number, cells in rows:
    folders = re.findall(r"`([^`]+)`", cells[1]) if len(cells) == 3 else []
    if not folders:
      raise TableError(f"{DOCUMENT}:{number}: expected | floor | `folder` | what it may include |")
    for folder in folders:
      floors[folder] = (number, cells[0], cells[2])
  return {folder: _grants(folder, floors) for folder in floors}


def _named(word, floors, where):
  """The one folder of the table that is called so, or whose path ends so."""
  found = [folder for folder in floors if folder == word] or [folder for folder in floors if folder.endswith("/" + word)]
  if len(found) != 1:
    wrong = f"may be {' or '.join(sorted(found))}" if found else "is no folder of the table"
    raise TableError(f"{where}: '{word}' {wrong}; it has {', '.join(sorted(floors))}")
  return found[0]


def _grants(folder, floors):
  number, floor, text = floors[folder]
  if text == "anything":
    return None
  if text == "everything below":
    return {other for other, (_, level, _) in floors.items() if level.isdigit() and int(level) < int(floor)}
  granted = set()
  if text in ("-", "nothing"):
    return granted
  for word in (word.strip().strip("`") for word in text.split(",")):
    other = folder_of(word, floors) if word.endswith(".h") else _named(word, floors, f"{DOCUMENT}:{number}")
    if other is None:
      raise TableError(f"{DOCUMENT}:{number}: {word} lies in no folder of the table")
    if not floors[other][1].isdigit() or int(floors[other][1]) >= int(floor):
      raise TableError(f"{DOCUMENT}:{number}: {folder} on floor {floor} may not include {other} on floor {floors[other][1]}; "
                       "expected a lower floor")
    granted.add(word if word.endswith(".h") else other)
  return granted


def folder_of(path, table):
  """The deepest folder of the table that holds the path, or None."""
  while path:
    path = posixpath.dirname(path)
    if path in table:
      return path
  return None


def resolve(root, path, name):
  """Where an include leads inside the tree, or None if it leads out of it."""
  for base in (posixpath.dirname(path), "", "include"):
    candidate = posixpath.normpath(posixpath.join(base, name))
    if not candidate.startswith("..") and os.path.isfile(os.path.join(root, candidate)):
      return candidate
  return None


def check_include(root, table, path, name):
  """A sentence that says what is wrong with the include, or None."""
  own = folder_of(path, table)
  target = resolve(root, path, name)
  if target is None:
    if VENDOR.match(name) and own is not None and not path.startswith(VENDOR_FOLDERS) and path not in VENDOR_FILES:
      return f"{name} is a vendor's header; only {', '.join(VENDOR_FOLDERS)} may include it"
    return None
  there = folder_of(target, table)
  if there is None:
    return f"{target} lies in no folder of the table in {DOCUMENT}"
  if own is None or there in (own, "include") or table[own] is None or table[own] & {there, target}:
    return None
  allowed = ", ".join(["include", *sorted(table[own])])
  return f"{own} may not include {target}; besides its own files it may include {allowed}"


def check(root):
  """All breaches as 'file:line: sentence'."""
  try:
    table = read_table(source_tree.read(root, DOCUMENT))
  except (OSError, TableError) as error:
    return [str(error)]
  breaches = []
  for path in source_tree.source_files(root, source_tree.CPP_SUFFIXES):
    if folder_of(path, table) is None:
      breaches.append(f"{path}:1: lies in no folder of the table in {DOCUMENT}")
      continue
    text = source_tree.without_comments(source_tree.read(root, path), keep_strings=True)
    for line, directive in source_tree.directives(text):
      include = re.match(r'include\s*[<"]([^>"]+)[>"]', directive)
      wrong = include and check_include(root, table, path, include.group(1))
      if wrong:
        breaches.append(f"{path}:{line}: {wrong}")
  return breaches


def main():
  breaches = check(sys.argv[1] if len(sys.argv) > 1 else ".")
  print("\n".join(breaches) if breaches else "every include goes down")
  return 1 if breaches else 0


if __name__ == "__main__":
  sys.exit(main())
