# SPDX-License-Identifier: Apache-2.0
"""Headers of libraries that are compiled ahead, for the checks of what compiles alone.

Most of the time of these checks would go into reading the same headers of libraries again and again. What a file includes,
itself or through others of ours, it sees in any case: the dear ones of these are compiled ahead, once, and stand before it.
What a file does not include does not stand before it, so that one that misses something still misses it.
"""

import functools
import os
import re
import subprocess

import source_tree

CXX = ("-std=c++20", "-x", "c++")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
# Each is compiled ahead, once; a file of ours takes the first one of which it includes all. More would cost more than they save.
AHEAD = (("gtest/gtest.h",), ("fmt/format.h", "functional"), ("fmt/format.h",), ("algorithm", "functional", "memory"), ("algorithm", "memory"),
         ("memory", "string"), ("memory",), ("string",))


def includes(root, path):
  """What it includes whatever is defined."""
  text = source_tree.without_comments(source_tree.read(root, path), keep_strings=True)
  depth = 0
  for _, directive in source_tree.directives(text):
    depth += directive.startswith("if") - directive.startswith("endif")
    found = re.match(r'include\s*[<"]([^>"]+)[>"]', directive)
    if found and depth == 0:
      yield found.group(1)


class Ahead:
  """What is compiled ahead, in files of a folder: those of AHEAD that files of ours take."""

  def __init__(self, root, folder, cxx, files, read_first=lambda file: file):
    """read_first: of a file's includes, those of this one count."""
    self.root, self.folder, self.cxx = root, folder, cxx
    self.seen = functools.lru_cache(None)(self._seen)
    self.taken = {file: next((some for some in AHEAD if self.seen(read_first(file)).issuperset(some)), None) for file in files}

  def _seen(self, path):
    """The headers that are not ours and that it includes, itself or through ours."""
    found = set()
    for name in includes(self.root, path):
      ours = [place for place in (name, "include/" + name) if os.path.isfile(os.path.join(self.root, place))]
      found |= self.seen(ours[0]) if ours else {name}
    return found

  def file_of(self, some):
    return os.path.join(self.folder, f"ahead{AHEAD.index(some)}.h")

  def make(self, some):
    file = self.file_of(some)
    with open(file, "w", encoding="utf-8") as text:
      text.writelines(f"#include <{name}>\n" for name in some)
    subprocess.run([self.cxx, *CXX[:-1], "c++-header", *WARNINGS, "-o", file + ".gch", file], check=True)

  def make_all(self, pool):
    list(pool.map(self.make, {some for some in self.taken.values() if some}))

  def options(self, file):
    """Of a compiler that is to use it; it says so if it cannot."""
    return ["-Winvalid-pch", "-include", self.file_of(self.taken[file])] if self.taken[file] else []
