#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs into a folder of its own, moves that, and builds a small project against it in each documented way.

package_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = """cmake_minimum_required(VERSION 3.16)
project(user C CXX)
find_package({package} REQUIRED)
add_executable(user user.c)
target_link_libraries(user {target})
add_executable(user_cpp user.cc)
target_link_libraries(user_cpp {target})
"""

PROGRAM = """#include <nccl.h>
#include <nccl_device.h>
#include <stdio.h>
int main(void) {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return 1;
  printf("%d\\n", version);
  return version != NCCL_VERSION_CODE;
}
"""


def run(command, **options):
  done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
  if done.returncode != 0:
    raise AssertionError(f"{' '.join(command)} gives {done.returncode}\n{done.stdout}\n{done.stderr}")
  return done.stdout


class Package(unittest.TestCase):
  build = source = None

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.mkdtemp()
    first = os.path.join(cls.folder, "first")
    cls.prefix = os.path.join(cls.folder, "second")
    run(["cmake", "--install", cls.build, "--prefix", first])
    os.rename(first, cls.prefix)  # nothing may remember where it was installed

  @classmethod
  def tearDownClass(cls):
    shutil.rmtree(cls.folder)

  def files(self):
    found = set()
    for folder, _, names in os.walk(self.prefix):
      found |= {os.path.relpath(os.path.join(folder, name), self.prefix) for name in names}
    return found

  def installed_lib(self):
    """lib, or what the platform calls it."""
    return next(os.path.dirname(f) for f in self.files() if os.path.basename(f) == "libweir.so")

  def use(self, package, target):
    folder = os.path.join(self.folder, package.replace(" ", "_"))
    os.mkdir(folder)
    for name, text in (("CMakeLists.txt", PROJECT.format(package=package, target=target)), ("user.c", PROGRAM),
                       ("user.cc", PROGRAM)):
      with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)
    run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder + "/build", f"-DCMAKE_PREFIX_PATH={self.prefix}"])
    run(["cmake", "--build", folder + "/build"])
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NCCL_", "WEIR_"))}
    self.assertEqual(run([folder + "/build/user"], env=environment), "23203\n")
    self.assertEqual(run([folder + "/build/user_cpp"], env=environment), "23203\n")
    return run(["readelf", "-d", folder + "/build/user"])

  def test_a_vendors_files_are_nowhere_in_the_way(self):
    lib = self.installed_lib()
    taken = {f"{lib}/libnccl.so", f"{lib}/libnccl.so.2", f"{lib}/librccl.so", f"{lib}/librccl.so.1", "include/nccl.h",
             "include/rccl/rccl.h", f"{lib}/pkgconfig/nccl.pc", f"{lib}/cmake/NCCL/NCCLConfig.cmake"}
    self.assertEqual(self.files() & taken, set())

  def test_libraries_and_headers_are_where_the_readme_says(self):
    lib = self.installed_lib()
    wanted = {f"{lib}/libweir.so", f"{lib}/nccl-compat/libnccl.so", f"{lib}/nccl-compat/libnccl.so.2",
              f"{lib}/rccl-compat/librccl.so.1", "include/weir-compat/nccl.h", "include/weir-compat/rccl/rccl.h",
              "include/weir-compat/nccl_params.h", "include/weir-compat/nccl_device.h", "include/weir-compat/nccl_device/host.h",
              "include/weir/stream.h", "include/weir/grains.h", "include/weir/config.h", "include/weir/dump.h", "include/weir/failures.h", "include/weir/net_stats.h", "include/weir/places.h", "include/weir/quantized.h", "include/weir/unique_id.h",
              "include/weir/topology.h", "include/weir/bound.h", "include/weir/plan.h", f"{lib}/nccl-compat/pkgconfig/nccl.pc"}
    self.assertEqual(wanted - self.files(), set())

  def test_kernels_for_gpus_are_beside_each_library(self):
    lib = self.installed_lib()
    for name in ("libweir_cuda.so", "libweir_hip.so"):
      built = os.path.exists(os.path.join(self.build, "lib", name))
      for folder in (lib, f"{lib}/nccl-compat", f"{lib}/rccl-compat"):
        path = os.path.join(self.prefix, folder, name)
        self.assertEqual(os.path.exists(path), built, path)  # a link that leads nowhere does not exist

  def test_find_package_weir(self):
    self.assertIn("[libweir.so.0]", self.use("weir", "weir::weir"))

  def test_find_package_nccl(self):
    self.assertIn("[libnccl.so.2]", self.use("NCCL", "NCCL::nccl"))

  def test_find_package_weir_gives_nccl_as_a_component(self):
    self.assertIn("[libnccl.so.2]", self.use("weir COMPONENTS nccl", "NCCL::nccl"))

  def test_pkg_config(self):
    lib = os.path.join(self.prefix, self.installed_lib())
    environment = dict(os.environ, PKG_CONFIG_PATH=f"{lib}/nccl-compat/pkgconfig:{lib}/pkgconfig")
    for package, library in (("nccl", f"{lib}/nccl-compat"), ("weir", lib)):
      flags = run(["pkg-config", "--cflags", "--libs", package], env=environment).split()
      with open(os.path.join(self.folder, "user.c"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
      program = os.path.join(self.folder, package + "_by_pkg_config")
      run(["cc", "-o", program, file.name, *flags])
      self.assertEqual(run([program], env=dict(environment, LD_LIBRARY_PATH=library)), "23203\n")

  def test_installed_programs_find_the_library(self):
    built = [name for name in ("weir", "all_reduce_perf", "weir-train")
             if os.path.exists(os.path.join(self.build, "bin", name))]
    if not built:
      self.skipTest("no programs are built")
    for name in built:
      run([os.path.join(self.prefix, "bin", name), "--help"])


if __name__ == "__main__":
  Package.build, Package.source = sys.argv[1:3]
  unittest.main(argv=sys.argv[:1])
