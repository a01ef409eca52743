#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A library in the place of the vendor's, for programs to be linked against: vendor_library.py NAMES > library.c

It has all names of NAMES (src/api/names.txt). Whoever calls one ends the program with 86 and a sentence; whoever loads it is told so.
"""

import sys

HEAD = """/* Made by vendor_library.py. */
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) { fputs("the vendor's library is loaded\\n", stderr); }
static int called(const char* name) {
  fprintf(stderr, "the vendor's %s was called\\n", name);
  exit(86);
}"""


def main():
  print(HEAD)
  with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
      words = line.split("#")[0].split()
      if not words:
        continue
      for name in (words[0], "p" + words[0]):
        print(f'__attribute__((visibility("default"))) int {name}(void) {{ return called("{name}"); }}')


if __name__ == "__main__":
  main()
