#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages that cpack makes of a build: packages_test.py BUILD_FOLDER SOURCE_FOLDER. The tarball works wherever it is unpacked;
the .deb files hold what docs/start/install.md says, depend on each other, and start no service. Skipped without dpkg-dev."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from commands import environment, run

SKIPPED = 77
DEBS = {
    "libweir0": ["libweir.so.0", "libweir_mpi.so", "nccl-compat/libnccl.so.2", "rccl-compat/librccl.so.1"],
    "weir": ["bin/weir", "bin/all_reduce_perf", "man/man1/weir-plan.1.gz", "man/man1/all_reduce_perf.1.gz",
             "bash-completion/completions/weir", "doc/weir/examples/fabric.txt"],
    "libweir-dev": ["include/weir-compat/nccl.h", "include/weir/plan.h", "libweir.so", "pkgconfig/weir.pc",
                    "nccl-compat/pkgconfig/nccl.pc", "cmake/weir/weirConfig.cmake"],
    "weir-train": ["bin/weir-train", "man/man1/weir-train.1.gz"],
}


class Packages(unittest.TestCase):
  build = source = None

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.mkdtemp()
    # What is in them is looked at, not how small they are.
    run(["cpack", "--config", f"{cls.build}/CPackConfig.cmake", "-G", "DEB;TGZ", "-B", cls.folder],
        env=environment(DPKG_DEB_COMPRESSOR_LEVEL="0"))
    names = os.listdir(cls.folder)
    cls.debs = {name.split("_")[0]: os.path.join(cls.folder, name) for name in names if name.endswith(".deb")}
    cls.tarball = os.path.join(cls.folder, next(name for name in names if name.endswith(".tar.gz")))

  @classmethod
  def tearDownClass(cls):
    shutil.rmtree(cls.folder)

  def expected(self):
    trains = os.path.exists(f"{self.build}/bin/weir-train")
    return {name: files for name, files in DEBS.items() if trains or name != "weir-train"}

  def test_each_deb_holds_its_files_and_no_other_has_them(self):
    self.assertEqual(set(self.debs), set(self.expected()))
    seen = {}
    for name, path in self.debs.items():
      files = [line.split()[5] for line in run(["dpkg-deb", "-c", path]).splitlines() if not line.startswith("d")]
      for wanted in self.expected()[name]:
        self.assertTrue(any(file.endswith("/" + wanted) for file in files), f"{name} has no {wanted}: {files}")
      for file in files:
        self.assertNotIn(file, seen, f"{name} and {seen.get(file)} have it")
        seen[file] = name
        self.assertTrue(file.startswith("./usr/"), file)
        self.assertNotRegex(file, r"/systemd/|/init\.d/")

  def test_debs_depend_on_the_library_of_the_same_release(self):
    release = run(["dpkg-deb", "-f", self.debs["libweir0"], "Version"]).strip()
    for name, path in self.debs.items():
      depends = run(["dpkg-deb", "-f", path, "Depends"])
      if name == "libweir0":
        self.assertIn("libc6", depends)
      else:
        self.assertIn(f"libweir0 (= {release})", depends)

  def test_the_tarball_works_where_it_is_unpacked(self):
    place = os.path.join(self.folder, "some where")
    os.mkdir(place)
    run(["tar", "xf", self.tarball, "-C", place, "--strip-components", "1"])
    self.assertRegex(run([f"{place}/bin/weir", "--version"]), r"^weir \d")
    text = run([f"{place}/bin/all_reduce_perf", "--ranks", "2", "-b", "8", "-e", "64K", "-f", "8"])
    self.assertIn("# Out of bounds values : 0 OK", text)
    package = next(path for path, _, names in os.walk(place) if "weir.pc" in names)
    found = run(["pkg-config", "--variable=libdir", "weir"], env=environment(PKG_CONFIG_PATH=package)).strip()
    self.assertTrue(os.path.exists(os.path.join(re.sub(r"\\(.)", r"\1", found), "libweir.so")), found)

  def test_lintian_has_nothing_to_say(self):
    if shutil.which("lintian") is None:
      self.skipTest("lintian is not installed")
    # Built for /usr/local, libraries are in lib and not in the folder of the architecture.
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags",
                           "pkg-config-unavailable-for-cross-compilation", *self.debs.values()],
                          capture_output=True, text=True, check=False)
    self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


if __name__ == "__main__":
  Packages.build, Packages.source = (os.path.abspath(path) for path in sys.argv[1:3])
  if shutil.which("dpkg-shlibdeps") is None:
    print("skipped: dpkg-dev is not installed (cmake/packages.sh package)")
    sys.exit(SKIPPED)
  unittest.main(argv=sys.argv[:1])
