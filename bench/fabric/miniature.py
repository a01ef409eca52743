#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs plans of a host's GPUs on that host in miniature, and compares with their prediction: miniature.py FOLDER_OF_PROGRAMS TOPOLOGY.

Each GPU becomes a namespace, each NVLink or xGMI a cable with the same share of its rate (tests/netlab/mesh.py). Communicators run
the plan that `weir plan` emits for the machine, by WEIR_PLAN_FILE, and a ring in the order of ranks. Times are predicted by `weir
sim` of the same moves on the machine, and divided by the share; nothing is fitted.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "netlab"))
from mesh import Machine, Mesh  # noqa: E402
from network import Impossible, missing_tools  # noqa: E402
from predicted import PAYLOAD_SHARE, SLOT_BYTES, SLOTS, run  # noqa: E402

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter")


def weir_json(arguments, *words):
  command = (os.path.join(arguments.programs, "weir"), *words, "--json")
  return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


def emit(arguments, collective, size, file):
  """Writes the plan, and returns the name of its algorithm."""
  words = ("plan", arguments.topology, "--collective", collective, "--bytes", f"{size}", "--slot-bytes", f"{SLOT_BYTES}", "--slots", f"{SLOTS}")
  text = subprocess.run((os.path.join(arguments.programs, "weir"), *words, "--emit", "plan"), capture_output=True, text=True, check=True,
                        timeout=300).stdout
  with open(file, "w", encoding="ascii") as plan:
    plan.write(text)
  return text.split("algorithm ", 1)[1].split("\n", 1)[0]


def predict(arguments, collective, size, share, *way):
  """Seconds in the miniature."""
  seen = weir_json(arguments, "sim", arguments.topology, "--collective", collective, "--bytes", f"{size}", "--slot-bytes", f"{SLOT_BYTES}",
                   "--slots", f"{SLOTS}", *way)
  return seen["seconds"] / share / PAYLOAD_SHARE


def compare(arguments, collective, machine, network, folder):
  """[(algorithm, predicted, [measured])] in seconds, the plan first."""
  size, file = arguments.bytes, os.path.join(folder, f"{collective}.plan")
  algorithm = emit(arguments, collective, size, file)
  ways = [(algorithm, ("--plan", file), {"WEIR_PLAN_FILE": file}), ("ring", ("--algorithm", "ring"), {"WEIR_ALGO": "ring"})]
  rows = [(name, predict(arguments, collective, size, arguments.share, *way), []) for name, way, _ in ways]
  for _ in range(arguments.rounds):
    for (_, _, measured), (_, _, variables) in zip(rows, ways):
      times = run(network, arguments.programs, arguments.nice, collective, [size], arguments.repeats, machine.gpus,
                  NCCL_NSOCKS_PERTHREAD="1", NCCL_SOCKET_IFNAME="eth0", WEIR_CREDIT="0", **variables)
      measured.append(statistics.median(*times.values()) / 1000)
  return rows


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("programs", help="folder with weir and the bench programs, such as build/bin")
  parser.add_argument("topology", help="topology file of one host")
  parser.add_argument("--share", type=float, default=5e-5, help="of the machine's rates, what the cables have")
  parser.add_argument("--bytes", type=int, default=16 << 20, help="size of the whole buffer")
  parser.add_argument("--rounds", type=int, default=3, help="number of rounds, each with new processes")
  parser.add_argument("--repeats", type=int, default=2, help="repetitions in a round, in place and out of place each")
  parser.add_argument("--send-buffer", type=int, default=32 << 10, help="bytes per connection; 0: the kernel's choice, which fills queues")
  parser.add_argument("--nice", type=int, default=0, help="niceness of the ranks; below 0 on a busy machine")
  parser.add_argument("--collective", action="append", help=f"repeatable; default: {', '.join(COLLECTIVES)}")
  arguments = parser.parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  machine = Machine(os.path.join(arguments.programs, "weir"), arguments.topology)
  print(f"{machine.gpus} GPUs, {arguments.bytes} bytes, {arguments.share:g} of the rates\n"
        f"{'collective':<16}{'plan':<12}{'predicted':>10}{'measured':>10}{'ratio':>7}{'times the ring: predicted':>28}{'measured':>10}", flush=True)
  try:
    with tempfile.TemporaryDirectory() as folder, Mesh(machine, arguments.share, arguments.send_buffer) as network:
      for collective in arguments.collective or COLLECTIVES:
        rows = compare(arguments, collective, machine, network, folder)
        for name, predicted, times in rows:
          measured, ring = statistics.median(times), rows[-1]
          print(f"{collective:<16}{name:<12}{predicted:>9.3f}s{measured:>9.3f}s{predicted / measured:>7.2f}"
                f"{ring[1] / predicted:>28.2f}{statistics.median(ring[2]) / measured:>10.2f}", flush=True)
  except Impossible as error:
    sys.exit(f"the network cannot be built: {error}")


if __name__ == "__main__":
  main()
