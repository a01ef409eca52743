#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libraries want of the machine that loads them: symbol_versions_test.py GLIBC LIBRARY... with the newest GLIBC that they may
want. docs/start/install.md promises it. No C++ library is wanted, of any version."""

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

  def wanted(self, path):
    """(version, symbol) of the symbols that the library does not define."""
    text = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\*UND\*\s+[0-9a-f]+\s+\(?([A-Za-z_]+_[0-9.]+)\)?\s+(\S+)", text)

  def test_glibc_is_old_enough(self):
    for path in self.paths:
      found = [(version[len("GLIBC_"):], symbol) for version, symbol in self.wanted(path) if version.startswith("GLIBC_2")]
      self.assertGreater(len(found), 20, f"{path}: objdump shows no versions")
      newer = [one for one in found if numbers(one[0]) > numbers(self.most)]
      self.assertEqual(newer, [], f"{path} wants more than glibc {self.most}")

  def test_no_library_of_cpp_is_wanted(self):
    for path in self.paths:
      other = [one for one in self.wanted(path) if one[0].startswith(("GLIBCXX", "CXXABI"))]
      self.assertEqual(other, [], path)
      text = subprocess.run(["objdump", "-p", path], check=True, capture_output=True, text=True).stdout
      self.assertLessEqual(set(re.findall(r"NEEDED\s+(\S+)", text)), LIBRARIES, path)


if __name__ == "__main__":
  SymbolVersions.most, SymbolVersions.paths = sys.argv[1], sys.argv[2:]
  unittest.main(argv=sys.argv[:1])
