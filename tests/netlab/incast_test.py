#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Credit of the receiver keeps the queue of a shallow port below what it holds: incast_test.py FOLDER_OF_PROGRAMS CASE.

Eight hosts send to one, 128 KiB behind its port. Ends with 77 (skipped) where networks of namespaces may not be made.
"""

import re
import tempfile

from cases import run
from gathers import gathers, incast_network
from ranks import kept_niceness

SENDERS, BUFFER, SIZE, CALLS = 8, 128 << 10, 256 << 10, 5
MBIT = 100
# The default credit is 1.3 ms of the network's rate, 64 KiB at least. What is measured on a busy machine may be anything, so a cost file
# tells the rate.
COSTS = f"between.beta {8 / (MBIT * 1e6)}\n"
# Credit that is not used for 50 ms counts as free: senders, or a port, that other work keeps from running for so long overrun it. That
# is rare where ranks come first, and one round in which it does not happen is enough.
NICE, ROUNDS = -18, 5
LEAST_CREDIT = 64 << 10


def round_of(programs, **variables):
  """A round, results verified, and the credit that rank 0 told of."""
  with incast_network(SENDERS, MBIT, BUFFER) as network, kept_niceness(), tempfile.NamedTemporaryFile("w") as costs:
    costs.write(COSTS)
    costs.flush()
    result = gathers(network, programs, SIZE, CALLS, 100, check=1, nice=NICE, WEIR_COST_FILE=costs.name, NCCL_DEBUG="INFO",
                     NCCL_DEBUG_SUBSYS="NET", **variables)
  assert re.search(r"^# Out of bounds values : 0 OK$", result.said, re.M), result.said
  (credit,) = re.findall(r"receive credit for peers on other hosts: ([0-9]+) bytes", result.said)
  return result, int(credit)


def drops_nothing_with_credit(programs):
  """At no time of a round. That senders waited for grants shows that more wanted to send than the port holds."""
  dropped = []
  while 0 not in dropped:
    assert len(dropped) < ROUNDS, dropped
    result, credit = round_of(programs)
    assert credit == LEAST_CREDIT, credit
    assert result.stalls > 0, result
    dropped.append(result.dropped)


def drops_without_credit(programs):
  """The same without credit, so that the other case cannot pass by itself. Nothing but a loss tells a sender of this kernel to send
  less (reno): the first windows of eight are 8 * 10 segments, 116 KB, and double until one does not fit into the bucket and the port
  together, 160 KiB; 2 MiB are to come."""
  result, _ = round_of(programs, WEIR_CREDIT="0")
  assert result.dropped > 0 == result.grants, result


if __name__ == "__main__":
  run((drops_nothing_with_credit, drops_without_credit))
