#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the bench programs say that they sent over TCP is what they had to: net_stats_test.py FOLDER_OF_PROGRAMS."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = sys.argv.pop(1)


def row(program, *arguments, **variables):
  """(net_stats of the only row, what was printed)"""
  environment = {key: value for key, value in os.environ.items() if not key.startswith(("NCCL_", "WEIR_"))}
  environment.update({"WEIR_CALIBRATION": "0", "WEIR_TRANSPORTS": "tcp", **variables})
  with tempfile.TemporaryDirectory() as folder:
    result = os.path.join(folder, "result.json")
    command = [os.path.join(PROGRAMS, program), *arguments, "--net-stats", "-J", result]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(result, encoding="utf-8") as file:
      (only,) = json.load(file)["results"]
  return only["net_stats"], done.stdout


class NetStats(unittest.TestCase):

  def test_a_ring_sends_every_byte_to_all_but_one(self):
    stats, text = row("all_gather_perf", "--ranks", "3", "-b", "300000", "-e", "300000", "-n", "4", "-w", "3", NCCL_ALGO="ring")
    self.assertEqual(stats["operations"], 8, "four out of place, four in place; neither warm-up nor checks")
    expected = 8 * 2 * 300000
    self.assertEqual((stats["sent_bytes"], stats["received_bytes"]), (expected, expected))
    self.assertEqual(stats["sent_messages"], stats["received_messages"])
    self.assertEqual((stats["abandoned_connections"], stats["dropped_packets"]), (0, 0))
    line = next(line for line in text.splitlines() if line.split()[:1] == ["300000"])
    self.assertEqual(line.split()[-7], f"{expected / 1e6:.2f}")

  def test_a_ring_all_reduce_sends_twice_as_much(self):
    stats, _ = row("all_reduce_perf", "-t", "4", "-b", "262144", "-e", "262144", "-n", "3", "-m", "2", "-c", "0", NCCL_ALGO="ring")
    self.assertEqual(stats["operations"], 12)
    self.assertEqual(stats["sent_bytes"], 12 * 2 * 3 * 262144)
    self.assertEqual(stats["received_bytes"], stats["sent_bytes"])

  def test_scarce_credit_is_granted_and_waited_for(self):
    arguments = ("--ranks", "4", "-b", "4M", "-e", "4M", "-n", "5")
    scarce, _ = row("gather_perf", *arguments, WEIR_CREDIT="32K")
    self.assertEqual(scarce["sent_bytes"], 10 * (3 << 20), "three ranks send a quarter each")
    self.assertGreaterEqual(scarce["grants"], scarce["sent_bytes"] // (64 << 10), "no grant is more than twice the budget")
    self.assertGreater(scarce["stalls"], 0)
    self.assertGreater(scarce["stalled_ns"], 0)
    free, _ = row("gather_perf", *arguments, WEIR_CREDIT="0")
    self.assertEqual((free["sent_bytes"], free["grants"], free["stalls"], free["stalled_ns"]), (scarce["sent_bytes"], 0, 0, 0))

  def test_memory_is_no_network(self):
    stats, text = row("all_reduce_perf", "--ranks", "2", "-b", "1M", "-e", "1M", "-n", "2", WEIR_TRANSPORTS="loop,shm",
                      NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="NET")
    self.assertEqual({name for name, count in stats.items() if count}, {"operations"})
    self.assertNotRegex(text, "bytes in [0-9]+ messages sent")

  def test_each_rank_says_in_the_log_what_it_has_sent(self):
    _, text = row("sendrecv_perf", "--ranks", "2", "-b", "5000", "-e", "5000", "-n", "3", "-w", "0", "-c", "0", NCCL_DEBUG="INFO",
                  NCCL_DEBUG_SUBSYS="NET")
    for rank in (0, 1):  # twice one operation that is not timed and three that are
      self.assertRegex(text, f"rank {rank}: tcp: 40000 bytes in 8 messages sent, 40000 in 8 received")


if __name__ == "__main__":
  unittest.main()
