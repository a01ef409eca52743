#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of namespaces from descriptions, and what communicators send over them: described_test.py FOLDER_OF_PROGRAMS CASE.

Ends with 77 (skipped) where networks of namespaces may not be made.
"""

import contextlib
import os
import subprocess
import sys
import tempfile

from cases import run
from described import Cluster, Described
from network import Impossible

SIZE = 2 << 20  # bytes of an all-reduce
# Headers and acknowledgements are the same part of both counts; ranks that meet again send a few bytes more or less.
LEAST, MOST = 0.95, 1.05

UNLIKE = """weir fabric 1
leaf leaf0
host host[0-3]
attach host[0-1],host3 to leaf0 0.4G
attach host2 to leaf0 0.2G
"""
LEAVES = """weir fabric 1
leaf leaf[0-1]
spine spine
host host[0-3]
cable leaf[0-1] to spine 0.1G
attach host[0-1] to leaf0 0.2G
attach host[2-3] to leaf1 0.2G
"""
RAILS = """weir fabric 1
leaf leaf[0-1]
host host[0-1]
attach host[0-1] nic eth[0-1] to leaf[0-1] 0.2G rail 0-1
"""
TWO_RAILS = """weir fabric 1
leaf leaf[0-1]
host host[0-3]
attach host[0-3] nic eth[0-1] to leaf[0-1] 0.04G rail 0-1
"""
ONE_LEAF = """weir fabric 1
leaf leaf
host host[0-3]
attach host[0-3] nic eth[0-1] to leaf 0.04G
"""
RATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rates.py")


@contextlib.contextmanager
def described(programs, text):
  """The network, the path of its description, and weir's."""
  weir = os.path.join(programs, "weir")
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "fabric.txt")
    with open(path, "w", encoding="ascii") as file:
      file.write(text)
    with Described(Cluster(weir, path), 1) as network:
      yield network, path, weir


