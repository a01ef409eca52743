# SPDX-License-Identifier: Apache-2.0
"""The driver's arithmetic, and that candidates which fail are told apart from candidates which are slow."""

import contextlib
import io
import os
import stat
import tempfile
import unittest

import candidates
import compare
import table


def row(candidate, median, repetition=0, mixed=False, size=8):
  return {"op": "all_reduce", "ranks": 2, "bytes": size, "candidate": candidate, "repetition": repetition,
          "median_us": median, "avg_us": median, "min_us": median, "calls": 1, "ok": True, "probe_us": 0.1, "mixed": mixed}


class Ratios(unittest.TestCase):

  def test_they_compare_neighbours_in_time(self):
    # The machine was twice as slow in repetition 1: the medians would say 1.33.
    rows = [row("weir", 1, 0), row("openmpi", 2, 0), row("weir", 2, 1), row("openmpi", 4, 1), row("weir", 2, 2),
            row("openmpi", 4, 2)]
    point = table.times_of(rows)[("all_reduce", 2, 8)]
    self.assertEqual(table.ratio(point, "weir", ["openmpi"]), 0.5)

  def test_the_best_peer_counts(self):
    point = table.times_of([row("weir", 3), row("openmpi", 4), row("mpich", 2)])[("all_reduce", 2, 8)]
    self.assertEqual(table.ratio(point, "weir", ["openmpi", "mpich"]), 1.5)

  def test_without_a_peer_there_is_none(self):
    point = table.times_of([row("weir", 3)])[("all_reduce", 2, 8)]
    self.assertIsNone(table.ratio(point, "weir", ["openmpi"]))

  def test_mixed_repetitions_are_left_out_while_there_are_others(self):
    rows = [row("weir", 1, 0), row("weir", 9, 1, mixed=True)]
    self.assertEqual(table.times_of(rows)[("all_reduce", 2, 8)], {"weir": {0: 1}})
    self.assertEqual(table.times_of(rows[1:])[("all_reduce", 2, 8)], {"weir": {1: 9}})


class Tables(unittest.TestCase):

  def test_markdown(self):
    text = table.markdown(table.times_of([row("weir", 1), row("openmpi", 4), row("openmpi_sm", 2),
                                           row("gloo", 100, size=1024)]))
    first = [cell.strip() for cell in text.splitlines()[2].split("|")]
    self.assertEqual(first[1:5], ["all_reduce", "2", "8 B", "2.00"])
    self.assertIn("0.50", first)
    self.assertIn("openmpi_sm", first)
    self.assertIn("1 KiB", text)
    self.assertNotIn("mpich", text)  # nobody ran it

  def test_the_limit_counts_where_bytes_decide(self):
    rows = [row(name, value, size=size) for size in (8, 64 << 10)
            for name, value in (("weir", 3), ("limit_cached", 2), ("limit_streaming", 4))]
    points = table.times_of(rows)
    self.assertEqual(table.summary(points), ["all_reduce, 2 ranks: weir / limit: geometric mean 1.50, worst 1.50 at 64 KiB"])
    self.assertEqual([line.count("1.50") for line in table.markdown(points).splitlines()[2:]], [0, 1])

  def test_ratios_that_no_row_has_are_left_out(self):
    text = table.markdown(table.times_of([row("weir", 1), row("openmpi", 4)]))
    self.assertIn("weir / best peer", text)
    self.assertNotIn("limit", text)

  def test_summary(self):
    lines = table.summary(table.times_of([row("weir", 1), row("openmpi", 4), row("weir", 1, size=1024),
                                          row("openmpi", 1, size=1024)]))
    self.assertEqual(lines, ["all_reduce, 2 ranks: weir / best peer: geometric mean 0.50, worst 1.00 at 1 KiB"])


class Options(unittest.TestCase):

  def test_sizes(self):
    options = compare.parse(["--sizes", "8,64K,4M"])
    self.assertEqual(options.sizes, [8, 64 << 10, 4 << 20])
    self.assertEqual(options.ops, list(candidates.OPS))

  def test_unknown_operation(self):
    said = io.StringIO()
    with self.assertRaises(SystemExit), contextlib.redirect_stderr(said):
      compare.parse(["--ops", "all_redcue"])
    self.assertIn("unknown operation 'all_redcue'", said.getvalue())


class Running(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    os.mkdir(os.path.join(self.folder.name, "bin"))

  def tearDown(self):
    self.folder.cleanup()

  def program(self, text):
    path = os.path.join(self.folder.name, "bin", "fake")
    with open(path, "w", encoding="utf-8") as file:
      file.write("#!/bin/sh\n" + text)
    os.chmod(path, stat.S_IRWXU)
    return candidates.Candidate("fake", "gloo", "fake")

  def test_results(self):
    fake = self.program("echo noise; echo '{\"bytes\":8,\"median_us\":1.5}'")
    self.assertEqual(candidates.run(fake, self.folder.name, 2, [], 10), [{"bytes": 8, "median_us": 1.5}])

  def test_a_failure_says_what_the_program_said(self):
    fake = self.program("echo 'no route' >&2; exit 3")
    with self.assertRaisesRegex(candidates.Failed, "exit code 3: no route"):
      candidates.run(fake, self.folder.name, 2, [], 10)

  def test_no_end(self):
    fake = self.program("sleep 100 & sleep 100")
    with self.assertRaisesRegex(candidates.Failed, "did not end within"):
      candidates.run(fake, self.folder.name, 2, [], 0.2)

  def test_what_was_not_built_is_missing(self):
    absent = candidates.Candidate("absent", "gloo", "absent")
    self.assertIn("was not built", absent.missing(self.folder.name))
    self.assertIsNone(self.program("").missing(self.folder.name))

  def test_a_peer_of_the_index_is_told_how_to_install(self):
    named = {candidate.name: candidate for candidate in candidates.CANDIDATES}
    self.assertIn("install_peers.py --build", named["mpich5_release_gather"].missing(self.folder.name))
    self.assertEqual(named["intelmpi"].command("b", 2, "c")[0], os.path.abspath("b/compare-peers/intelmpi/bin/mpiexec.hydra"))


if __name__ == "__main__":
  unittest.main()
