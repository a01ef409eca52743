#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares ways to train over plain Ethernet: slow_links.py build/bin [--svg FILE]. Needs root, for network namespaces.

Simulates four hosts with one rank each, whose ports have 100 and 250 Mbit/s (tests/netlab), and for ways that need several ranks in a
host two hosts with two. All ways train the same model on the same tokens in each step. Tokens per second are those of all steps but
the first; bytes per step are those that the first rank counts, inside its host too, and those that a host's port has sent, with
headers, acknowledgements and the evaluations of the run. The most of a step leaves out the last one, after which groups average the
whole model in any case. Losses do not depend on the ports: only at the last rate all steps are made, whose losses and bytes are shown.
"""

import argparse
import collections
import itertools
import json
import math
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "netlab"))
from network import Buffers, Impossible, Network, missing_tools  # noqa: E402
from ranks import favoured, kept_niceness, start_all  # noqa: E402

RANKS = 4
LENGTH = 128  # tokens of a sequence, in preset small

Way = collections.namedtuple("Way", "name hosts options")
Outcome = collections.namedtuple("Outcome", "tokens_per_second losses held_out step_bytes peak_bytes port_bytes")


def ways(local_steps):
  prefetch, narrow = ("--prefetch", "2"), ("--gather", "int8", "--reduce", "int8")
  limited = (*prefetch, "--limiter", "sliding", "--gathers", "2")
  diloco = ("--local-steps", f"{local_steps}", "--strategy", "none")
  return [Way("FSDP", 4, (*prefetch, "--limiter", "off")),
          Way("FSDP, limiter", 4, limited),
          Way("FSDP, bf16", 4, (*limited, "--gather", "bf16", "--reduce", "bf16")),
          Way("FSDP, int8", 4, (*limited, *narrow)),
          Way("FSDP, limiter", 2, limited),
          Way("hpZ", 2, ("--strategy", "hpz", *limited)),
          Way("hpZ, int8", 2, ("--strategy", "hpz", *limited, *narrow)),
          Way("HYBRID_SHARD", 2, ("--strategy", "hybrid", *limited)),
          Way("DiLoCo", 4, diloco),
          Way("DiLoCo, int8", 4, (*diloco, "--reduce", "int8")),
          Way("streaming DiLoCo, int8", 4, (*diloco, "--reduce", "int8", "--outer-fragments", "4", "--outer-delay", "1"))]


def asked(arguments):
  return [way for way in ways(arguments.local_steps) if not arguments.ways or way.name in arguments.ways]


def train(arguments, network, way, stop_after, folder):
  metrics = os.path.join(folder, "metrics")
  words = [os.path.join(os.path.abspath(arguments.programs), "weir-train"), "--steps", arguments.steps, "--stop-after", stop_after, "--batch", arguments.batch,
           "--warm-up", arguments.warm_up, "--evaluation-sequences", 64, "--sample", 0, "--metrics", metrics, *way.options]
  command = favoured(arguments.nice, [*map(str, words)])
  sent = lambda: sum(network.statistic(*end, "tx_bytes") for end in network.farther.values())  # noqa: E731
  before = sent()
  processes = start_all(network, command, per_host=RANKS // way.hosts)
  try:
    said = [process.communicate(timeout=arguments.timeout) for process in processes]
  finally:
    network.kill_all()
  if any(process.returncode for process in processes):
    sys.exit(f"weir-train failed ({way.name}): " + "; ".join(err.strip().splitlines()[-1] for _, err in said if err.strip()))
  with open(metrics, encoding="utf-8") as file:
    lines = [json.loads(line) for line in file]
  os.remove(metrics)
  steps = [line for line in lines if "loss" in line]
  seconds = sum(line["seconds"] for line in steps[1:])
  return Outcome(arguments.batch * LENGTH * (len(steps) - 1) / seconds, [line["loss"] for line in steps],
                 [line["held_out_loss"] for line in lines if "held_out_loss" in line][-1],
                 sum(line["bytes_on_the_wire"] for line in steps) / len(steps),
                 max(line["bytes_on_the_wire"] for line in steps[:-1]), (sent() - before) / way.hosts)


def measure(arguments, folder):
  """{(Mbit/s, way): outcome}."""
  found = {}
  with kept_niceness():
    for mbit in arguments.mbit:
      stop_after = 0 if mbit == arguments.mbit[-1] else arguments.timed_steps
      burst = max(32 << 10, round(mbit * 1e6 / 8 * 1e-3))
      for hosts in sorted({way.hosts for way in asked(arguments)}, reverse=True):
        with Network([hosts], mbit, [0], buffers=Buffers(port=1 << 20, burst=burst), offloads=True, congestion="cubic") as network:
          for way in asked(arguments):
            if way.hosts == hosts:
              found[mbit, way] = train(arguments, network, way, stop_after, folder)
  return found


def report(arguments, found):
  rates = arguments.mbit
  print(f"\npreset small, {arguments.steps} steps of {arguments.batch} sequences, {RANKS} ranks; "
        f"DiLoCo meets every {arguments.local_steps} steps\n")
  print("| way | hosts x ranks | " + " | ".join(f"tokens/s at {mbit:g} Mbit/s" for mbit in rates) +
        " | MB per step and rank | most of a step | MB per step and port | loss of the last step | held-out loss |")
  print("|---" * (7 + len(rates)) + "|")
  for way in asked(arguments):
    last = found[rates[-1], way]
    speeds = " | ".join(f"{found[mbit, way].tokens_per_second:.0f}" for mbit in rates)
    print(f"| {way.name} | {way.hosts} x {RANKS // way.hosts} | {speeds} | {last.step_bytes / 1e6:.2f} | {last.peak_bytes / 1e6:.2f} | {last.port_bytes / len(last.losses) / 1e6:.1f} | "
          f"{last.losses[-1]:.3f} | {last.held_out:.3f} |")


COLOURS = ("#27323d", "#b7791f", "#c53030", "#2b6cb0", "#2f8f4e")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 360, 44, 290, 36, 46
ALIKE = 0.02  # nats by which curves that look like one differ at most
LINE = 16  # height of a label


def bundles(curves):
  """[(names, losses)]: curves that look like one are one, with the losses of the first."""
  found = []
  for name, losses in curves.items():
    same = [names for names, first in found if max(abs(a - b) for a, b in zip(first, losses)) < ALIKE]
    if same:
      same[0].append(name)
    else:
      found.append(([name], losses))
  return found


def picture(curves):
  """An SVG of {name: losses by step}, with a logarithmic axis of losses."""
  drawn = sorted(bundles(curves), key=lambda bundle: -bundle[1][-1])  # from the top to the bottom, where they end
  most = max(max(losses) for _, losses in drawn)
  least = min(min(losses) for _, losses in drawn)
  steps = max(len(losses) for _, losses in drawn)
  end = WIDTH - RIGHT
  x = lambda step: LEFT + (step - 1) / (steps - 1) * (end - LEFT)  # noqa: E731
  y = lambda loss: HEIGHT - BOTTOM - math.log(loss / least) / math.log(most / least) * (HEIGHT - TOP - BOTTOM)  # noqa: E731
  lines = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
           "<title>Training loss by step, for several ways to train over slow links</title>",
           "<style>text{font:12px ui-sans-serif,system-ui,sans-serif;fill:#27323d}.grid{stroke:#dfe4ea}"
           "polyline{fill:none;stroke-width:1.6}</style>",
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="20" font-weight="600">Training loss, nats per byte</text>',
           f'<text text-anchor="middle" x="{(LEFT + end) / 2:.0f}" y="{HEIGHT - 10}">step</text>']
  for half in range(math.ceil(2 * least), math.floor(2 * most) + 1):
    at = y(half / 2)
    lines.append(f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{at:.1f}" y2="{at:.1f}"/>'
                 f'<text text-anchor="end" x="{LEFT - 8}" y="{at + 4:.1f}">{half / 2:g}</text>')
  for step in range(10, steps + 1, 10):
    lines.append(f'<text text-anchor="middle" x="{x(step):.1f}" y="{HEIGHT - 28}">{step}</text>')
  label = 0.0
  for colour, (names, losses) in zip(itertools.cycle(COLOURS), drawn):
    points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in enumerate(losses, 1))
    last = y(losses[-1])
    label = max(label + LINE, last - LINE * (len(drawn) - 1) / 2)
    lines.append(f'<polyline stroke="{colour}" points="{points}"/>')
    lines.append(f'<text x="{end + 14}" y="{label + 4:.1f}" style="fill:{colour}">{"; ".join(dict.fromkeys(names))}</text>')
  return "\n".join([*lines, "</svg>"]) + "\n"


def parser():
  result = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  add = result.add_argument
  add("programs", help="folder with weir-train")
  add("--mbit", type=float, nargs="+", default=[100, 250])
  add("--steps", type=int, default=50)
  add("--timed-steps", type=int, default=20, help="steps at the rates but the last one")
  add("--local-steps", type=int, default=10)
  add("--batch", type=int, default=16)
  add("--warm-up", type=int, default=5)
  add("--ways", nargs="+", metavar="NAME", help="names of the ways to compare; default: all")
  add("--nice", type=int, default=0, help="niceness of the ranks; below 0 on a busy machine")
  add("--timeout", type=float, default=900)
  add("--svg", help="file for the picture of the losses")
  return result


def main():
  arguments = parser().parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  with tempfile.TemporaryDirectory() as folder:
    try:
      found = measure(arguments, folder)
    except Impossible as error:
      sys.exit(f"the network cannot be built: {error}")
  report(arguments, found)
  if arguments.svg:
    with open(arguments.svg, "w", encoding="ascii") as file:
      file.write(picture({way.name: found[arguments.mbit[-1], way].losses for way in asked(arguments)}))


if __name__ == "__main__":
  main()
