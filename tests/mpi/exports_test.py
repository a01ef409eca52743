#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libweir_mpi.so exports the names of names.txt and those of MPItrampoline's versions, and no others: exports_test.py NAMES LIBRARY"""

import subprocess
import sys

FIXED = {"mpiwrapper_export_fortran_constants_", "MPIABI_Pcontrol"} | {
    f"{what}_version_{part}" for what in ("mpiabi", "mpiwrapper") for part in ("major", "minor", "patch")}


def expected(path):
  """{name}"""
  names = set(FIXED)
  with open(path, encoding="utf-8") as file:
    for line in file:
      kind, *words = line.split("#")[0].split() or [""]
      prefix = "MPIXABI_" if kind == "extension" else "MPIABI_"
      names.update(prefix + word for word in (words[:1] if kind == "value" else words))
  return names


def main():
  wanted = expected(sys.argv[1])
  lines = subprocess.run(["nm", "-D", "--defined-only", sys.argv[2]], check=True, capture_output=True, text=True).stdout.splitlines()
  found = {line.split()[-1] for line in lines}
  print(f"{len(found)} names; missing: {sorted(wanted - found)}; not in the list: {sorted(found - wanted)}")
  return 0 if found == wanted and len(found) > 600 else 1


if __name__ == "__main__":
  sys.exit(main())
