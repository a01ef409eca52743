#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts that are lost to the others are named, soon: faults_test.py FOLDER_OF_PROGRAMS CASE.

Ends with 77 (skipped) where networks of namespaces may not be made.
"""

import os
import re
import time

from cases import run
from network import Network, call
from ranks import start_all

HOSTS, LOST = 3, 2
SIZE = 1 << 20


def lose(programs, action):
  """Runs sums for ever, takes host LOST away by action(network, its process) and returns (process, what it said) by rank. Without
  warming up: when bytes flow, no rank waits for the programs' own barriers."""
  with Network([HOSTS], 200, [0]) as network:
    processes = start_all(network, (os.path.join(programs, "all_reduce_perf"), "-b", f"{SIZE}", "-e", f"{SIZE}", "-n", "1000000", "-w", "0",
                                    "-c", "0"),
                          WEIR_PEER_TIMEOUT="2", NCCL_DEBUG="WARN")
    deadline = time.monotonic() + 60
    while network.statistic(*network.cables[LOST, 0], "tx_bytes") < 4 * SIZE:
      assert time.monotonic() < deadline and all(process.poll() is None for process in processes)
      time.sleep(0.02)
    action(network, processes[LOST])
    return [(process, "".join(process.communicate(timeout=60))) for process in processes]


def name_the_lost(ranks):
  pid = ranks[LOST][0].pid
  for rank, (process, said) in enumerate(ranks):
    if rank != LOST:
      assert process.returncode not in (0, None), said
      assert f"rank {LOST} (pid {pid} on host host{LOST})" in said, said


def a_host_that_is_cut_off(programs):
  """It goes on, and names one of those that it does not reach any more."""
  ranks = lose(programs, lambda network, _: network.cut(LOST, 0))
  name_the_lost(ranks)
  process, said = ranks[LOST]
  assert process.returncode not in (0, None) and "is stopped or out of reach" in said, said


def a_host_that_vanished(programs):
  """Its connections stay half open: nobody says that they have ended."""
  def vanish(network, process):
    network.cut(LOST, 0)
    process.kill()
  name_the_lost(lose(programs, vanish))


def where_ports_ran_out(programs):
  """A host with two source ports cannot reach the others: a sentence says so, and nobody waits for it."""
  with Network([HOSTS], 0, [0]) as network:
    call("ip", "netns", "exec", network.space("host2"), "sysctl", "-qw", "net.ipv4.ip_local_port_range=50000 50001")
    processes = start_all(network, (os.path.join(programs, "all_reduce_perf"), "-b", "8", "-e", "8"), WEIR_INIT_TIMEOUT="20")
    ranks = [(process, "".join(process.communicate(timeout=60))) for process in processes]
  assert all(process.returncode not in (0, None) for process, _ in ranks), ranks
  said = "".join(said for _, said in ranks)
  assert "Cannot assign requested address (either no source port is free" in said and "on host host2" in said, said


def over_smaller_ports(programs, hosts, **variables):
  """What ranks say whose switch drops packets over 1500 bytes at the ports of these hosts, without a word, though both hosts may send
  9000. It is not a ring of ranks."""
  with Network([2], 0, [0], mtu=9000) as network:
    for host in hosts:
      call("ip", "-n", network.cables[host, 0][0], "link", "set", network.cables[host, 0][1], "mtu", "1500")
    processes = start_all(network, (os.path.join(programs, "all_reduce_perf"), "-b", f"{SIZE}", "-e", f"{SIZE}", "-n", "1", "-w", "0", "-c", "0"),
                          WEIR_DEADLOCK_TIMEOUT="12", WEIR_CALIBRATION="0", NCCL_DEBUG="WARN", **variables)
    ranks = [(process, "".join(process.communicate(timeout=100))) for process in processes]
  for process, said in ranks:
    assert process.returncode not in (0, None), said
  said = "".join(said for _, said in ranks)
  assert "closes a ring" not in said, said
  return said


ENDS = r"(10\.77\.0\.1 and 10\.77\.0\.2|10\.77\.0\.2 and 10\.77\.0\.1)"


def a_path_with_a_smaller_mtu(programs, **variables):
  """The packets are named, and where; the connection waits, or the kernel of the host before that port has given it up."""
  said = over_smaller_ports(programs, (1,), **variables)
  waits = (rf"packets of 9000 bytes vanish between {ENDS}: on the connection from .*[1-9][0-9]* bytes are not acknowledged"
           r".*[1-9][0-9]* segments retransmitted.*path MTU 9000")
  ended = rf"packets of up to 9000 bytes vanish between {ENDS}: the kernel has given up .* after [1-9][0-9]* attempts in vain"
  assert re.search(waits, said) or re.search(ended, said), said


def an_encrypted_path_with_a_smaller_mtu(programs):
  """The same below TLS, whose records are longer than packets."""
  a_path_with_a_smaller_mtu(programs, WEIR_TLS="psk", WEIR_SECRET="of both ranks")


def a_first_hop_with_a_smaller_mtu(programs):
  """The sender's own interface drops the packets: nothing is in flight, its kernel probes, and gives the connection up within seconds."""
  said = over_smaller_ports(programs, (0, 1))
  assert re.search(rf"packets of (up to )?9000 bytes vanish between {ENDS}", said), said


if __name__ == "__main__":
  run((a_host_that_is_cut_off, a_host_that_vanished, where_ports_ran_out, a_path_with_a_smaller_mtu,
       an_encrypted_path_with_a_smaller_mtu, a_first_hop_with_a_smaller_mtu))
