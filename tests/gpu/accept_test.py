#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accept.sh on the stand-in of a driver: its table, its exit codes, its limits, its packed form.

accept_test.py FOLDER BUILD_FOLDER, the first being that of accept.sh.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOME = "^(topo|unit|all_reduce.threads.2|all_reduce.graph|all_reduce.processes.2|all_reduce.middle.[a-z]*.2|ring|speed|torch.collectives.2|torch.train.2|sanitizer)"


class Accept(unittest.TestCase):
  scripts = build = None

  def setUp(self):
    self.out = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, self.out)

  def accept(self, *options, **environment):
    """(exit code, {step: (result, sentence)}, all that was printed)."""
    keep = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_FAKE_")}
    keep |= {"OUT": self.out, "ACCEPT_BUILD": self.build, **environment}
    done = subprocess.run([os.path.join(self.scripts, "accept.sh"), *options], env=keep, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    rows = {}
    for line in done.stdout.splitlines():
      row = re.match(r"\| (\S+) +\| (passed|failed|skipped) *\| +\d+ \| (.*)$", line)
      if row:
        rows[row.group(1)] = (row.group(2), row.group(3))
    return done.returncode, rows, done.stdout

  def test_the_table_says_what_passed_and_why_not(self):
    code, rows, text = self.accept("--fake", "--only", SOME)
    self.assertEqual(code, 0, text)
    for step in ("topo.record", "topo.replay", "unit.device", "all_reduce.threads.2", "all_reduce.graph.4",
                 "all_reduce.processes.2", "ring.by_hand"):
      self.assertEqual(rows[step][0], "passed", text)
    self.assertEqual(rows["unit.device"][1], "[ PASSED ] 7 tests.")
    self.assertEqual(rows["sanitizer.kernels"], ("skipped", "kernels of the stand-in are host code"))
    self.assertEqual(rows["speed"], ("skipped", "a stand-in's speed says nothing about a GPU"))
    for step in ("torch.collectives.2", "torch.train.2"):  # where PyTorch is installed
      self.assertIn(rows[step], (("skipped", "PyTorch is not installed"), ("passed", rows[step][1])), text)
    with open(os.path.join(self.out, "table.txt"), encoding="utf-8") as table:
      self.assertIn(table.read().strip().splitlines()[-1], text)
    self.assertIn("machine", os.listdir(self.out))
    with open(os.path.join(self.out, "logs", "speed.log"), encoding="utf-8") as log:
      figures = log.read()
    self.assertRegex(figures, r"2 processes, times slower than one process with 2 ranks at \d+ B: \d")
    self.assertRegex(figures, r"ring of 2 ranks at \d+ B, times slower interpreted than by hand: \d")

  def test_a_step_that_fails_fails_the_whole(self):
    code, rows, text = self.accept("--fake", "--only", "^(topo.record|all_reduce.threads.1)$", WEIR_FAKE_GPU_FAULTS="init")
    self.assertEqual(code, 1, text)
    self.assertEqual(rows["topo.record"][0], "passed", text)
    self.assertEqual(rows["all_reduce.threads.1"][0], "failed", text)
    self.assertIn("--device cuda: starting the driver failed: ", rows["all_reduce.threads.1"][1])
    self.assertIn("1 passed, 1 failed, 0 skipped", text)

  def test_what_does_not_fit_into_the_time_is_skipped(self):
    code, rows, text = self.accept("--fake", "--only", "^topo", ACCEPT_SECONDS="0")
    self.assertEqual(code, 0, text)
    self.assertEqual(rows["topo.record"], ("skipped", "no time is left of 0 s"), text)

  def test_a_pack_runs_elsewhere(self):
    pack = os.path.join(self.out, "pack.tar.gz")
    code, _, text = self.accept("--pack", pack)
    self.assertEqual(code, 0, text)
    self.assertLess(os.path.getsize(pack), 64 << 20)
    code, rows, text = self.accept("--fake", "--packed", pack, "--only", "^(unpack|topo.record|all_reduce.threads.2)$",
                                   ACCEPT_BUILD="/nowhere")
    self.assertEqual(code, 0, text)
    self.assertEqual({row[0] for row in rows.values()}, {"passed"}, text)
    self.assertEqual(len(rows), 3, text)

  def test_wrong_options_are_refused(self):
    self.assertEqual(self.accept("--sideways")[0], 2)
    self.assertEqual(self.accept("--only")[0], 2)
    self.assertIn("torch.graph.2, at most 40 s", self.accept("--list")[2])


if __name__ == "__main__":
  Accept.scripts, Accept.build = sys.argv[1:3]
  unittest.main(argv=sys.argv[:1])
