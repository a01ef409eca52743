#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the benefit of the rate limiter of gathers on paced links: limiter.py build/bin. Needs root, for network namespaces.

Simulates four hosts with one rank each, ports of --mbit (tests/netlab), and a memory budget per rank: memory that gathered parameters
do not use is left for activations, so the limiter determines the number of sequences per micro-batch, and with it the number of
gathers. The limiters alternate within a round; efficiency is tokens per second relative to four ranks that train at the same time on
the same cores without a network. The prediction is that of weir-train --plan-only for these hosts; the speed of computation is measured
with those four ranks; two constants are fitted or given: the share of the ports' rate that collectives get, and the processor time per
byte, which is not available for computation. Both depend on the hosts, not on the rate of their ports.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "netlab"))
from network import Buffers, Impossible, Network, missing_tools  # noqa: E402
from ranks import favoured, kept_niceness, start_all  # noqa: E402

HOSTS = 4
LIMITERS = ("off", "block", "sliding")
GATHERS, PREFETCH = 2, 2
MTU = 1500
WIDTH, HEADS, LENGTH = 256, 4, 128  # as in preset small


class Bed:
  def __init__(self, arguments, network, folder):
    self.arguments, self.network, self.folder = arguments, network, folder

  def train(self, limiter, alone=False):
    """Returns (seconds of each step but the first, micro-batches per step) of the slowest rank."""
    steps = self.arguments.steps + 1
    batch = self.arguments.batch // HOSTS if alone else self.arguments.batch
    words = [os.path.join(os.path.abspath(self.arguments.programs), "weir-train"), "--blocks", self.arguments.blocks, "--batch", batch]
    words += ["--limiter", limiter, "--gathers", GATHERS, "--prefetch", PREFETCH]
    words += ["--recompute", "full", "--steps", steps, "--evaluation-sequences", 1, "--sample", 0]
    command = lambda rank: favoured(self.arguments.nice, [*map(str, words), "--metrics", self.metrics(rank)])  # noqa: E731
    if alone:
      processes = [self.network.start(host, 0, 1, command(host), first_host=host) for host in range(HOSTS)]
    else:
      words += ["--memory", self.arguments.memory]
      processes = start_all(self.network, command)
    try:
      said = [process.communicate(timeout=self.arguments.timeout) for process in processes]
    finally:
      self.network.kill_all()
    if any(process.returncode for process in processes):
      sys.exit("weir-train failed: " + "; ".join(err.strip().splitlines()[-1] for _, err in said if err.strip()))
    found = re.search(r"micro-batches of (\d+)", said[0][0])
    together = int(found.group(1)) if found else batch
    share = self.arguments.batch // HOSTS
    times = [self.seconds(rank) for rank in range(HOSTS if alone else 1)]
    return [max(step) for step in zip(*times)], -(-share // together)

  def metrics(self, rank):
    return os.path.join(self.folder, f"metrics.{rank}")

  def seconds(self, rank):
    with open(self.metrics(rank), encoding="utf-8") as file:
      return [line["seconds"] for line in map(json.loads, file) if "seconds" in line][1:]


def operations_per_token(blocks):
  """Returns the floating-point operations per token, as weir-train counts them."""
  return 6 * (12 * blocks * WIDTH * WIDTH + WIDTH * 256) + 12 * blocks * LENGTH * WIDTH


class Model:
  """Predictions of weir-train --plan-only for the hosts of the bed."""

  def __init__(self, arguments, folder, alone, micro_batches):
    self.arguments, self.folder, self.micro_batches = arguments, folder, micro_batches
    share = arguments.batch // HOSTS
    self.compute = share * LENGTH / alone * operations_per_token(arguments.blocks) * 4 / 3  # forward runs twice

  def predict(self, usable, ns_per_byte):
    """Returns {limiter: tokens per second of all ranks}."""
    arguments, share = self.arguments, self.arguments.batch // HOSTS
    row = {"model": "it", "nodes": HOSTS, "strategy": "FULL_SHARD", "recompute": "full", "prefetch": PREFETCH, "published": 1,
           "measure": "tokens/s"}
    models = {
        "title": "paced links",
        "sources": ["measured by bench/train/limiter.py"],
        "topology": f"{HOSTS} x (1 gpu, 1 nic {usable * arguments.mbit / 8e3:.6f}) leaf",
        "latency": "0,network=100",
        "device": {"memory": 1e9, "reserve": 0, "peak": 1e12, "flops": self.compute,
                   "contention": min(0.9, ns_per_byte * arguments.mbit / 8e3)},
        "bytes": {"gather": 4, "reduce": 4, "activation": 4},
        "constants": {"reserve": "assumed", "nic": "fitted", "latency": "assumed", "contention": "fitted"},
        "models": [{"name": "it", "layers": arguments.blocks, "width": WIDTH, "heads": HEADS, "sequence": LENGTH, "vocabulary": 256}],
        "rows": [row | {"batch": round(share / times), "times": times, "limiter": limiter} | ({} if limiter == "off" else {"gathers": GATHERS})
                 for limiter, times in self.micro_batches.items()],
    }
    path = os.path.join(self.folder, "bed.json")
    with open(path, "w", encoding="utf-8") as file:
      json.dump(models, file)
    command = [os.path.join(arguments.programs, "weir-train"), "--plan-only", "--models", path]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"([\d.,]+) tokens/s", said)
    return {limiter: HOSTS * float(words.replace(",", "")) for limiter, words in zip(self.micro_batches, found)}

  def fit(self, measured):
    """Returns the (usable, ns per byte) that fit the first and the last limiter best."""
    header = (MTU - 52) / (MTU + 14)

    def error(constants):
      predicted = self.predict(*constants)
      return sum(math.log(predicted[limiter] / measured[limiter]) ** 2 for limiter in (LIMITERS[0], LIMITERS[-1]))

    per_byte = 8e3 / self.arguments.mbit
    return min(((header * part / 20, per_byte * lost / 20) for part in range(8, 21) for lost in range(0, 18)), key=error)


