# SPDX-License-Identifier: Apache-2.0
"""Runs inside gdb: gdb -batch -x call_chain_gdb.py --args PROGRAM...; the environment says where to stop.

CALL_CHAIN_STOP names a function. The first CALL_CHAIN_COUNT times that it is entered below CALL_CHAIN_FROM the functions
between them are recorded, outermost first. Each chain that occurred is printed once, behind 'chain: ': a rank that has to
wait comes to the same function by way of its waiting loop.
"""

import os

import gdb

STOP = os.environ["CALL_CHAIN_STOP"]
FROM = os.environ["CALL_CHAIN_FROM"]
COUNT = int(os.environ["CALL_CHAIN_COUNT"])
recorded = []


def plain(name):
  """A function's name without arguments, template arguments, namespaces of the project and marks of the compiler."""
  name = name.replace("(anonymous namespace)::", "").split("(")[0].split("<")[0]
  for prefix in ("weir::core::", "weir::exec::", "weir::api::", "weir::"):
    if name.startswith(prefix):
      return name[len(prefix):]
  return name


def chain():
  names = []
  frame = gdb.newest_frame()
  while frame is not None:
    name = plain(frame.name() or "?")
    if not names or names[-1] != name:
      names.append(name)
    if name == FROM:
      return names[::-1]
    frame = frame.older()
  return None


class Stop(gdb.Breakpoint):
  def stop(self):
    found = chain()
    if found is not None:
      recorded.append(" > ".join(found))
    return len(recorded) >= COUNT


for setting in ("pagination off", "breakpoint pending on", "print thread-events off", "debuginfod enabled off"):
  try:
    gdb.execute("set " + setting)
  except gdb.error:
    pass  # an older gdb does not know all of them
Stop(STOP)
gdb.execute("run", to_string=True)
for found in sorted(set(recorded)):
  print("chain: " + found)
gdb.execute("kill")
