#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone: headers.py ROOT [--cxx COMPILER] [--cc COMPILER].

A header of the product whose .cc includes it first is compiled alone where each file is compiled by itself, as
sources.py does, and is skipped here. The C headers are compiled as C too.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import source_tree
from ahead import Ahead, CXX, WARNINGS
from passed import Passed

C_HEADERS = ("include/nccl.h", "include/nccl_params.h", "include/nccl_device.h", "include/nccl_device/absent.h",
             "include/nccl_device/host.h", "include/nccl_device/teams.h", "include/rccl/rccl.h", "include/weir/config.h", "include/weir/dump.h", "include/weir/failures.h", "include/weir/grains.h", "include/weir/net_stats.h", "include/weir/places.h", "include/weir/quantized.h", "include/weir/stream.h", "include/weir/unique_id.h")
# These need MPI's wrapper compilers or Gloo, which are there only where bench/compare is built, or PyTorch.
SKIPPED = ("bench/compare/", "python/")


def first_include(root, path):
  text = source_tree.without_comments(source_tree.read(root, path), keep_strings=True)
  for _, directive in source_tree.directives(text):
    found = re.match(r'include\s*[<"]([^>"]+)[>"]', directive)
    if found:
      return found.group(1)
  return None


def needs_compiling(root, header):
  if header.startswith(("include/", "tests/")):
    return True
  if header.startswith(SKIPPED):
    return False
  source = header[:-2] + ".cc"
  return not (os.path.isfile(os.path.join(root, source)) and first_include(root, source) == header)


def jobs(root, cxx, cc):
  """(header, compiler command) of everything to try."""
  for header in source_tree.source_files(root, (".h",)):
    if needs_compiling(root, header):
      yield header, (cxx, *CXX)
    if header in C_HEADERS:
      yield header, (cc, "-std=c11", "-Wstrict-prototypes", "-x", "c")


def compile_alone(root, header, command, ahead):
  """The compiler's complaint as 'header:1: ...' lines, or None."""
  language = "C" if command[-1] == "c" else "C++"
  options = ahead.options(header) if language == "C++" else []
  run = subprocess.run([*command, *WARNINGS, "-fsyntax-only", *options, "-I", ".", "-I", "include", "-"],
                       input=f'#include "{header}"\n', cwd=root, capture_output=True, text=True, check=False)
  if run.returncode == 0:
    return None
  hint = "a text that has to follow another header is an .inc"
  return f"{header}:1: does not compile alone as {language} ({hint})\n{run.stderr.strip()}"


def check(root, cxx="c++", cc="cc", workers=2):
  """(complaints, number of compilations)."""
  work = list(jobs(root, cxx, cc))
  passed = Passed(root)
  left = passed.unknown(work, lambda job: (job[0], [*job[1], *WARNINGS]))
  with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(workers) as pool:
    ahead = Ahead(root, folder, cxx, {header for header, _ in left}, pool)
    complaints = passed.run(pool, left, lambda job: compile_alone(root, *job, ahead))
  return complaints, len(work)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("root", nargs="?", default=".")
  parser.add_argument("--cxx", default="c++")
  parser.add_argument("--cc", default="cc")
  options = parser.parse_args()
  complaints, count = check(options.root, options.cxx, options.cc)
  print("\n".join(complaints) if complaints else f"{count} headers compile alone")
  return 1 if complaints else 0


if __name__ == "__main__":
  sys.exit(main())
