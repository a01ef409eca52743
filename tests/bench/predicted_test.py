#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulator is about right: predicted_test.py FOLDER_OF_PROGRAMS.

One row of bench/fabric/predicted.py, on a slow network so that a busy machine does not matter. Ends with 77 (skipped) where
networks of namespaces may not be made.
"""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "fabric"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "netlab"))
from network import Impossible, missing_tools  # noqa: E402
from predicted import SHAPES, compare, parser  # noqa: E402

SKIPPED = 77


def main():
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that namespaces go
  if missing := missing_tools():
    print(missing)
    sys.exit(SKIPPED)
  arguments = parser().parse_args((sys.argv[1], "--mbit", "16", "--rounds", "1", "--longest", "400"))
  try:
    rows = compare(SHAPES[0], (("all_gather", "ring"),), arguments, lambda line: print(line, flush=True))
  except Impossible as error:
    print(f"the network cannot be built: {error}")
    sys.exit(SKIPPED)
  row = rows[-1]
  assert row.bytes == 320 << 10 and 0.7 < row.ratio() < 1.4, row.text()


if __name__ == "__main__":
  main()
