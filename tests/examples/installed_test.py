#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs weir, moves it, and builds and runs the programs of examples/ against it in each documented way:
installed_test.py BUILD_FOLDER SOURCE_FOLDER."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from commands import environment, run

STRICT = "-Wall -Wextra -Wpedantic -Werror"


class Installed(unittest.TestCase):
  build = source = None

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.mkdtemp()
    cls.prefix = os.path.join(cls.folder, "second")
    run(["cmake", "--install", cls.build, "--prefix", os.path.join(cls.folder, "first")])
    os.rename(os.path.join(cls.folder, "first"), cls.prefix)  # nothing may remember where it was installed
    cls.weir = os.path.join(cls.prefix, "bin", "weir")

  @classmethod
  def tearDownClass(cls):
    shutil.rmtree(cls.folder)

  def example(self, *names):
    return os.path.join(self.source, "examples", *names)

  def built_by_cmake(self, name):
    folder = os.path.join(self.folder, name)
    run(["cmake", "-G", "Ninja", "-S", self.example(name), "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}",
         f"-DCMAKE_C_FLAGS={STRICT}", f"-DCMAKE_CXX_FLAGS={STRICT}"])
    run(["cmake", "--build", folder])
    return folder

  def check_all_reduce(self, program, **more):
    text = run([self.weir, "run", "-n", "3", "--plain", "--", program], env=environment(**more))
    self.assertEqual(text, "3 ranks, 1000000 values each: 0 sums are wrong\n")

  def test_c_and_cpp_by_cmake(self):
    folder = self.built_by_cmake("c_api")
    self.check_all_reduce(folder + "/all_reduce")
    self.assertEqual(run([folder + "/ring", "4"]), "4 ranks, each has seen the sum 10: right\n")
    self.assertEqual(run([folder + "/ring", "none"], status=2), "")

  def test_c_and_cpp_by_pkg_config(self):
    folder = shutil.copytree(self.example("c_api"), os.path.join(self.folder, "by_pkg_config"))
    package = next(path for path, _, names in os.walk(self.prefix) if "weir.pc" in names)
    run(["make", "-C", folder, f"PKG_CONFIG_PATH={package}", "CC=cc", "CXX=c++"])
    self.check_all_reduce(folder + "/all_reduce")
    self.assertEqual(run([folder + "/ring"]), "3 ranks, each has seen the sum 6: right\n")

  def test_c_by_one_line_from_the_build_folder(self):
    program = os.path.join(self.folder, "by_cc")
    run(["cc", f"-I{self.source}/include", self.example("c_api", "all_reduce.c"), f"-L{self.build}/lib", "-lweir", "-o", program])
    self.check_all_reduce(program, LD_LIBRARY_PATH=f"{self.build}/lib")

  def test_c_says_what_is_missing(self):
    program = os.path.join(self.folder, "alone")
    run(["cc", f"-I{self.source}/include", self.example("c_api", "all_reduce.c"), f"-L{self.build}/lib", "-lweir", "-o", program])
    alone = environment(LD_LIBRARY_PATH=f"{self.build}/lib", RANK="0", WORLD_SIZE="2")
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=alone)
    self.assertEqual((done.returncode, done.stdout), (1, ""))
    self.assertIn("NCCL_COMM_ID is not set", done.stderr)

  def test_each_program_tells_its_version_and_has_examples_but_no_names_of_the_code(self):
    programs = sorted(os.listdir(os.path.join(self.prefix, "bin")))
    self.assertIn("weir", programs)
    for name in programs:
      program = os.path.join(self.prefix, "bin", name)
      self.assertRegex(run([program, "--version"]), r"weir \d+\.\d+\.\d+\n$")
      text = run([program, "--help"])
      self.assertNotRegex(text, r"->\d|ENUM|::", name)
      if name != "weir":
        self.assertIn("Examples:\n  ", text)

  def test_ctypes(self):
    library = next(path for path, _, names in os.walk(self.prefix) if "libnccl.so.2" in names)
    text = run([sys.executable, self.example("python", "ctypes_allreduce.py")], env=environment(LD_LIBRARY_PATH=library))
    self.assertEqual(text, "3 processes agree\n")

  def test_the_planner(self):
    folder = self.built_by_cmake("planner")
    text = run([folder + "/planner", "4 x (1 gpu pcie 50, 1 nic 25) leaf by 2 4:1 spine 2"])
    self.assertRegex(text, r"(?s)^leaf0: host0 host1\n  all-reduce over 2 devices: at most 25 GB/s, as .*"
                           r"best plan: .*, 25 GB/s, 0\.00 % over the least time\nleaf1: host2 host3\n")
    wrong = subprocess.run([folder + "/planner", "nowhere.txt"], capture_output=True, text=True, check=False)
    self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
    self.assertIn("planner: there is no file nowhere.txt; expected a topology file", wrong.stderr)


if __name__ == "__main__":
  Installed.build, Installed.source = (os.path.abspath(path) for path in sys.argv[1:3])
  unittest.main(argv=sys.argv[:1])
