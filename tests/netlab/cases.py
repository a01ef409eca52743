# SPDX-License-Identifier: Apache-2.0
"""Test programs whose cases need networks of namespaces: PROGRAM FOLDER_OF_PROGRAMS [CASE ...]."""

import signal
import sys

from network import Impossible, missing_tools

SKIPPED = 77


def run(cases):
  """Those that the command line names, or all; ends with SKIPPED where networks may not be made."""
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that namespaces go
  if missing := missing_tools():
    print(missing)
    sys.exit(SKIPPED)
  by_name = {case.__name__: case for case in cases}
  for name in sys.argv[2:] or by_name:
    try:
      by_name[name](sys.argv[1])
    except Impossible as error:
      print(f"{name}: the network cannot be built: {error}")
      sys.exit(SKIPPED)