def all_reduce(network, programs, per_host, *options, size=SIZE, **variables):
  """Sums of some ranks of each host, checked. What rank 0 prints."""
  command = [os.path.join(programs, "all_reduce_perf"), "-b", f"{size}", "-e", f"{size}", "-n", "1", "-w", "0", "-c", "1", *options]
  ranks = per_host * network.cluster.hosts
  processes = [network.start(rank // per_host, rank, ranks, command, WEIR_CALIBRATION="0", **variables) for rank in range(ranks)]
  said = [process.communicate(timeout=100) for process in processes]
  assert all(process.returncode == 0 for process in processes), said
  assert "Out of bounds values : 0 OK" in said[0][0], said[0]
  return said[0][0]


def sent(network, programs, *cable, per_host=1, **variables):
  """Bytes that leave the lower end of a cable for SIZE more bytes per call, in units of SIZE, and what the larger job said."""
  end = network.farther[cable]
  counts, out = [0], ""
  for size in (SIZE, 2 * SIZE):
    before = network.statistic(*end, "tx_bytes")
    out = all_reduce(network, programs, per_host, size=size, **variables)
    counts.append(network.statistic(*end, "tx_bytes") - before)
  return (counts[2] - counts[1]) / SIZE, out


def unlike_hosts_take_trees_by_themselves(programs):
  """Two ranks on each of four hosts: in a ring 7/4 of each sum leave the slow host, in planned trees all of it once."""
  with described(programs, UNLIKE) as (network, fabric, _):
    log = {"WEIR_FABRIC_FILE": fabric, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "TUNING"}
    trees, out = sent(network, programs, 2, 4, per_host=2, **log)
    assert f"all_reduce: {2 * SIZE} bytes -> planned in " in out, out
    ring, _ = sent(network, programs, 2, 4, per_host=2, WEIR_FABRIC_FILE=fabric, WEIR_ALGO="ring")
    assert LEAST * 7 / 4 < ring / trees < MOST * 7 / 4, (ring, trees)


def plans_cross_the_spine_as_they_say(programs):
  """In a ring of two leaves 3/2 of a sum go up from each leaf, in the plan that `weir plan` writes the least, all of it once."""
  with described(programs, LEAVES) as (network, fabric, weir):
    plan = os.path.join(os.path.dirname(fabric), "sum.plan")
    with open(plan, "w", encoding="ascii") as file:
      subprocess.run((weir, "plan", fabric, "--collective", "allreduce", "--emit", "plan"), stdout=file, check=True, timeout=60)
    planned, _ = sent(network, programs, 4, 6, WEIR_PLAN_FILE=plan)
    ring, _ = sent(network, programs, 4, 6, WEIR_ALGO="ring")
    assert LEAST * 3 / 2 < ring / planned < MOST * 3 / 2, (ring, planned)


def rails_are_networks_of_their_own(programs):
  """Both carry their part."""
  with described(programs, RAILS) as (network, _, _):
    before = [network.statistic(*network.farther[0, leaf], "tx_bytes") for leaf in (2, 3)]
    all_reduce(network, programs, 1, NCCL_SOCKET_IFNAME="eth", NCCL_NSOCKS_PERTHREAD="2")
    after = [network.statistic(*network.farther[0, leaf], "tx_bytes") for leaf in (2, 3)]
    shares = [b - a for a, b in zip(before, after)]
    assert min(shares) > max(shares) / 2 > SIZE / 2, shares


class Rates:
  """Two ranks on each host, which do one thing after the other (rates.py)."""

  def __init__(self, network, programs, **variables):
    self.network, self.said = network, ""
    library = os.path.join(os.path.dirname(os.path.abspath(programs)), "lib", "libnccl.so.2")
    ranks = 2 * network.cluster.hosts
    self.processes = [network.start(rank // 2, rank, ranks, (sys.executable, RATES, library, f"{SIZE}"), WEIR_CALIBRATION="0",
                                    stdin=subprocess.PIPE, **variables) for rank in range(ranks)]

  def tell(self, word):
    """The bytes per second that rank 0 says, if it is told to sum."""
    self.processes[0].stdin.write(word + "\n")
    self.processes[0].stdin.flush()
    for line in self.processes[0].stdout:
      if line.startswith("done "):
        return float(line.split()[1])
      self.said += line
    raise AssertionError(self.end())

  def measure(self, *cable):
    """MB/s of sums, and how many times a sum's bytes leave the lower end of a cable."""
    self.tell("sum")  # channels are open then
    before = self.network.statistic(*self.network.farther[cable], "tx_bytes")
    rate = self.tell("sum") * 1e-6
    return rate, (self.network.statistic(*self.network.farther[cable], "tx_bytes") - before) / 4 / SIZE

  def end(self):
    said = [process.communicate(timeout=100) for process in self.processes]
    assert all(process.returncode == 0 for process in self.processes), said
    return self.said + "".join(out + err for out, err in said)


def plans_anew_for_a_host_that_lost_a_rail(programs):
  """Hosts with two rails, which are one network for the planner, sum in rings of hosts. A host that loses one is slower than the others:
  what was planned before sends 3/2 of each sum over the other one, as before; what is planned afterwards, for the same communicator or
  another one, sends all of it once."""
  with described(programs, TWO_RAILS) as (network, fabric, _):
    with open(fabric, "w", encoding="ascii") as file:
      file.write(ONE_LEAF)
    settings = {"WEIR_FABRIC_FILE": fabric, "NCCL_SOCKET_IFNAME": "eth", "NCCL_DEBUG": "WARN", "NCCL_NSOCKS_PERTHREAD": "2"}
    job = Rates(network, programs, **settings)
    before = job.measure(2, 4)
    network.cut(2, 5)
    job.tell("sum")  # finds out
    old = job.measure(2, 4)
    job.tell("resume")
    new = job.measure(2, 4)
    network.restore(2, 5)
    job.tell("resume")
    again = job.measure(2, 4)
    said = job.end()
    network.cut(2, 5)
    log = {**settings, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,TUNING"}
    out = all_reduce(network, programs, 2, **log)
  print(f"MB/s of sums, and their bytes over the first rail: {before} with both rails, {old} with one and the old plan, {new} with one "
        f"and a new plan, {again} with both again")
  assert LEAST * 3 / 2 < old[1] / new[1] < MOST * 3 / 2, (old, new)
  assert LEAST < before[1] / again[1] < MOST and old[1] > 1.8 * before[1], (before, old, again)
  assert "plans still count on 2 paths until ncclCommSuspend and ncclCommResume, or a new communicator" in said, said
  assert "host host2, NIC eth1, port 1 has no link, so that plans do without its cables" in out, out
  assert f"all_reduce: {SIZE} bytes -> planned in " in out, out


def switches_in_circles_are_refused(programs):
  text = LEAVES.replace("spine spine\n", "spine spine[0-1]\n").replace("to spine 0", "to spine[0-1] 0")
  try:
    with described(programs, text):
      raise AssertionError("built")
  except Impossible as error:
    assert "4 switches with 4 cables between them: expected a tree" in str(error), error


if __name__ == "__main__":
  run((unlike_hosts_take_trees_by_themselves, plans_anew_for_a_host_that_lost_a_rail, plans_cross_the_spine_as_they_say,
       rails_are_networks_of_their_own, switches_in_circles_are_refused))
