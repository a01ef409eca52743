#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The two chains of calls of docs/architecture.md are those of a running program: call_chain_test.py PAGE ALL_REDUCE_PERF.

Skipped where gdb is missing or may not trace.
"""

import os
import re
import subprocess
import sys

SKIPPED = 77
RECORDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "call_chain_gdb.py")
# Heading on the page, function to stop in, environment, options of the program.
CHAINS = (
    ("All ranks on one host", "weir::exec::ShmCollectives::advance", {}, ["-b", "8", "-e", "8"]),
    ("Between hosts", "sendmsg", {"WEIR_FAST": "0", "WEIR_TRANSPORTS": "tcp"}, ["-b", "400K", "-e", "400K"]),
)


def promised(page, heading):
  """The functions in the table behind the heading."""
  with open(page, encoding="utf-8") as file:
    section = file.read().split("## The way of one call", 1)[1].split("\n## ", 1)[0]
  table = section.split(heading, 1)[1].split("\n\n", 2)[1]
  return re.findall(r"^\| `([\w:]+)` \|", table, flags=re.MULTILINE)


def recorded(program, stop, variables, options):
  """The chains of functions that the debugger saw, and all that it said."""
  environment = {**os.environ, **variables, "CALL_CHAIN_STOP": stop, "CALL_CHAIN_FROM": "pncclAllReduce",
                 "CALL_CHAIN_COUNT": "60", "PYTHONDONTWRITEBYTECODE": "1"}
  command = ["gdb", "-q", "-nx", "-batch", "-x", RECORDER, "--args", program, "-t", "2", "-n", "100", *options]
  done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
  said = done.stdout + done.stderr
  chains = re.findall(r"^chain: (.+)$", said, flags=re.MULTILINE)
  return [chain.replace("pnccl", "nccl").replace("__libc_", "").split(" > ") for chain in chains], said


def main():
  page, program = sys.argv[1:]
  try:
    subprocess.run(["gdb", "--version"], capture_output=True, check=True)
  except OSError:
    print("gdb is not installed")
    return SKIPPED
  wrong = 0
  for heading, stop, variables, options in CHAINS:
    expected = promised(page, heading)
    found, said = recorded(program, stop, variables, options)
    if not found and re.search(r"ptrace|Operation not permitted", said):
      print("gdb may not trace here")
      return SKIPPED
    if expected not in found:
      wrong += 1
      print(f"{heading}: the page lists\n  {' > '.join(expected)}\nthe program was in\n{said}")
  return 1 if wrong else 0


if __name__ == "__main__":
  sys.exit(main())
