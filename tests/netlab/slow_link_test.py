#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A link that becomes slower than it was is named: slow_link_test.py FOLDER_OF_PROGRAMS CASE.

Ends with 77 (skipped) where networks of namespaces may not be made.
"""

import os
import re
import subprocess
import time

from cases import run
from network import Network, call
from ranks import start_all

HOSTS, SLOW, MBIT, SIZE = 3, 1, 200, 256 << 10
MOST_CALLS = 1000
LINK = re.compile(r'^(weir_link_\w+)\{.*rank="(\d+)".*peer="(\d+)",transport="tcp"\} (\S+)$', re.MULTILINE)


class Job:
  """Rank 0 sends to both others without an end: acknowledgements of one link do not wait behind the data of the other."""

  def __init__(self, network, programs):
    self.network, self.weir = network, os.path.join(programs, "weir")
    self.processes = start_all(network, (os.path.join(programs, "scatter_perf"), "-b", f"{SIZE}", "-e", f"{SIZE}", "-n", "1000000",
                                         "-w", "0", "-c", "0"),
                               WEIR_CALIBRATION="0", NCCL_DEBUG="WARN")

  def metrics(self):
    """Of all ranks: the text, and {(family, from, to): value} of links."""
    text = "".join(subprocess.run(self.network.inside(host, self.weir, "metrics", f"{process.pid}"), capture_output=True, text=True,
                                  timeout=60, check=False).stdout for host, process in enumerate(self.processes))
    return text, {(name, int(rank), int(peer)): float(value) for name, rank, peer, value in LINK.findall(text)}

  def calls(self, text):
    return max(int(number) for number in re.findall(r"^weir_calls_total\{.*\} (\d+)$", text, re.MULTILINE))

  def wait_for(self, condition):
    """Until it holds of metrics(), which are returned."""
    deadline = time.monotonic() + 100
    while True:
      text, links = self.metrics()
      if condition(links):
        return text, links
      assert time.monotonic() < deadline and all(process.poll() is None for process in self.processes), text
      time.sleep(0.1)

  def top(self, host):
    return subprocess.run(self.network.inside(host, self.weir, "top", "--once", "-i", "0.1", f"{self.processes[host].pid}"),
                          capture_output=True, text=True, timeout=60, check=True).stdout

  def end(self):
    for process in self.processes:
      process.kill()
    return [process.communicate(timeout=60)[0] for process in self.processes]


def halve(network, host):
  """What the switch sends to the host, which is half of what another host can send to two."""
  space, port = network.cables[host, 0]
  call("ip", "netns", "exec", space, "tc", "qdisc", "change", "dev", port, "root", "tbf", "rate", f"{MBIT // 4}mbit",
       "burst", f"{network.buffers.burst}b", "limit", f"{network.buffers.port}b")


def names_a_link_that_was_halved(programs):
  """Within so many calls, in metrics, weir top and the log of its rank; and no other."""
  with Network([HOSTS], MBIT, [0]) as network:
    job = Job(network, programs)
    text, _ = job.wait_for(lambda links: sum(name == "weir_link_past_speed_bytes_per_second" for name, _, _ in links) >= HOSTS - 1)
    began = job.calls(text)
    halve(network, SLOW)
    slow_ones = lambda links: sorted((rank, peer) for (name, rank, peer), value in links.items() if name == "weir_link_slow" and value)
    text, links = job.wait_for(slow_ones)
    calls = job.calls(text) - began
    assert calls <= MOST_CALLS, (calls, text)
    assert slow_ones(links) == [(0, SLOW)], (slow_ones(links), text)
    now, past = (links[f"weir_link_{which}_bytes_per_second", 0, SLOW] for which in ("speed", "past_speed"))
    assert 0.35 < now / past < 0.67, (now, past)
    words = rf"rank 0 -> rank {SLOW} by tcp over eth0: [0-9.]+ MB/s over the last \d+ calls, [0-9.]+ MB/s before"
    shown = job.top(0)
    assert re.search(rf"communicator [0-9a-f]{{16}}: {words}", shown), shown
    said = job.end()
  assert re.search(words + ": this link has become slower than it was", said[0]), said
  assert "".join(said).count("has become slower") == 1, said
  print(f"named after {calls} calls: {now / 1e6:.1f} MB/s, {past / 1e6:.1f} MB/s before")


if __name__ == "__main__":
  run((names_a_link_that_was_halved,))
