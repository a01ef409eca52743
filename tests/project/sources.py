#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each source compiles by itself: sources.py BUILD_FOLDER ROOT, the folder being configured with CMAKE_UNITY_BUILD=OFF.

Elsewhere several files are compiled together, where nobody notices what misses an include. The compiler reads each file with
the options of the folder's compile_commands.json and makes no code.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from ahead import Ahead
from headers import first_include
from passed import Passed

# What decides how a source is read; the others decide what code is made of it.
KEPT = re.compile(r"-D|-U|-I|-std=|-W|-pthread|-fopenmp")
WITH_VALUE = ("-isystem", "-include")


def options_of(command):
  """Of a compiler's command: those that matter for reading a source."""
  words = iter(command)
  for word in words:
    if word in WITH_VALUE:
      yield from (word, next(words))
    elif KEPT.match(word):
      yield word


def commands(build, root):
  """{source, as ROOT names it: (compiler, options)} of all that is compiled there and is in the tree."""
  with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
    entries = json.load(file)
  found = {}
  for entry in entries:
    source = os.path.relpath(entry["file"], root)
    words = shlex.split(entry["command"])
    if not source.startswith("..") and os.path.relpath(build, root) not in source:
      compiler = next(word for word in words if re.search(r"(cc|\+\+)(-\d+)?$", word) and "ccache" not in word)
      found[source] = (compiler, list(options_of(words)))
  return found


def read_first(root, source):
  """The header of that name, if the source includes it first: it has to find all that it needs by itself."""
  header = source[:-3] + ".h"
  return header if first_include(root, source) == header else source


def compile_alone(root, source, compiler, options, ahead):
  """The compiler's complaint, or None."""
  # What is compiled ahead knows nothing of the macro that OpenMP defines.
  before = ahead.options(source) if source.endswith(".cc") and "-fopenmp" not in options else []
  run = subprocess.run([compiler, *options, "-fsyntax-only", *before, source], cwd=root, capture_output=True, text=True,
                       check=False)
  return None if run.returncode == 0 else f"{source}:1: does not compile by itself\n{run.stderr.strip()}"


def check(build, root, workers):
  """(complaints, number of sources)."""
  work = commands(build, root)
  passed = Passed(root)
  left = passed.unknown(work, lambda source: (source, [work[source][0], *work[source][1]]))
  sources = [source for source in left if source.endswith(".cc")]
  compiler = work[sources[0]][0] if sources else "c++"
  with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(workers) as pool:
    ahead = Ahead(root, folder, compiler, sources, pool, lambda source: read_first(root, source))
    complaints = passed.run(pool, left, lambda source: compile_alone(root, source, *work[source], ahead))
  return complaints, len(work)


def main():
  build, root = (os.path.realpath(folder) for folder in sys.argv[1:3])
  complaints, count = check(build, root, os.cpu_count())
  print("\n".join(complaints) if complaints else f"{count} sources compile by themselves")
  return 1 if complaints else 0


if __name__ == "__main__":
  sys.exit(main())
