# SPDX-License-Identifier: Apache-2.0
"""Runs inside gdb: gdb -batch -x call_chain_gdb.py --args PROGRAM...; the environment says where to stop.

CALL_CHAIN_STOP names a function. The first time that it is entered below CALL_CHAIN_FROM, after CALL_CHAIN_SKIP calls of
the latter, the functions between them are printed, outermost first, one line each behind 'chain: '.
"""

import os

import gdb

STOP = os.environ["CALL_CHAIN_STOP"]
FROM = os.environ["CALL_CHAIN_FROM"]
skipped = int(os.environ["CALL_CHAIN_SKIP"])


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
    global skipped
    found = chain()
    if found is None:
      return False
    skipped -= 1
    return skipped < 0


for setting in ("pagination off", "breakpoint pending on", "print thread-events off", "debuginfod enabled off"):
  try:
    gdb.execute("set " + setting)
  except gdb.error:
    pass  # an older gdb does not know all of them
Stop(STOP)
gdb.execute("run", to_string=True)
found = chain()
for name in found or []:
  print("chain: " + name)
gdb.execute("kill")
