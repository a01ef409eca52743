#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs linked against NCCL 2.19 to 2.32 start with our library: linked_versions_test.py NAMES LIBRARY COMPILER

For each version a program is made that takes the addresses of all names that the version has, by NAMES (src/api/names.txt), and
is linked so that all are bound when it starts (-z now), against a library of that version's names alone, as a client is. How many
names each version exports is stated here, counted in NVIDIA's libraries.
"""

import os
import subprocess
import sys
import tempfile
import unittest

# The number of functions that NVIDIA's library of that version exports.
COUNTS = {"2.19.3": 62, "2.20.5": 62, "2.21.5": 62, "2.22.3": 64, "2.23.4": 66, "2.24.3": 68, "2.25.1": 68, "2.26.5": 68,
          "2.27.7": 74, "2.28.9": 105, "2.29.2": 127, "2.29.7": 137, "2.30.7": 165, "2.31.2": 191, "2.32.3": 193}
# Declared by NVIDIA's header, but not exported by its library.
DECLARED_ONLY = {"ncclCftBarrierCreateRequirement", "pncclCftBarrierCreateRequirement"}

MAIN = """#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int ncclGetVersion(int*);
{declarations}
static void* const all[] = {{{addresses}}};
int main(int argc, char** argv) {{
  Dl_info from;
  char* ours = realpath(argv[argc - 1], NULL);
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {{
    char* file = dladdr(all[i], &from) ? realpath(from.dli_fname, NULL) : NULL;
    if (file == NULL || strcmp(file, ours) != 0) return printf("%s is of %s\\n", from.dli_sname, file), 1;
    free(file);
  }}
  int version = 0;
  if (ncclGetVersion(&version) != 0) return 2;
  return printf("%d\\n", version) < 0;
}}
"""


def number(version):
  return tuple(int(part) for part in version.split("."))


class LinkedVersions(unittest.TestCase):
  names = {}
  shared_object = compiler = ""

  def of(self, version):
    """The names of that version; twins included."""
    return [name for name, since in sorted(self.names.items()) if number(since) <= number(version)]

  def run_command(self, *command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    self.assertEqual(done.returncode, 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout

  def compile(self, path, text, *flags):
    with open(path + ".c", "w", encoding="utf-8") as file:
      file.write(text)
    self.run_command(self.compiler, "-w", "-D_GNU_SOURCE", "-fno-builtin", path + ".c", "-o", path, *flags)

  def test_each_version_has_as_many_names_as_nvidias(self):
    self.assertEqual({version: len(set(self.of(version)) - DECLARED_ONLY) for version in COUNTS}, COUNTS)

  def test_a_program_of_each_version_starts(self):
    for version in COUNTS:
      with self.subTest(version=version), tempfile.TemporaryDirectory() as folder:
        names = self.of(version)
        theirs = os.path.join(folder, "libnccl.so.2")
        self.compile(theirs, "".join(f"void {name}(void) {{}}\n" for name in names), "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2")
        program = os.path.join(folder, "program")
        others = [name for name in names if name != "ncclGetVersion"]
        text = MAIN.format(declarations="".join(f"void {name}(void);\n" for name in others), addresses=", ".join(names))
        self.compile(program, text, theirs, "-Wl,-z,now", "-fPIC", "-pie", "-ldl")
        os.remove(theirs)
        self.assertIn("NOW", self.run_command("readelf", "-d", program))
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(self.shared_object))
        environment.pop("WEIR_NCCL_VERSION", None)
        said = self.run_command(program, self.shared_object, env=environment)
        self.assertGreaterEqual(int(said), int("{0}{1:02}{2:02}".format(*number(version))))

  def test_a_name_that_is_missing_is_noticed(self):
    with tempfile.TemporaryDirectory() as folder:
      theirs, program = os.path.join(folder, "libnccl.so.2"), os.path.join(folder, "program")
      self.compile(theirs, "void ncclNever(void) {}\nvoid ncclGetVersion(void) {}\n", "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2")
      self.compile(program, MAIN.format(declarations="void ncclNever(void);", addresses="ncclNever"), theirs, "-Wl,-z,now",
                   "-fPIC", "-pie", "-ldl")
      os.remove(theirs)
      done = subprocess.run([program, self.shared_object], capture_output=True, text=True, check=False,
                            env=dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(self.shared_object)))
      self.assertNotEqual(done.returncode, 0)
      self.assertIn("ncclNever", done.stderr)


def read_names(path):
  """{name: since} of NCCL's names and their twins."""
  found = {}
  with open(path, encoding="utf-8") as file:
    for line in file:
      words = line.split("#")[0].split()
      if words and words[1] not in ("rccl", "weir"):
        found[words[0]] = words[1]
        if words[2:] != ["!"]:
          found["p" + words[0]] = words[1]
  return found


if __name__ == "__main__":
  LinkedVersions.names = read_names(sys.argv[1])
  LinkedVersions.shared_object, LinkedVersions.compiler = os.path.abspath(sys.argv[2]), sys.argv[3]
  unittest.main(argv=sys.argv[:1])
