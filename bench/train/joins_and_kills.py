#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains over slow links while processes die and others join: joins_and_kills.py build/bin [--events N]. Needs root, for network namespaces.

Four hosts with one process each at most, whose ports have 100 Mbit/s, with 80 ms for a round trip (tests/netlab). Three begin. After
random steps a process of a random host is killed, or one is started on a host that has none and joins; two at least are left. No
checkpoints are written, and rates are not measured, which takes many round trips. The same run without events is trained beside it. The time
lost by an event is the longest step until the next event, less the median of all steps; where groups meet in that step, their meeting is
in it.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "netlab"))
from delay import delay_all  # noqa: E402
from network import PORT, Buffers, Impossible, Network, missing_tools  # noqa: E402

HOSTS, FIRST, LEAST = 4, 3, 2
WAYS = {"DDP, canonical": ("--strategy", "none", "--deterministic", "canonical"),
        "DiLoCo, int8": ("--strategy", "none", "--local-steps", "10", "--shard-ranks", "1", "--reduce", "int8")}


class Job:
  """The processes of a run, and when its steps were done."""

  def __init__(self, arguments, network, options, folder):
    self.network, self.metrics, self.limit = network, os.path.join(folder, "metrics"), arguments.timeout
    self.words = [os.path.join(os.path.abspath(arguments.programs), "weir-train"), "--preset", arguments.preset, "--steps", f"{arguments.steps}",
                  "--batch", f"{arguments.batch}", "--warm-up", "20", "--evaluate-every", "0", "--evaluation-sequences", "64", "--sample", "0",
                  "--report-every", "1", "--regroup", "--metrics", self.metrics, *options]
    self.addresses = ",".join(f"{network.address(host)}:{PORT}" for host in range(HOSTS))
    self.alive, self.said, self.times, self.lines = {}, [], [], []
    self.words_of = {}  # key: host; what its process has said so far
    open(self.metrics, "w", encoding="utf-8").close()
    self.file = open(self.metrics, encoding="utf-8")
    self.first = set(range(FIRST))
    for host in self.first:
      self.words_of[host] = []
      self.start(host, self.network.start(host, host, FIRST, self.words, **self.variables()))

  def variables(self):
    return {"WEIR_SECRET": "of this measurement", "OMP_NUM_THREADS": "1", "WEIR_CALIBRATION": "0"}

  def start(self, host, process):
    self.alive[host] = process
    self.said.append((host, []))
    into = self.words_of[host] = self.said[-1][1]
    for source in (process.stdout, process.stderr):
      threading.Thread(target=lambda source=source: into.extend(source), daemon=True).start()

  def join(self, host):
    self.start(host, self.network.start(host, 0, 1, [*self.words, "--join", self.addresses], **self.variables()))

  def ranks(self):
    """Hosts whose processes are ranks, not about to become one."""
    return [host for host in sorted(self.alive) if host in self.first or any("joined the job" in line for line in self.words_of[host])]

  def kill(self, host):
    self.first.discard(host)
    pid = self.alive[host].pid
    os.kill(pid, 9)
    self.alive.pop(host).wait()

  def read(self):
    for line in self.file:
      self.lines.append(json.loads(line))
      if "gradient_norm" in self.lines[-1]:
        self.times.append((self.lines[-1]["step"], time.monotonic()))

  def steps(self):
    self.read()
    return self.times[-1][0] if self.times else 0

  def wait_until(self, done, what):
    end = time.monotonic() + self.limit
    while not done():
      if all(process.poll() is not None for process in self.alive.values()) or time.monotonic() > end:
        sys.exit(f"the run did not come to {what}, after step {self.steps()}:\n" +
                 "\n".join(f"host {host}: {''.join(lines[-4:])}" for host, lines in self.said))
      time.sleep(0.01)

  def value(self, name):
    self.read()
    return [line[name] for line in self.lines if name in line]


