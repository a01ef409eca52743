#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All of the interface is weir's, preloaded and opened beside the vendor's: interface_test.py PROGRAM LIBRARY"""

import os
import subprocess
import sys
import unittest


class Interface(unittest.TestCase):
  program = answering = ""

  def run_program(self, **environment):
    return subprocess.run([self.program], env=dict(os.environ, WEIR_INTERFACE_FROM=self.answering, **environment),
                          capture_output=True, text=True, check=False)

  def passes(self, done):
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    self.assertIn("[  PASSED  ] 3 tests", done.stdout)
    self.assertNotIn("was called", done.stderr)

  def test_preloaded(self):
    done = self.run_program(LD_PRELOAD=self.answering)
    self.passes(done)
    self.assertNotIn("vendor", done.stderr)

  def test_opened_where_the_vendors_is_loaded_for_all(self):
    """As by programs that are told a path, beside a framework that was linked against the vendor's."""
    done = self.run_program(WEIR_INTERFACE_OPEN=self.answering)
    self.passes(done)
    self.assertIn("the vendor's library is loaded", done.stderr)


if __name__ == "__main__":
  Interface.program, Interface.answering = sys.argv[1], os.path.realpath(sys.argv[2])
  unittest.main(argv=sys.argv[:1])
