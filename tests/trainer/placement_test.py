#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the parts of a model go: placement_test.py WEIR_TRAIN [--show].

Eight ranks on four hosts, two to a leaf, numbered so that neither hosts nor leaves follow each other, train a model in two stages of two
slices. Sums over slices must stay on the hosts and moves between stages within the leaves: what leaves send up to the spine must be the
gradients alone. Where leaves are not known these moves go there, and the gradients stay. Ends with 77 (skipped) where networks of namespaces may not be made.
"""

import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "netlab"))
from network import Impossible, Network, missing_tools  # noqa: E402
from matrix_test import some_text  # noqa: E402

HOST_OF = (0, 2, 1, 3, 0, 2, 1, 3)  # hosts 0 and 1 are on leaf 0
RANKS = len(HOST_OF)
SLICES, BATCH, TOKENS_TIMES_WIDTH = 2, 16, 64 * 128
COPIED = (256 + 64 + 256) * 128 + 2 * 128 + 4 * 6 * 128  # parameters that each slice has: embedding, head, norms, biases of sums
LEAST, FRAMES = 0.85, 1.2  # what a busy machine sends twice, in either run; headers of packets, acknowledgements


def run(network, program, folder, steps, knows_leaves):
  """(words that rank 0 printed, bytes that each leaf has sent up meanwhile)"""
  command = [program, "--data", some_text().name, "--preset", "tiny", "--steps", f"{steps}", "--batch", f"{BATCH}",
             "--strategy", "none", "--pipeline", "2", "--tensor", f"{SLICES}", "--micro-batch", "2", "--evaluate-every", "0",
             "--evaluation-sequences", "8", "--sample", "0"]
  variables = {"WEIR_FABRIC_FILE": os.path.join(folder, "fabric")} if knows_leaves else {}
  variables["WEIR_CALIBRATION"] = "0"  # measured rates would choose other plans in each run, and measuring sends bytes
  before = network.sent_upwards()
  local = {}
  processes = []
  for rank, host in enumerate(HOST_OF):
    local[host] = local.get(host, -1) + 1
    processes.append(network.start(host, rank, RANKS, command, LOCAL_RANK=f"{local[host]}", LOCAL_WORLD_SIZE="2", **variables))
  said = [process.communicate(timeout=180) for process in processes]
  assert all(process.returncode == 0 for process in processes), said
  return said[0][0], [end - begin for begin, end in zip(before, network.sent_upwards())]


def sent_per_step(network, program, folder, knows_leaves):
  """Bytes of both leaves, and what rank 0 said."""
  few, many = 2, 12
  _, short = run(network, program, folder, few, knows_leaves)
  words, long = run(network, program, folder, many, knows_leaves)
  return (sum(long) - sum(short)) / (many - few), words


def parameters_of(words):
  return float(words.split(" M parameters")[0].split()[-1]) * 1e6


def main():
  program, show = sys.argv[1], "--show" in sys.argv
  if missing := missing_tools():
    print(missing)
    sys.exit(77)
  try:
    with Network([2, 2], 1000, [1000, 1000], lossless=True) as network, tempfile.TemporaryDirectory() as folder:
      network.write_fabric(os.path.join(folder, "fabric"))
      placed, words = sent_per_step(network, program, folder, True)
      blind, _ = sent_per_step(network, program, folder, False)
  except Impossible as error:
    print(f"the network cannot be built: {error}")
    sys.exit(77)
  # Two replicas, one to a leaf: of two ranks that add up n floats each sends n.
  gradients = 2 * 4 * (parameters_of(words) + (SLICES - 1) * COPIED)
  # A leaf to a stage: each slice sends its activations forward, and their gradients come back.
  moves = 2 * SLICES * 4 * BATCH * TOKENS_TIMES_WIDTH
  if show:
    print(f"sent to the spine in a step: {placed / 1e6:.2f} MB, gradients are {gradients / 1e6:.2f} MB; with leaves not known "
          f"{blind / 1e6:.2f} MB, moves between stages are {moves / 1e6:.2f} MB")
  assert "spanning several leaves" not in words, words
  assert LEAST * gradients < placed < FRAMES * gradients, (placed, gradients, words)
  assert LEAST * moves < blind < FRAMES * moves, (blind, moves)


if __name__ == "__main__":
  main()
