#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of interface.h: interface_names.py NAMES > names.c, with all names of NAMES (src/api/names.txt) but weir's own."""

import sys


def main():
  rows = []
  with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
      words = line.split("#")[0].split()
      if words and not words[0].startswith("weir"):
        rows.append((words[0], None if words[2:] == ["!"] else "p" + words[0]))
  print("/* Made by interface_names.py. */\n#include <stddef.h>")
  for name in (name for row in rows for name in row if name):
    print(f"void {name}(void);")
  print("struct Name { const char* plain; void (*linked)(void); const char* twin; void (*linked_twin)(void); };")
  print("const struct Name weir_interface_names[] = {")
  for plain, twin in rows:
    print(f'  {{"{plain}", {plain}, ' + (f'"{twin}", {twin}}},' if twin else "NULL, NULL},"))
  print("  {NULL, NULL, NULL, NULL}};")


if __name__ == "__main__":
  main()
