#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts which subfolders of a folder include each other: arrows.py ROOT FOLDER [MOST].

Prints a line per subfolder, and fails where includes go in a circle or more than MOST pairs of subfolders (arrows) are
connected.
"""

import re
import sys

import floors
import source_tree


def arrows_of(root, folder):
  """{subfolder: {subfolder it includes: number of files that do}}; a subfolder's own folders count as it."""
  def room(path):
    parts = path[len(folder) + 1:].split("/")
    return parts[0] if path.startswith(folder + "/") and len(parts) > 1 else None

  arrows = {}
  for path in source_tree.source_files(root, source_tree.CPP_SUFFIXES):
    here = room(path)
    if here is None:
      continue
    row = arrows.setdefault(here, {})
    text = source_tree.without_comments(source_tree.read(root, path), keep_strings=True)
    names = (re.match(r'include\s*[<"]([^>"]+)[>"]', directive) for _, directive in source_tree.directives(text))
    targets = (floors.resolve(root, path, name.group(1)) for name in names if name)
    for there in {room(target) for target in targets if target} - {None, here}:
      row[there] = row.get(there, 0) + 1
  return arrows


def circle_in(arrows):
  """The subfolders of one circle, in order, or an empty list."""
  def walk(path):
    for there in arrows.get(path[-1], {}):
      if there in path:
        return path[path.index(there):]
      found = [] if there in done else walk(path + [there])
      if found:
        return found
    done.add(path[-1])
    return []

  done = set()
  return next((found for found in (walk([start]) for start in arrows) if found), [])


def main():
  root, folder = sys.argv[1], sys.argv[2].rstrip("/")
  arrows = arrows_of(root, folder)
  for here in sorted(arrows):
    print(f"{here} -> {', '.join(f'{there} ({count})' for there, count in sorted(arrows[here].items())) or 'nothing'}")
  total = sum(len(row) for row in arrows.values())
  circle = circle_in(arrows)
  most = int(sys.argv[3]) if len(sys.argv) > 3 else total
  print(f"{folder}: {len(arrows)} folders, {total} arrows between them" + (f"; at most {most} are allowed" if total > most else ""))
  if circle:
    print(f"{folder}: includes go in a circle: {' -> '.join(circle + circle[:1])}")
  return 1 if circle or total > most or not arrows else 0


if __name__ == "__main__":
  sys.exit(main())
