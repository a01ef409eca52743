#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rails that were lost and came back are used again: failback_test.py FOLDER_OF_PROGRAMS CASE.

Ends with 77 (skipped) where networks of namespaces may not be made.
"""

import os
import re
import sys
import time

from cases import run
from network import Network
from ranks import start_all

SIZE = 2 << 20
SUMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sums.py")


class Sums:
  """Two hosts with two rails, which sum until they are told to stop."""

  def __init__(self, network, programs, **variables):
    self.network, self.stop = network, os.path.join(network.cache, "stop")
    library = os.path.join(os.path.dirname(os.path.abspath(programs)), "lib", "libnccl.so.2")
    self.processes = start_all(network, (sys.executable, SUMS, library, f"{SIZE}", self.stop), NCCL_SOCKET_IFNAME="eth",
                               NCCL_DEBUG="WARN", WEIR_CALIBRATION="0", **variables)

  def sent(self, rail):
    """Bytes that host 1 has sent over its interface of the rail."""
    space, interface = self.network.farther[1, rail]
    return self.network.statistic(space, interface, "tx_bytes")

  def wait_for_traffic(self, rail, sums=4):
    """Until about so many more sums have gone over the rail alone, or twice as many over both."""
    goal, deadline = self.sent(rail) + sums * SIZE, time.monotonic() + 100
    while self.sent(rail) < goal:
      assert time.monotonic() < deadline and all(process.poll() is None for process in self.processes), (rail, self.end())
      time.sleep(0.05)

  def end(self):
    with open(self.stop, "wb"):
      pass
    ends = [process.communicate(timeout=100) for process in self.processes]
    assert all(process.returncode == 0 for process in self.processes), ends
    return "".join(out + err for out, err in ends)


def returns_to_rails_that_come_back(programs):
  """Each rail is lost in turn, at the switch: what it carried goes over the other one, and it carries its share again afterwards."""
  with Network([2], 200, [0], rails=2) as network:
    sums = Sums(network, programs)
    sums.wait_for_traffic(1)
    for rail in (1, 0):
      network.cut(1, rail)
      sums.wait_for_traffic(1 - rail)
      before = sums.sent(rail)
      sums.wait_for_traffic(1 - rail)
      assert sums.sent(rail) - before < SIZE / 10, "a lost rail carries nothing but attempts"
      network.restore(1, rail)
      sums.wait_for_traffic(rail)
    said = sums.end()
    assert len(re.findall(r"all [0-9]+ sums are right", said)) == 2, said
    for rail in (0, 1):
      path = "|".join(rf"eth{rail} \({network.address(a, rail)}\) to eth{rail} \({network.address(1 - a, rail)}\)" for a in (0, 1))
      assert re.search(rf"continues without the connection from ({path}): .*; plans still count on 2 paths", said), said
      assert re.search(rf"uses the path from ({path}) again, which was lost for [0-9.]+ s", said), said


def survives_a_blip_during_set_up(programs):
  """The only cable between two hosts is away for 1.5 s, from different moments of the set-up on: the ranks wait for it."""
  command = (os.path.join(programs, "all_reduce_perf"), "-b", "1K", "-e", "1K", "-n", "1", "-w", "0", "-c", "1")
  with Network([2], 0, [0]) as network:
    sent = lambda: network.statistic(*network.farther[1, 0], "tx_bytes")
    blips = 0
    for after in (1, 1, 600, 2000):
      goal = sent() + after
      processes = start_all(network, command, NCCL_DEBUG="WARN")
      while sent() < goal and processes[1].poll() is None:
        time.sleep(0.001)
      if processes[1].poll() is None:  # it may be done already
        blips += 1
        network.cut(1, 0)
        time.sleep(1.5)
        network.restore(1, 0)
      ends = [(*process.communicate(timeout=100), process.returncode) for process in processes]
      assert all(code == 0 for _, _, code in ends), (after, ends)
      assert re.search(r"# Out of bounds values : 0 OK", "".join(out for out, _, _ in ends)), (after, ends)
    assert blips > 0, "each set-up was over before the cable was cut"


def measures_anew_while_a_rail_is_away(programs):
  """Rates are cached for as many paths as there were: a job without one of its rails is planned for what it measures, and what it
  measures is not for jobs with all of them."""
  command = (os.path.join(programs, "all_reduce_perf"), "-b", "1K", "-e", "1K", "-n", "1", "-w", "0", "-c", "1")
  with Network([2], 200, [0], rails=2) as network:
    def measured():
      processes = start_all(network, command, NCCL_SOCKET_IFNAME="eth", NCCL_DEBUG="INFO", WEIR_CALIBRATION="1")
      ends = [(*process.communicate(timeout=100), process.returncode) for process in processes]
      assert all(code == 0 for _, _, code in ends), ends
      return [bool(re.search("measured the rates of channels", out)) for out, _, _ in ends]

    assert measured() == [True, True]
    assert measured() == [False, False]
    network.cut(1, 1)
    assert measured() == [True, True], "on both hosts, though one has all its interfaces"
    assert measured() == [False, False]
    network.restore(1, 1)
    assert measured() == [False, False]


if __name__ == "__main__":
  run((returns_to_rails_that_come_back, measures_anew_while_a_rail_is_away, survives_a_blip_during_set_up))
