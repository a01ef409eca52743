#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaves found by measuring: measure_test.py WEIR [CASE ...].

The network is one of namespaces (tests/netlab). Ends with 77 (skipped) where they may not be made.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "netlab"))
from network import Impossible, Network, missing_tools  # noqa: E402

SKIPPED = 77
HOST_MBIT = 32


class Measuring(Network):
  """weir measure on the hosts of a network."""

  def begin(self, weir, rank, ranks, *arguments):
    """The last host has what ranks are left."""
    return self.start(min(rank, len(self.leaf_of) - 1), rank, ranks, (weir, "measure", *arguments))

  def measure(self, weir, ranks, *arguments):
    """What rank 0 prints."""
    processes = [self.begin(weir, rank, ranks, *arguments) for rank in range(ranks)]
    try:
      said = [process.communicate(timeout=150) for process in processes]
    finally:
      for process in processes:
        process.kill()
    for rank, process in enumerate(processes):
      assert process.returncode == 0, (rank, process.returncode, said[rank])
    assert not any(out for out, _ in said[1:]), said
    print(said[0][0], flush=True)
    return said[0][0]


def attached(fabric):
  """{host: switch} of a fabric file, hosts written out."""
  found = {}
  for names, switch in re.findall(r"^attach (\S+) to (\S+) ", fabric, re.M):
    for prefix, numbers, name in re.findall(r"([a-z]+)\[([0-9,-]+)\]|([a-z]+[0-9]+)", names):
      for span in numbers.split(",") if numbers else ():
        first, _, last = span.partition("-")
        found.update({f"{prefix}{i}": switch for i in range(int(first), int(last or first) + 1)})
      if name:
        found[name] = switch
  return found


def finds_leaves(weir, folder):
  """Three leaves, whose uplinks carry a third of what their hosts could send."""
  sizes, fabric = (3, 2, 3), os.path.join(folder, "fabric.txt")
  with Measuring(sizes, HOST_MBIT, [size * HOST_MBIT / 3 for size in sizes]) as network:
    said = network.measure(weir, 8, "-o", fabric, "--seconds-per-round", "0.3", "--repeat", "4")
    assert "3 leaves, detected from bandwidth" in said, said
    assert float(re.search(r"confidence ([0-9.]+)", said).group(1)) > 0.5, said
    with open(fabric, encoding="utf-8") as file:
      found = attached(file.read())
    assert found == {f"host{host}": f"leaf{leaf}" for host, leaf in enumerate(network.leaf_of)}, found
  shown = subprocess.run((weir, "topo", "--strict", fabric), capture_output=True, text=True, check=True).stdout
  assert "1 spine" in shown and "leaf leaf1  2 hosts" in shown, shown


def finds_none(weir, folder):
  """One switch: nothing tells its hosts apart, but that one is slow. The last one has two processes."""
  fabric = os.path.join(folder, "fabric.txt")
  with Measuring((6,), HOST_MBIT, [0], slow={4: HOST_MBIT / 4}) as network:
    said = network.measure(weir, 7, "-o", fabric, "--seconds-per-round", "0.3", "--repeat", "3")
  assert "cannot distinguish" in said, said
  assert re.findall(r"^slow: (\S+)", said, re.M) == ["host4"], said
  with open(fabric, encoding="utf-8") as file:
    assert set(attached(file.read()).values()) == {"leaf0"}


def names_the_dead(weir, folder):
  """One process is killed while all measure: the others end, and say which it was."""
  with Measuring((4,), HOST_MBIT, [0]) as network:
    processes = [network.begin(weir, rank, 4, "--seconds-per-round", "0.3", "--repeat", "100") for rank in range(4)]
    try:
      assert "4 hosts" in processes[0].stderr.readline()
      processes[2].kill()
      for rank in (0, 1, 3):
        _, said = processes[rank].communicate(timeout=60)
        assert processes[rank].returncode == 1 and "rank 2" in said, (rank, said)
    finally:
      for process in processes:
        process.kill()


CASES = {case.__name__: case for case in (finds_leaves, finds_none, names_the_dead)}


def main():
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that namespaces go
  if missing := missing_tools():
    print(missing)
    sys.exit(SKIPPED)
  for name in sys.argv[2:] or CASES:
    with tempfile.TemporaryDirectory() as folder:
      try:
        CASES[name](sys.argv[1], folder)
      except Impossible as error:
        print(f"the network cannot be built: {error}")
        sys.exit(SKIPPED)


if __name__ == "__main__":
  main()
