# SPDX-License-Identifier: Apache-2.0
"""Headers that are compiled ahead, for the checks of what compiles alone.

Most of the time of these checks would go into reading the same headers again and again. What a file includes, itself or
through others, it sees in any case: a few of these headers are compiled ahead, once, and one of them stands before it. What
a file does not include does not stand before it, so that one that misses something still misses it.
"""

import functools
import os
import re
import subprocess

import source_tree

CXX = ("-std=c++20", "-x", "c++")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
MOST = 12        # more of them would save little more, and each takes 100 MB of a disk
COST = 2         # compiling a header ahead takes so many times as long as reading it


def includes(root, path):
  """What it includes whatever is defined."""
  text = source_tree.without_comments(source_tree.read(root, path), keep_strings=True)
  depth = 0
  for _, directive in source_tree.directives(text):
    depth += directive.startswith("if") - directive.startswith("endif")
    found = re.match(r'include\s*[<"]([^>"]+)[>"]', directive)
    if found and depth == 0:
      yield found.group(1)


def most_worth(users, weights):
  """Of headers, {header: its users} and {header: what reading it takes}: those to compile ahead, the best one first.

  Each user takes the one that saves it most; one after another is chosen that saves most beside those before.
  """
  saved, chosen = {}, []
  def gain(header):
    return sum(max(0, weights[header] - saved.get(user, 0)) for user in users[header]) - COST * weights[header]
  while len(chosen) < MOST:
    best = max(sorted(users), key=gain, default=None)
    if best is None or gain(best) <= 0:
      break
    chosen.append(best)
    for user in users[best]:
      saved[user] = max(saved.get(user, 0), weights[best])
  return chosen


class Ahead:
  """What is compiled ahead for files of a tree, in files of a folder."""

  def __init__(self, root, folder, cxx, files, pool, read_first=lambda file: file):
    """pool: of threads, for the compiler; read_first: of a file's includes, those of this one count."""
    self.root, self.folder, self.cxx = root, folder, cxx
    self.seen = functools.lru_cache(None)(self._seen)
    users = {}
    for file in files:
      for header in self.seen(read_first(file)):
        users.setdefault(header, []).append(file)
    users = {header: some for header, some in users.items() if len(some) > COST}
    reads = dict(zip(users, pool.map(self._reads, users)))
    weights = {header: sum(map(os.path.getsize, reads[header].union(*(reads.get(other, ()) for other in self.seen(header)))))
               for header in users}
    chosen = most_worth(users, weights)
    self.names = {header: os.path.join(folder, f"ahead{number}.h") for number, header in enumerate(chosen)}
    made = [header for header, good in zip(chosen, pool.map(self._make, chosen)) if good]
    self.taken = {file: header for header in sorted(made, key=weights.get) for file in users[header]}

  def _ours(self, name):
    """The file of the tree that is included by that name, or None."""
    return next((place for place in (name, "include/" + name) if os.path.isfile(os.path.join(self.root, place))), None)

  def _seen(self, path):
    """The headers that it includes, itself or through others of the tree."""
    if not os.path.isfile(os.path.join(self.root, path)):
      return frozenset()
    found = set()
    for name in includes(self.root, path):
      ours = self._ours(name)
      found |= {ours} | self.seen(ours) if ours else {name}
    return found

  def _compile(self, language, *options, text=None):
    return subprocess.run([self.cxx, *CXX[:-1], language, "-I", self.root, "-I", os.path.join(self.root, "include"), *options],
                          input=text, capture_output=True, text=True, check=False)

  def _reads(self, header):
    """The files that the compiler reads for it: itself if it is of the tree, all if it is a library's."""
    ours = os.path.join(self.root, header)
    if os.path.isfile(ours):
      return {ours}
    files = self._compile("c++", "-M", "-", text=f"#include <{header}>\n").stdout.replace("\\\n", " ").split()[1:]
    return set(filter(os.path.isfile, files))

  def _make(self, header):
    with open(self.names[header], "w", encoding="utf-8") as text:
      text.write(f"#include <{header}>\n")
    return self._compile("c++-header", *WARNINGS, "-o", self.names[header] + ".gch", self.names[header]).returncode == 0

  def options(self, file):
    """Of a compiler that is to use it; where other options forbid that, it reads the header."""
    return ["-include", self.names[self.taken[file]]] if file in self.taken else []
