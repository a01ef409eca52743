#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages and scripts that have gone stale: documents.py ROOT.

Links in Markdown lead to files that exist, docs/README.md lists every page of docs/ and docs/lab/README.md every page of docs/lab/,
tests that docs/troubleshooting.md names are there, folders and the way of one call in the tables of docs/architecture.md exist, shell scripts parse, every source names its license, and no source says that something is left to be done.
"""

import os
import re
import subprocess
import sys

import source_tree

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SCRIPTS = ("run", "test", ".ci/run")
INDEXED = ("docs", "docs/lab", "docs/start")
ARCHITECTURE = "docs/architecture.md"


def _lines(root, path):
  return enumerate(source_tree.read(root, path).split("\n"), 1)


def check_links(root):
  for path in source_tree.source_files(root, (".md",)):
    for number, line in _lines(root, path):
      for link in re.findall(r"\]\(([^)#]+)[^)]*\)", line):
        target = os.path.normpath(os.path.join(root, os.path.dirname(path), link))
        if "://" not in link and not os.path.exists(target):
          yield f"{path}:{number}: the link {link} leads nowhere"


def check_index(root):
  """The README.md of a folder of pages lists the others."""
  for folder in INDEXED:
    pages = os.path.join(root, folder)
    if not os.path.isdir(pages):
      continue
    index_path = f"{folder}/README.md"
    index = source_tree.read(root, index_path) if os.path.isfile(os.path.join(root, index_path)) else ""
    for page in sorted(os.listdir(pages)):
      if page.endswith(".md") and page != "README.md" and f"({page})" not in index:
        yield f"{index_path}:1: does not list {page}"


def _section(root, heading):
  """(number, line) of a section of docs/architecture.md."""
  inside = False
  for number, line in _lines(root, ARCHITECTURE):
    if line.startswith("## "):
      inside = line == f"## {heading}"
    elif inside:
      yield number, line


def check_folders(root):
  """Rows | `folder` | ...: the folder is there."""
  for number, line in _section(root, "The tree"):
    first_cell = re.match(r"\|([^|]*)\|(?!\s*`)", line)
    for folder in re.findall(r"`([\w./]+)`", first_cell.group(1)) if first_cell else ():
      if not os.path.isdir(os.path.join(root, folder)):
        yield f"{ARCHITECTURE}:{number}: there is no folder {folder}"


def check_way(root):
  """Rows | `Name` | `file` | ...: the file is there and has the name."""
  for number, line in _section(root, "The way of one call"):
    row = re.match(r"\|\s*`([\w:]+)`\s*\|\s*`([\w./]+\.\w+)`\s*\|", line)
    if not row:
      continue
    name, path = row.group(1).rsplit("::", 1)[-1], row.group(2)
    if not os.path.isfile(os.path.join(root, path)):
      yield f"{ARCHITECTURE}:{number}: there is no file {path}"
    elif not re.search(rf"\b{name}\b", source_tree.read(root, path)):
      yield f"{ARCHITECTURE}:{number}: {path} does not have {name}"


def check_tests(root):
  """Names in code in the last cells of docs/troubleshooting.md are tests in C++, `Suite.Name`."""
  page = "docs/troubleshooting.md"
  if not os.path.isfile(os.path.join(root, page)):
    return
  known = set()
  for path in source_tree.source_files(root, source_tree.CPP_SUFFIXES):
    if path.startswith("tests/"):
      known.update(".".join(test) for test in re.findall(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)", source_tree.read(root, path)))
  for number, line in _lines(root, page):
    cells = line.strip("|").split("|")
    if not line.startswith("|") or len(cells) < 4 or set(line) <= set("|-"):
      continue
    named = re.findall(r"`(\w+\.\w+)`", cells[-1])
    if not named and cells[-1].strip() != "test":
      yield f"{page}:{number}: the row names no test"
    for test in named:
      if test not in known:
        yield f"{page}:{number}: there is no test {test}"


def check_unfinished(root):
  for path in source_tree.source_files(root, source_tree.CPP_SUFFIXES + source_tree.SCRIPT_SUFFIXES + (".txt",)):
    if path.startswith("tests/project/"):
      continue
    for number, line in _lines(root, path):
      word = UNFINISHED.search(line)
      if word:
        yield f"{path}:{number}: {word.group(1)}; finish it, or write an issue"


def check_scripts(root):
  shell = source_tree.source_files(root, (".sh",)) + [path for path in SCRIPTS if os.path.isfile(os.path.join(root, path))]
  for path in shell:
    if not os.access(os.path.join(root, path), os.X_OK):
      yield f"{path}:1: is not executable"
    parsed = subprocess.run(["bash", "-n", os.path.join(root, path)], capture_output=True, text=True, check=False)
    if parsed.returncode != 0:
      number = re.search(r"line (\d+)", parsed.stderr)
      yield f"{path}:{number.group(1) if number else 1}: {parsed.stderr.strip()}"


def check_license(root):
  """Each source has the line in its first two: behind '#!' where there is one."""
  tag = "SPDX-License-Identifier: Apache-2.0"
  sources = source_tree.source_files(root, source_tree.CPP_SUFFIXES + source_tree.SCRIPT_SUFFIXES + ("CMakeLists.txt",))
  for path in sources + [path for path in SCRIPTS if os.path.isfile(os.path.join(root, path))]:
    if not any(tag in line for line in source_tree.read(root, path).split("\n")[:2]):
      yield f"{path}:1: has no line '{tag}'; expected it first, or behind '#!'"


def check(root):
  """All complaints as 'file:line: sentence'."""
  return [complaint for rule in (check_links, check_index, check_folders, check_way, check_tests,
                                check_unfinished, check_scripts, check_license)
          for complaint in rule(root)]


def main():
  complaints = check(sys.argv[1] if len(sys.argv) > 1 else ".")
  print("\n".join(complaints) if complaints else "pages and scripts are in order")
  return 1 if complaints else 0


if __name__ == "__main__":
  sys.exit(main())
