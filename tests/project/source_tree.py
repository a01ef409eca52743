# SPDX-License-Identifier: Apache-2.0
"""The files of a source tree, and C++ text without what no checker wants to read."""

import os
import re

CPP_SUFFIXES = (".h", ".cc", ".c", ".cu", ".inc")
SCRIPT_SUFFIXES = (".py", ".sh", ".cmake")


def source_files(root, suffixes):
  """Paths below root, sorted, with '/' and relative to root; build folders and hidden ones are left out."""
  found = []
  for folder, subfolders, names in os.walk(root):
    subfolders[:] = [s for s in subfolders if not s.startswith((".", "build", "__pycache__"))]
    relative = os.path.relpath(folder, root)
    for name in names:
      if name.endswith(suffixes):
        found.append(name if relative == "." else f"{relative}/{name}")
  return sorted(found)


def read(root, path):
  with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
    return file.read()


# Begins with a set of characters, which `re` looks for quickly; what stands behind the first of them tells what it is.
_TOKEN = re.compile(
    r"""["'/0-9uLUR]
      (?: (?<=/) (?P<comment>/(?:\\\n|[^\n])*|\*.*?\*/)
        | (?<=") (?P<string>(?:\\.|[^"\\\n])*")
        | (?<=\d)(?<!\w\d) (?P<number>(?:'?[\w.])*)
        | (?<=') (?P<char>(?:\\.|[^'\\\n])+')
        | (?<=[uLUR])(?<!\w.) (?P<raw>(?:(?<=R)|8?[LU]?R)"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)")
      )""", re.VERBOSE | re.DOTALL)


def without_comments(text, keep_strings=False):
  """The same text, of the same length and lines, with comments (and literals) turned into blanks.

  A literal keeps its first and last character, so that it still looks like one.
  """
  def blank(match):
    token = match.group(0)
    if match.lastgroup == "number":
      return token
    hollow = "\n".join(" " * len(line) for line in token.split("\n"))
    if match.lastgroup == "comment":
      return hollow
    return token if keep_strings else '"' + hollow[1:-1] + '"'

  return _TOKEN.sub(blank, text)


def directives(text):
  """(line number, directive) of each preprocessor line of a text without comments, continuations joined."""
  lines = text.split("\n")
  at = 0
  while at < len(lines):
    first = at
    joined = lines[at]
    while joined.endswith("\\") and at + 1 < len(lines):
      at += 1
      joined = joined[:-1] + lines[at]
    if joined.lstrip().startswith("#"):
      yield first + 1, joined.lstrip()[1:].strip()
    at += 1


def without_directives(text):
  """Blanks preprocessor lines, and of every #if only the first branch is left, so that braces match."""
  out = []
  dead = []  # one entry per open #if: whether its current branch is dropped
  continued = False
  for line in text.split("\n"):
    stripped = line.lstrip()
    if continued or stripped.startswith("#"):
      word = re.match(r"#\s*(\w+)", stripped) if not continued else None
      continued = line.endswith("\\")
      if word and word.group(1) in ("if", "ifdef", "ifndef"):
        dead.append(False)
      elif word and word.group(1) in ("else", "elif") and dead:
        dead[-1] = True
      elif word and word.group(1) == "endif" and dead:
        dead.pop()
      out.append("")
    else:
      out.append("" if any(dead) else line)
  return "\n".join(out)