def disturb(job, rng, steps, count):
  """[(step, what)]: random events after random steps."""
  done = []
  for step in sorted(rng.sample(range(2, steps - 5), count)):
    job.wait_until(lambda: job.steps() >= step, f"step {step}")
    free = [host for host in range(HOSTS) if host not in job.alive]
    kills = not free or (len(job.ranks()) > LEAST and rng.random() < 0.5)
    if kills:
      job.wait_until(lambda: len(job.ranks()) > LEAST, "more ranks")
    host = rng.choice(job.ranks() if kills else free)
    (job.kill if kills else job.join)(host)
    done.append((step, "kill" if kills else "join"))
    print(f"step {step}: {done[-1][1]} host {host}; {len(job.alive)} processes", file=sys.stderr, flush=True)
  return done


def run(arguments, options, events, folder):
  burst = max(32 << 10, round(arguments.mbit * 1e6 / 8 * 1e-3))
  with Network([HOSTS], arguments.mbit, [0], buffers=Buffers(port=2 << 20, burst=burst), offloads=True, congestion="cubic") as network:
    delay_all(network, arguments.round_trip / 2)
    job = Job(arguments, network, options, folder)
    done = disturb(job, random.Random(arguments.seed), arguments.steps, events) if events else []
    job.wait_until(lambda: job.value("digest"), "its end")
    network.kill_all()
  return job, done


def lost_times(job, done):
  """Seconds per kind of event."""
  gaps = {step: later - earlier for (_, earlier), (step, later) in zip(job.times, job.times[1:])}
  median = statistics.median(gaps.values())
  found = {"kill": [], "join": []}
  for (step, what), following in zip(done, [step for step, _ in done[1:]] + [10**9]):
    longest = max((gap for at, gap in gaps.items() if step < at <= following), default=median)
    found[what].append(max(0.0, longest - median))
  return median, found


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  add = parser.add_argument
  add("programs", help="folder with weir-train")
  add("--mbit", type=float, default=100)
  add("--round-trip", type=float, default=80, help="milliseconds")
  add("--steps", type=int, default=300)
  add("--events", type=int, default=30)
  add("--batch", type=int, default=12)
  add("--preset", default="tiny")
  add("--seed", type=int, default=1)
  add("--timeout", type=float, default=1800, help="seconds between two events")
  add("--ways", nargs="+", choices=WAYS, default=list(WAYS))
  arguments = parser.parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  print(f"\npreset {arguments.preset}, {arguments.steps} steps of {arguments.batch} sequences, {arguments.mbit:g} Mbit/s, "
        f"{arguments.round_trip:g} ms for a round trip\n")
  print("| way | events | steps from the first to the last, s | median step, s | lost per kill, s (most) | lost per join, s (most) | loss of the last step | mean loss of the last 20 | "
        "held-out loss | digest |")
  print("|---" * 10 + "|")
  for name in arguments.ways:
    for events in (0, arguments.events):
      with tempfile.TemporaryDirectory() as folder:
        try:
          job, done = run(arguments, WAYS[name], events, folder)
        except Impossible as error:
          sys.exit(f"the network cannot be built: {error}")
      median, lost = lost_times(job, done)
      words = {what: f"{statistics.mean(times):.1f} ({max(times):.1f})" if times else "-" for what, times in lost.items()}
      counts = f"{len(lost['kill'])} kills, {len(lost['join'])} joins" if done else "none"
      losses = [line["loss"] for line in job.lines if "gradient_norm" in line]
      print(f"| {name} | {counts} | {job.times[-1][1] - job.times[0][1]:.0f} | {median:.2f} | {words['kill']} | {words['join']} | {losses[-1]:.4f} | {statistics.mean(losses[-20:]):.4f} | "
            f"{job.value('held_out_loss')[-1]:.4f} | {job.value('digest')[-1]} |", flush=True)


if __name__ == "__main__":
  main()
