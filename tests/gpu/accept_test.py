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
import tarfile
import tempfile
import time
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

  def build_of(self, **scripts):
    """A build folder whose bench programs are these scripts."""
    folder = os.path.join(self.out, "build")
    os.makedirs(os.path.join(folder, "bin"))
    for name, text in scripts.items():
      path = os.path.join(folder, "bin", name)
      with open(path, "w", encoding="utf-8") as script:
        script.write("#!/bin/bash\n" + text)
      os.chmod(path, 0o755)
    return folder

  def hanging(self):
    """A program that SIGTERM does not end, and the file that then has its process id."""
    begun = os.path.join(self.out, "begun")
    return f"trap '' TERM\necho 'it hangs'\necho $$ >{begun}.new\nmv {begun}.new {begun}\nwhile :; do sleep 1; done\n", begun

  def wait_for_the_end_of(self, begun):
    with open(begun, encoding="utf-8") as file:
      path = f"/proc/{file.read().strip()}/stat"
    while True:  # killed, and maybe not waited for yet
      try:
        with open(path, encoding="utf-8") as stat:
          if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
            return
      except (FileNotFoundError, ProcessLookupError):
        return
      time.sleep(0.05)

  def archived(self, folder=None):
    with tarfile.open(os.path.join(folder or self.out, "accept.tgz")) as archive:
      return archive.getnames()

  def test_a_step_that_hangs_or_is_killed_does_not_stop_the_rest(self):
    hangs, begun = self.hanging()
    build = self.build_of(all_reduce_perf=hangs, all_gather_perf="echo 'it is large'; kill -9 $$\n", broadcast_perf="echo right\n")
    code, rows, text = self.accept("--fake", "--only", "^(all_reduce.threads.2|all_gather.threads.4|broadcast.threads.4)$",
                                   ACCEPT_BUILD=build, ACCEPT_STEP_SECONDS="3")
    self.assertEqual(code, 1, text)
    self.assertEqual(rows["all_reduce.threads.2"], ("failed", "not done within 3 s: it hangs"), text)
    self.wait_for_the_end_of(begun)
    self.assertEqual(rows["all_gather.threads.4"],
                     ("failed", "killed (SIGKILL), as Linux does where memory runs out: it is large"), text)
    self.assertEqual(rows["broadcast.threads.4"], ("passed", "right"), text)
    self.assertIn("./logs/all_reduce.threads.2.log", self.archived())

  def test_a_step_is_stopped_without_blame_when_all_time_is_over(self):
    hangs, begun = self.hanging()
    code, rows, text = self.accept("--fake", "--only", "^all_reduce.threads.2$", ACCEPT_SECONDS="14",
                                   ACCEPT_BUILD=self.build_of(all_reduce_perf=hangs))
    self.assertEqual(code, 0, text)
    self.assertEqual(rows["all_reduce.threads.2"][0], "skipped", text)
    self.assertIn("as no time is left of 14 s: it hangs", rows["all_reduce.threads.2"][1])
    self.wait_for_the_end_of(begun)

  def test_who_stops_it_has_the_archive(self):
    hangs, begun = self.hanging()
    environment = os.environ | {"OUT": self.out, "ACCEPT_BUILD": self.build_of(all_reduce_perf=hangs)}
    script = subprocess.Popen([os.path.join(self.scripts, "accept.sh"), "--fake", "--only", "^all_reduce.threads"],
                              env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while not os.path.exists(begun):
      time.sleep(0.05)
    script.terminate()
    text = script.communicate()[0]
    self.assertEqual(script.returncode, 1, text)
    self.assertIn("the script got SIGTERM; the other steps did not run", text)
    self.wait_for_the_end_of(begun)
    self.assertIn("./table.txt", self.archived())

  def test_a_full_disk_is_named_and_the_archive_goes_elsewhere(self):
    tiny, elsewhere = os.path.join(self.out, "tiny"), os.path.join(self.out, "elsewhere")
    os.mkdir(tiny)
    os.mkdir(elsewhere)
    mount = ["unshare", "-rm", "bash", "-c", f"mount -t tmpfs -o size=16k tiny {tiny} && exec \"$@\"", "-"]
    if subprocess.run([*mount, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
      self.skipTest("no file system can be mounted here")
    build = self.build_of(all_reduce_perf="yes | head -c 100000\necho right\n", broadcast_perf="echo right\n")
    environment = os.environ | {"OUT": tiny, "TMPDIR": elsewhere, "ACCEPT_BUILD": build}
    done = subprocess.run([*mount, os.path.join(self.scripts, "accept.sh"), "--fake", "--only",
                           "^(all_reduce.threads.2|broadcast.threads.4)$"], env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    self.assertEqual(done.returncode, 1, done.stdout)
    self.assertIn(f"less than 1048576 bytes are free in {tiny}", done.stdout)
    self.assertRegex(done.stdout, rf"all_reduce.threads.2 .*{tiny} is full")
    self.assertIn("accept.tgz could not be written", done.stdout)
    self.assertIn("./logs/all_reduce.threads.2.log", self.archived(os.path.join(elsewhere, os.listdir(elsewhere)[0])))

  def test_the_driver_is_named_and_has_to_be_real_and_new(self):
    code, rows, text = self.accept("--fake", "--only", "^driver$")
    self.assertEqual(code, 0, text)
    self.assertRegex(rows["driver"][1], "fake_cuda/libcuda.so.1, version 13.0, 1 GPU, the first one: ")
    code, rows, text = self.accept("--fake", "--only", "^driver$", WEIR_FAKE_GPU_VERSION="11040")
    self.assertEqual(code, 1, text)
    self.assertIn("is for CUDA 11.4; expected 11.7 (driver 515) or newer", rows["driver"][1])
    code, rows, text = self.accept("--only", "^driver$", LD_LIBRARY_PATH=os.path.join(self.build, "tests", "fake_cuda"))
    self.assertEqual(code, 1, text)
    self.assertRegex(rows["driver"][1], "was loaded; expected a real driver|failed with error|cannot be loaded")

  def test_what_does_not_fit_into_the_time_is_skipped(self):
    code, rows, text = self.accept("--fake", "--only", "^topo", ACCEPT_SECONDS="0")
    self.assertEqual(code, 0, text)
    self.assertEqual(rows["topo.record"], ("skipped", "no time is left of 0 s"), text)

  def test_a_pack_runs_elsewhere(self):
    folder = tempfile.mkdtemp()  # not self.out, all of which accept.sh archives
    self.addCleanup(shutil.rmtree, folder)
    pack = os.path.join(folder, "pack.tar.gz")
    code, _, text = self.accept("--pack", pack)
    self.assertEqual(code, 0, text)
    self.assertLess(os.path.getsize(pack), 64 << 20)
    code, rows, text = self.accept("--fake", "--packed", pack, "--only", "^(unpack|topo.record|all_reduce.threads.2)$",
                                   ACCEPT_BUILD="/nowhere")
    self.assertEqual(code, 0, text)
    self.assertEqual({row[0] for row in rows.values()}, {"passed"}, text)
    self.assertEqual(len(rows), 3, text)
    self.assertIn("all as they were packed", rows["unpack"][1])
    files = os.path.join(folder, "files")
    shutil.unpack_archive(pack, files, "gztar")
    os.remove(os.path.join(files, "bin", "all_reduce_perf"))
    with open(os.path.join(files, "lib", "libnccl.so.2"), "r+b") as library:
      library.truncate(1000)
    subprocess.run(["tar", "-C", files, "-cf", pack, "."], check=True)  # tar tells by itself that nothing is compressed
    code, rows, text = self.accept("--fake", "--packed", pack, "--only", "^(unpack|topo.record|all_reduce.threads.2)$",
                                   ACCEPT_BUILD="/nowhere")
    self.assertEqual(code, 1, text)
    self.assertRegex(rows["unpack"][1], r"^2 of \d+ files of the pack are missing or damaged: ")
    for file in ("bin/all_reduce_perf", "lib/libnccl.so.2"):
      self.assertIn(file, rows["unpack"][1])
    self.assertEqual(rows["topo.record"][0], "passed", text)
    self.assertEqual(rows["all_reduce.threads.2"], ("skipped", "all_reduce_perf is not in the pack"), text)
    with open(pack, "r+b") as file:
      file.truncate(100)
    code, rows, text = self.accept("--fake", "--packed", pack, "--only", "^unpack$", ACCEPT_BUILD="/nowhere")
    self.assertEqual(code, 1, text)
    self.assertIn("is no file of accept.sh --pack, or damaged", rows["unpack"][1])

  def test_wrong_options_are_refused(self):
    self.assertEqual(self.accept("--sideways")[0], 2)
    self.assertEqual(self.accept("--only")[0], 2)
    self.assertIn("torch.graph.2, at most 40 s", self.accept("--list")[2])


if __name__ == "__main__":
  Accept.scripts, Accept.build = sys.argv[1:3]
  unittest.main(argv=sys.argv[:1])