def parser():
  result = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  add = result.add_argument
  add("programs", help="folder with weir-train")
  add("--mbit", type=float, default=250)
  add("--memory", default="132M", help="memory of each rank's arrays, with M or G")
  add("--blocks", type=int, default=16)
  add("--batch", type=int, default=48)
  add("--steps", type=int, default=3, help="counted steps in a round, after one that is not counted")
  add("--rounds", type=int, default=2)
  add("--nice", type=int, default=0, help="niceness of the ranks; below 0 on a busy machine")
  add("--timeout", type=float, default=600)
  add("--constants", type=lambda text: tuple(map(float, text.split(","))), metavar="USABLE,NS",
      help="constants of the prediction: the share of the ports' rate that collectives get, and the processor time per byte of a port "
      "in nanoseconds; default: fitted to the first and the last limiter")
  return result


def measure(arguments, folder):
  burst = max(32 << 10, round(arguments.mbit * 1e6 / 8 * 1e-3))
  taken = {name: [] for name in ("alone", *LIMITERS)}
  micro_batches = {}
  with kept_niceness(), Network([HOSTS], arguments.mbit, [0], mtu=MTU, buffers=Buffers(port=1 << 20, burst=burst), offloads=True,
                                congestion="cubic") as network:
    bed = Bed(arguments, network, folder)
    for _ in range(arguments.rounds):
      taken["alone"] += bed.train("off", alone=True)[0]
      for limiter in LIMITERS:
        seconds, micro_batches[limiter] = bed.train(limiter)
        taken[limiter] += seconds
  return {name: statistics.median(seconds) for name, seconds in taken.items()}, micro_batches


def report(arguments, seconds, micro_batches, model):
  measured = {name: arguments.batch * LENGTH / took for name, took in seconds.items()}
  constants = arguments.constants or model.fit(measured)
  predicted = model.predict(*constants)
  fitted = () if arguments.constants else (LIMITERS[0], LIMITERS[-1])
  print(f"\n{HOSTS} hosts, {arguments.mbit:g} Mbit/s, {arguments.blocks} blocks of preset small, {arguments.batch} sequences per step, "
        f"{arguments.memory} per rank; without a network {measured['alone']:.0f} tokens/s")
  print(f"constants: usable {constants[0]:.3f}, {constants[1]:.1f} ns per byte{'' if arguments.constants else ' (fitted)'}\n")
  print("| limiter | micro-batches | tokens/s | efficiency | predicted | off by |")
  print("|---|---|---|---|---|---|")
  for limiter in LIMITERS:
    rate, guess = measured[limiter], predicted[limiter]
    print(f"| {limiter} | {micro_batches[limiter]} | {rate:.0f} | {100 * rate / measured['alone']:.0f} % | {guess:.0f} | "
          f"{100 * (guess / rate - 1):+.0f} %{', fitted' if limiter in fitted else ''} |")


def main():
  arguments = parser().parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  with tempfile.TemporaryDirectory() as folder:
    try:
      seconds, micro_batches = measure(arguments, folder)
    except Impossible as error:
      sys.exit(f"the network cannot be built: {error}")
    report(arguments, seconds, micro_batches, Model(arguments, folder, seconds["alone"], micro_batches))


if __name__ == "__main__":
  main()
