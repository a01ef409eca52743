#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The libraries export the names of names.txt and no others, need nothing but the C library, and load on their own.

exports_test.py NAMES LIBRARY=SONAME...
"""

import ctypes
import os
import re
import subprocess
import sys
import unittest

ALLOWED_NEEDED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libpthread.so.0",
                  "libdl.so.2", "librt.so.1"}


def read_names(path):
  """{exported name: 'T' or 'W'}; every line of the file is one function."""
  expected = {}
  with open(path, encoding="utf-8") as file:
    for line in file:
      words = line.split("#")[0].split()
      if not words:
        continue
      name, alone = words[0], words[2:] == ["!"]
      assert len(words) == 2 or alone, line
      expected[name] = "T" if alone else "W"
      if not alone:
        expected["p" + name] = "T"
  return expected


def exported(library):
  """{name: kind} of what the library defines for others."""
  lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
  return {name: kind for _, kind, name in (line.split() for line in lines.splitlines())}


def dynamic(library, tag):
  text = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
  return re.findall(rf"\({tag}\).*\[(.*)\]", text)


class Exports(unittest.TestCase):
  names = {}
  libraries = {}

  def each(self):
    for library, soname in self.libraries.items():
      with self.subTest(library=os.path.basename(library)):
        yield library, soname

  def test_the_list_covers_nccl_2_28_9(self):
    plain = {name for name in self.names if name.startswith("nccl")}
    self.assertGreaterEqual(len(plain), 53)
    self.assertIn("ncclResetDebugInitInternal", plain)

  def test_exactly_the_names_of_the_list(self):
    for library, _ in self.each():
      found = exported(library)
      self.assertEqual(sorted(set(self.names) - set(found)), [], "missing")
      self.assertEqual(sorted(set(found) - set(self.names)), [], "not in the list")

  def test_plain_names_are_weak_and_their_twins_strong(self):
    for library, _ in self.each():
      self.assertEqual({n: k for n, k in exported(library).items() if k != self.names.get(n)}, {})

  def test_soname(self):
    for library, soname in self.each():
      self.assertEqual(dynamic(library, "SONAME"), [soname])

  def test_nothing_but_the_c_library_is_needed(self):
    for library, _ in self.each():
      self.assertLessEqual(set(dynamic(library, "NEEDED")), ALLOWED_NEEDED)

  def test_calls_among_its_names_stay_inside(self):
    """A vendor's library that was loaded for all has the same names, and would be called instead."""
    for library, _ in self.each():
      text = subprocess.run(["readelf", "-rW", library], check=True, capture_output=True, text=True).stdout
      self.assertEqual(set(self.names) & set(text.split()), set())

  def test_loads_with_everything_bound_at_once(self):
    code = ("import ctypes, os, sys; library = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW); version = ctypes.c_int(); "
            "sys.exit(library.ncclGetVersion(ctypes.byref(version)) or version.value != 23203)")
    environment = {key: value for key, value in os.environ.items() if key != "WEIR_NCCL_VERSION"}
    for library, _ in self.each():
      subprocess.run([sys.executable, "-c", code, library], check=True, env=environment)

  def test_the_version_can_be_chosen_and_the_log_says_weir(self):
    code = ("import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); version = ctypes.c_int(); "
            "library.ncclGetVersion(ctypes.byref(version)); unique_id = ctypes.create_string_buffer(128); "
            "[library.ncclGetUniqueId(unique_id) for _ in range(2)]; print(version.value)")
    for library, _ in self.each():
      environment = dict(os.environ, WEIR_NCCL_VERSION="22809", NCCL_DEBUG="VERSION", PYTHONUNBUFFERED="1")
      run = subprocess.run([sys.executable, "-c", code, library], check=True, env=environment, capture_output=True,
                           text=True)
      self.assertRegex(run.stdout, r"^NCCL version 2\.28\.9\+weir\d+\.\d+\.\d+\n22809\n$")

  def test_all_three_in_one_process(self):
    """Copies of the library do not disturb each other: each has its own runtime."""
    for library, _ in self.each():
      loaded = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_LOCAL)
      self.assertEqual(loaded.ncclGroupEnd(), 5)
      loaded.ncclGetLastError.restype = ctypes.c_char_p
      self.assertIn(b"ncclGroupEnd", loaded.ncclGetLastError(None))


if __name__ == "__main__":
  Exports.names = read_names(sys.argv[1])
  Exports.libraries = dict(argument.rsplit("=", 1) for argument in sys.argv[2:])
  unittest.main(argv=sys.argv[:1])
