#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libraries want of the machine that loads them: symbol_versions_test.py GLIBC LIBRARY... [--cpp GLIBCXX LIBRARY...] with the
newest versions that they may want. docs/start/install.md promises it. Only those behind --cpp want a C++ library."""

import argparse
import re
import subprocess
import sys
import unittest

LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
             # of an older glibc, and beside it
             "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1"}


def numbers(version):
  return tuple(int(part) for part in version.split("."))


class SymbolVersions(unittest.TestCase):
  most, paths = None, ()
  most_cpp, cpp_paths = None, ()

  def wanted(self, path):
    """(version, symbol) of the symbols that the library does not define."""
    text = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\*UND\*\s+[0-9a-f]+\s+\(?([A-Za-z_]+_[0-9.]+)\)?\s+(\S+)", text)

  def test_glibc_is_old_enough(self):
    for path in (*self.paths, *self.cpp_paths):
      self.nothing_newer(path, "GLIBC", self.most)

  def test_library_of_cpp_is_old_enough(self):
    for path in self.cpp_paths:
      self.nothing_newer(path, "GLIBCXX", self.most_cpp)

  def nothing_newer(self, path, library, most):
    found = re.findall(rf"{library}_([0-9.]+) (\S+)", "\n".join(" ".join(one) for one in self.wanted(path)))
    self.assertGreater(len(found), 20, f"{path}: objdump shows no versions")
    newer = [one for one in found if numbers(one[0]) > numbers(most)]
    self.assertEqual(newer, [], f"{path} wants more than {library} {most}")

  def test_no_library_of_cpp_is_wanted(self):
    for path in self.paths:
      other = [one for one in self.wanted(path) if one[0].startswith(("GLIBCXX", "CXXABI"))]
      self.assertEqual(other, [], path)
      text = subprocess.run(["objdump", "-p", path], check=True, capture_output=True, text=True).stdout
      self.assertLessEqual(set(re.findall(r"NEEDED\s+(\S+)", text)), LIBRARIES, path)


if __name__ == "__main__":
  parser = argparse.ArgumentParser()
  parser.add_argument("most")
  parser.add_argument("paths", nargs="+")
  parser.add_argument("--cpp", nargs="+", default=[None])
  args = parser.parse_args()
  SymbolVersions.most, SymbolVersions.paths = args.most, args.paths
  SymbolVersions.most_cpp, *SymbolVersions.cpp_paths = args.cpp
  unittest.main(argv=sys.argv[:1])
