#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs today's MPIs and builds their candidates of the comparison.

    bench/compare/install_peers.py --build build                  # all
    bench/compare/install_peers.py --build build openmpi5 mpich5

The packages are those of Python's index, with the versions of candidates.py, each in a virtual environment of its own under
BUILD/compare-peers. Nothing outside the build folder changes. Needs a C++ compiler, and the network.
"""

import argparse
import os
import subprocess
import sys
import venv

from candidates import INSTALLED, installed_at

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LOOP = ("loop.cc", "control.cc")


def install(packages, folder):
  if not os.path.exists(os.path.join(folder, "bin", "pip")):
    venv.create(folder, with_pip=True)
  subprocess.run([os.path.join(folder, "bin", "pip"), "install", "-q", "--disable-pip-version-check", *packages], check=True)


def build(name, folder, program):
  source, library = ("oneccl.cc", "-lccl") if name == "oneccl" else ("mpi.cc", "-lmpi")
  include, libraries = (os.path.join(folder, part) for part in ("include", "lib"))
  command = ["c++", "-std=c++20", "-O2", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-I", ROOT, "-isystem", include,
             *(os.path.join(HERE, file) for file in (source, *LOOP)), "-o", program, f"-L{libraries}",
             f"-Wl,--disable-new-dtags,-rpath,{libraries}", library, "-pthread"]  # for what the library needs, too
  subprocess.run(command, check=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", default="build", help="build folder (default: %(default)s)")
  parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones (default: all of {', '.join(INSTALLED)})")
  options = parser.parse_args()
  unknown = set(options.names) - set(INSTALLED)
  if unknown:
    parser.error(f"unknown peer '{unknown.pop()}'; expected {', '.join(INSTALLED)}")
  if not os.path.isdir(os.path.join(options.build, "bin")):
    parser.error(f"{options.build} is no build folder of weir")
  for name in options.names or INSTALLED:
    folder = installed_at(options.build, name)
    try:
      install(INSTALLED[name], folder)
      build(name, folder, os.path.join(options.build, "bin", f"compare_{name}"))
    except subprocess.CalledProcessError as error:
      sys.exit(f"install_peers: {name} is not there: '{' '.join(error.cmd[:3])} ...' ended with {error.returncode}")
    except OSError as error:
      sys.exit(f"install_peers: {name} is not there: {error}")
    print(f"{name}: {' '.join(INSTALLED[name])}")


if __name__ == "__main__":
  main()
