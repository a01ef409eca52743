#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LD_PRELOAD puts weir in the place of the library that a program was linked against: preload_test.py PROGRAM LIBRARY"""

import os
import subprocess
import sys
import unittest

# Threads and processes, graphs, devices, memory; every collective is in the first.
SOME = "ManyRanks.*:Graphs.*:OneThread.*:MemoryCalls.*:Captures.*:NonBlocking.*:Split.*"


class Preload(unittest.TestCase):
  program = answering = ""

  def run_program(self, *options, **environment):
    return subprocess.run([self.program, *options], env=dict(os.environ, **environment), capture_output=True, text=True,
                          check=False)

  def test_without_it_the_other_library_answers(self):
    done = self.run_program("--gtest_filter=ManyRanks.*")
    self.assertEqual(done.returncode, 86, done.stdout + done.stderr)
    self.assertRegex(done.stderr, r"the vendor's library is loaded\n(.|\n)*the vendor's nccl\w+ was called\n")

  def test_with_it_weir_answers_alone(self):
    done = self.run_program(f"--gtest_filter={SOME}", LD_PRELOAD=self.answering)
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    self.assertRegex(done.stdout, r"\[  PASSED  \] [1-9]\d* tests")
    self.assertNotIn("vendor", done.stderr)

  def test_the_log_says_which_library_answers(self):
    done = self.run_program("--gtest_filter=Split.*", LD_PRELOAD=self.answering, NCCL_DEBUG="INFO")
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    self.assertRegex(done.stdout + done.stderr, r"weir \d+\.\d+\.\d+|\+weir\d+\.\d+\.\d+")


if __name__ == "__main__":
  Preload.program, Preload.answering = sys.argv[1:3]
  unittest.main(argv=sys.argv[:1])
