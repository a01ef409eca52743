# SPDX-License-Identifier: Apache-2.0
"""Files that compiled alone, remembered from one check to the next.

Such a check takes minutes, and most files are as they were the last time. What is remembered is a hash of the compiler's
version, its options, and the text of the file and of all of this tree that it may include; headers of libraries are
taken to be as they were. It lies in $XDG_CACHE_HOME/weir/alone or ~/.cache/weir/alone: one empty file for each, until
nobody has asked for it for a month.
"""

import functools
import hashlib
import os
import re
import subprocess
import time

import source_tree

MONTH_S = 30 * 24 * 3600


@functools.lru_cache(None)
def version(compiler):
  return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


class Passed:
  """Used by one thread; other processes may use the same folder at the same time."""

  def __init__(self, root):
    self.root = root
    self.folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weir", "alone")
    os.makedirs(self.folder, exist_ok=True)
    for entry in os.scandir(self.folder):
      if time.time() - entry.stat().st_mtime > MONTH_S:
        os.remove(entry.path)
    self._text = functools.lru_cache(None)(lambda path: source_tree.read(root, path))
    self._included = functools.lru_cache(None)(self._find_included)

  def _find_included(self, path):
    """What a file names in directives, whatever is defined, as paths of the tree."""
    named = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', self._text(path), re.MULTILINE)
    places = [place for name in named for place in (name, f"include/{name}", f"{os.path.dirname(path)}/{name}")]
    return [place for place in places if os.path.isfile(os.path.join(self.root, place))]

  def reached(self, path):
    """The file and all that it includes, sorted."""
    found, left = set(), [path]
    while left:
      here = left.pop()
      if here not in found:
        found.add(here)
        left += self._included(here)
    return sorted(found)

  def file_of(self, path, command):
    """What is there once the compiler's command, given without what varies by chance, has passed for a file of the tree."""
    digest = hashlib.sha256(version(command[0]).encode())
    for word in command:
      digest.update(word.replace(self.root, "ROOT").encode() + b"\0")
    for here in self.reached(path):
      digest.update(here.encode() + b"\0" + self._text(here).encode() + b"\0")
    return os.path.join(self.folder, digest.hexdigest())

  def unknown(self, jobs, describe):
    """Those jobs of which it is not known that they pass: {job: its file}; describe(job) gives file_of's arguments."""
    files = {job: self.file_of(*describe(job)) for job in jobs}
    return {job: file for job, file in files.items() if not self._touch(file)}

  def run(self, pool, unknown, check):
    """The complaints of check(job), or None, for each job that is unknown; remembers those that pass."""
    complaints = list(pool.map(check, unknown))
    for file, complaint in zip(unknown.values(), complaints):
      if not complaint:
        with open(file, "w", encoding="utf-8"):
          pass
    return [complaint for complaint in complaints if complaint]

  @staticmethod
  def _touch(file):
    try:
      os.utime(file)
    except FileNotFoundError:
      return False
    return True
