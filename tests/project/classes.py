# SPDX-License-Identifier: Apache-2.0
"""The classes of a tree, and how many virtual functions each has, those of its bases included.

Bases are found by their names: in the same file, else in the nearest one that it includes. Classes of other libraries are not seen.
"""

import re

import cpp_shape
import floors
import source_tree


class Classes:
  """All classes of C++ below root."""

  def __init__(self, root):
    self.root = root
    self.texts = {path: source_tree.read(root, path) for path in source_tree.source_files(root, source_tree.CPP_SUFFIXES)}
    self.shapes = {path: cpp_shape.shape(text) for path, text in self.texts.items()}
    self.by_name = {}
    for path, (_, classes) in self.shapes.items():
      for found in classes:
        self.by_name.setdefault(found.name, []).append((path, found))

  def _includes(self, path):
    for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', self.texts[path], re.M):
      target = floors.resolve(self.root, path, name)
      if target in self.texts:
        yield target

  def _base(self, path, name):
    """(file, class) that a class of this file derives from, or None."""
    found = self.by_name.get(name, [])
    if len(found) < 2:
      return found[0] if found else None
    files = dict(found)
    seen, ring = {path}, [path]
    while ring:
      for file in ring:
        if file in files:
          return file, files[file]
      ring = [target for file in ring for target in self._includes(file)]
      ring = [target for target in dict.fromkeys(ring) if target not in seen]
      seen.update(ring)
    return None

  def family(self, path, owner):
    """{(file, line): class} of the class and all that it derives from."""
    found, pending = {}, [(path, owner)]
    while pending:
      file, each = pending.pop()
      if (file, each.line) in found:
        continue
      found[file, each.line] = each
      pending += filter(None, (self._base(file, base) for base in each.bases))
    return found

  def virtuals(self, path, owner):
    """How many virtual functions the class has: its own and those of all that it derives from."""
    return sum(each.virtuals for each in self.family(path, owner).values())
