#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What leaves send upwards in a real run: spine_test.py FOLDER_OF_PROGRAMS.

Six hosts on two leaves, from network namespaces; their ranks alternate between the leaves, and a fabric file tells weir so. Large
messages then cross each uplink no more than they must, which is 3/5 of what the best ring of ranks sends. Ends with 77 (skipped)
where namespaces may not be made.
"""

import os
import sys
import tempfile
from argparse import Namespace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "fabric"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "netlab"))
from network import Impossible, Network, missing_tools  # noqa: E402
from order import WAYS, run  # noqa: E402

SKIPPED = 77
LEAVES, HOSTS, MBIT = 2, 3, 800
BYTES = 3 << 20
MOST = 1.25  # of the least: headers, acknowledgements, what is sent again; a ring needs 1.67


def main():
  if missing := missing_tools():
    print(missing)
    return SKIPPED
  host_of = [0, 3, 1, 4, 2, 5]
  with tempfile.TemporaryDirectory() as folder:
    fabric = os.path.join(folder, "fabric.txt")
    try:
      with Network([HOSTS] * LEAVES, MBIT, [MBIT] * LEAVES, mtu=9000) as network:
        network.write_fabric(fabric)
        for collective, ways in WAYS.items():
          arguments = Namespace(programs=sys.argv[1], collective=collective, bytes=BYTES, repeats=3)
          known = {"WEIR_FABRIC_FILE": fabric, "WEIR_CALIBRATION": "0"}  # the choice of plans must not hang on the machine's load
          sent = run(network, arguments, host_of, check=1, **known).sent / (ways * (1 - 1 / LEAVES) * BYTES)
          print(f"{collective}: {sent:.3f} of the least went up")
          assert 1 < sent < MOST, (collective, sent)
    except Impossible as error:
      print(f"the network cannot be built: {error}")
      return SKIPPED
  return 0


if __name__ == "__main__":
  sys.exit(main())
