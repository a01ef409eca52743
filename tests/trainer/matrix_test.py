#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must not change what weir-train learns: matrix_test.py WEIR_TRAIN canonical|llama|local|orders|plain|parts|switches|tied [few].

Canonical runs end with one digest of parameters and moments, whatever ranks, strategy, limiter, prefetch, micro-batch and transport;
so do runs that stop at a checkpoint and go on with other ranks, another strategy and transport. Runs in the library's own order keep to the
losses of one rank within the rounding of sums. Parts are stages and slices of the model.
"""

import functools
import itertools
import json
import lzma
import os
import subprocess
import sys
import tempfile

TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../trainer/data/kjv.txt.xz")
STEPS = 3
FP32_LOSS = 1e-5  # of nats, as sums in another order differ
BF16_LOSS = 2e-2  # parameters that travel as bf16 have 8 bits
BF16_REDUCE_LOSS = 2e-3
INT8_LOSS = 5e-2
FEW = "few" in sys.argv
RANKS = (3,) if FEW else (1, 2, 3, 4, 8)
STRATEGIES = ("none", "gradients", "full", "hybrid", "hpz")
LIMITERS = (("--limiter", "off"), ("--limiter", "block", "--gathers", "2"), ("--limiter", "sliding", "--gathers", "1"),
            ("--limiter", "sliding", "--gathers", "3"))
PREFETCHES = ("0", "1", "2")
MICRO_BATCHES = ("0", "1", "3")
TRANSPORTS = ("loop,shm", "loop,cma", "loop,tcp")


@functools.cache
def some_text():
  """A file with the beginning of the text that weir-train has with it: to unpack all of it is most of a short run."""
  file = tempfile.NamedTemporaryFile(suffix=".txt")  # goes with this process
  with lzma.open(TEXT) as text:
    file.write(text.read(200_000))
  file.flush()
  return file


def train(program, ranks, *options, steps=STEPS, batch=7, launch=None, preset="tiny", **variables):
  """(digest, losses by step). `launch`: what starts the ranks, and the program with its text, instead of the program itself."""
  with tempfile.NamedTemporaryFile(suffix=".jsonl") as metrics:
    command = [*(launch or (program, "--ranks", f"{ranks}", "--data", some_text().name)), *(("--preset", preset) if preset else ()), "--steps", f"{steps}", "--warm-up", "1", "--batch", f"{batch}",
               "--evaluation-sequences", "4", "--sample", "0", "--metrics", metrics.name, *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ | variables)
    assert run.returncode == 0, (command, run.stdout, run.stderr)
    lines = [json.loads(line) for line in open(metrics.name, encoding="utf-8")]
  digest = next(line["digest"] for line in lines if "digest" in line)
  return digest, {line["step"]: line["loss"] for line in lines if "loss" in line}


def some(cases):
  return cases[:2] if FEW else cases


def hybrid(ranks, strategy):
  """Groups of two where there are such, else of one."""
  return ("--shard-ranks", "2" if ranks % 2 == 0 else "1") if strategy in ("hybrid", "hpz") else ()


def canonical(program):
  expected, _ = train(program, 1, "--deterministic", "canonical")
  others = zip(itertools.product(RANKS, STRATEGIES), itertools.cycle(itertools.product(PREFETCHES, LIMITERS, MICRO_BATCHES)))
  for (ranks, strategy), (prefetch, limiter, micro_batch) in others:
    options = ("--strategy", strategy, *hybrid(ranks, strategy), "--prefetch", prefetch, *limiter, "--micro-batch", micro_batch)
    digest, _ = train(program, ranks, "--deterministic", "canonical", *options)
    assert digest == expected, (ranks, options, digest, expected)
  for transports in TRANSPORTS:
    digest, _ = train(program, 3, "--deterministic", "canonical", WEIR_TRANSPORTS=transports)
    assert digest == expected, (transports, digest, expected)
  # Blocks of gathered parameters are cut by their position in a unit.
  digests = {train(program, ranks, "--deterministic", "canonical", "--gather", "int8", "--strategy", strategy)[0]
             for ranks, strategy in some(((1, "none"), (3, "full"), (4, "gradients")))}
  assert len(digests) == 1 and expected not in digests, (digests, expected)
  other, _ = train(program, 2, "--deterministic", "canonical", "--seed", "2")
  assert other != expected, "the digest does not tell seeds apart"


def plain(program):
  _, expected = train(program, 1)
  for ranks, strategy, options, most in (
      (4, "full", (), FP32_LOSS), (3, "gradients", (), FP32_LOSS), (4, "hybrid", (), FP32_LOSS), (2, "full", ("--gather", "bf16"), BF16_LOSS),
      (4, "hybrid", ("--reduce", "bf16", "--micro-batch", "1"), BF16_REDUCE_LOSS), (2, "none", ("--reduce", "bf16"), BF16_REDUCE_LOSS),
      (4, "full", ("--gather", "int8", "--reduce", "int8", "--limiter", "sliding", "--gathers", "1"), INT8_LOSS),
      (4, "hybrid", ("--reduce", "fp8", "--micro-batch", "1"), INT8_LOSS)):
    _, losses = train(program, ranks, "--strategy", strategy, *hybrid(ranks, strategy), *options)
    assert losses.keys() == expected.keys() and losses, losses
    off = max(abs(loss - expected[step]) for step, loss in losses.items())
    assert off < most, (ranks, strategy, options, off)
    if {"bf16", "int8", "fp8"} & set(options):
      assert off > FP32_LOSS / 100, (options, off, "nothing was rounded")
  # The same plan, the same order of sums.
  digests = {train(program, 3, "--strategy", "full", WEIR_TRANSPORTS=transports, WEIR_ALGO="ring", WEIR_FAST="0")[0]
             for transports in TRANSPORTS}
  assert len(digests) == 1, digests


def on_hosts(program, hosts, *options, **variables):
  """Four ranks on as many simulated hosts: the digest."""
  weir = os.path.join(os.path.dirname(program), "weir")
  launch = (weir, "run", "-n", "4", "--nodes", f"{hosts}", "--plain", "--", program, "--data", some_text().name)
  return train(program, 4, *options, launch=launch, **variables)[0]


def orders(program):
  """The order of sums between ranks: measured rates do not change it, and hosts and sizes of messages only if they may."""
  with tempfile.TemporaryDirectory() as folder:
    digests = {on_hosts(program, 2, WEIR_CALIBRATION="1", WEIR_CACHE_DIR=f"{folder}/{turn}") for turn in range(4)}
  assert len(digests) == 1, digests
  digests = {on_hosts(program, hosts, *options, WEIR_ORDER="ranks", WEIR_FAST=fast)
             for hosts, fast, options in ((1, "1", ()), (2, "1", ()), (4, "0", ()), (2, "0", ("--prefetch", "0")))}
  assert len(digests) == 1, digests
  for option, variables, order in (("run", {}, "run"), ("run", {"WEIR_ORDER": "any"}, "run"), ("run", {"WEIR_ORDER": "ranks"}, "ranks"),
                                   ("off", {"WEIR_ORDER": "run"}, "any")):
    said = subprocess.run((program, "--ranks", "2", "--data", some_text().name, "--preset", "tiny", "--steps", "1", "--sample", "0",
                           "--evaluation-sequences", "2", "--batch", "2", "--deterministic", option),
                          capture_output=True, text=True, timeout=120, check=True, env=os.environ | variables).stdout
    assert f"deterministic {option}, order of sums between ranks: {order}\n" in said, said


def cut(stages, slices):
  return ("--pipeline", f"{stages}", "--tensor", f"{slices}")


def parts(program):
  canonical_way = ("--deterministic", "canonical")
  expected, _ = train(program, 1, *canonical_way)
  for ranks, stages, options in some(((2, 2, ()), (3, 3, ("--micro-batch", "3")), (4, 2, ("--strategy", "gradients", "--micro-batch", "1")),
                                      (8, 4, ("--strategy", "hybrid", "--shard-ranks", "1", "--micro-batch", "1")),
                                      (6, 6, ("--recompute", "full")))):
    digest, _ = train(program, ranks, *canonical_way, *cut(stages, 1), *options)
    assert digest == expected, (ranks, stages, options, digest, expected)
  _, expected = train(program, 1)
  for ranks, stages, slices, options in some(((4, 2, 2, ("--recompute", "selective")), (4, 1, 2, ("--strategy", "none")), (2, 1, 2, ()),
                                              (4, 1, 4, ("--recompute", "full")),
                                              (8, 2, 2, ("--strategy", "gradients", "--micro-batch", "1")))):
    _, losses = train(program, ranks, *cut(stages, slices), *options)
    off = max(abs(loss - expected[step]) for step, loss in losses.items())
    assert losses.keys() == expected.keys() and off < FP32_LOSS, (ranks, stages, slices, options, off)
  # What one way of cutting has saved is what any other has after loading it.
  with tempfile.TemporaryDirectory() as folder:
    digests = set()
    for ranks, stages, slices in ((8, 2, 2), (1, 1, 1), (4, 1, 4), (3, 3, 1)):
      digest, losses = train(program, ranks, *cut(stages, slices), "--checkpoints", folder, "--stop-after", "2")
      assert (ranks == 8) == bool(losses), (ranks, losses, "only the first ones train")
      digests.add(digest)
    assert len(digests) == 1, digests


def llama(program):
  """The same promises for blocks of Llama's form."""
  run = functools.partial(train, program, preset="llama-tiny")
  canonical_way = ("--deterministic", "canonical")
  expected, _ = run(1, *canonical_way)
  for ranks, options in some(((2, ("--strategy", "full")), (3, ("--micro-batch", "1", "--recompute", "full")),
                              (4, ("--strategy", "hybrid", "--shard-ranks", "2", "--recompute", "selective")),
                              (8, ("--strategy", "gradients",)), (4, cut(2, 1)), (6, cut(6, 1)))):
    digest, _ = run(ranks, *canonical_way, *options)
    assert digest == expected, (ranks, options, digest, expected)
  assert expected != train(program, 1, *canonical_way)[0], "the digest does not tell forms apart"
  _, expected = run(1)
  for ranks, options in some(((4, ("--strategy", "full")), (2, cut(1, 2)), (4, cut(2, 2)))):
    _, losses = run(ranks, *options)
    off = max(abs(loss - expected[step]) for step, loss in losses.items())
    assert losses.keys() == expected.keys() and off < FP32_LOSS, (ranks, options, off)
  with tempfile.TemporaryDirectory() as folder:
    digests = {run(ranks, *options, "--checkpoints", folder, "--stop-after", "2")[0]
               for ranks, options in ((4, cut(2, 2)), (1, ()), (3, ()))}
  assert len(digests) == 1, digests


def local(program):
  """Groups that train by themselves. An outer step of 1 without momentum takes the mean of the groups, which is what a single one has."""
  steps, run, way = 7, functools.partial(train, program, batch=8), ("--local-steps", "3")
  _, alone = run(1, steps=steps)
  _, losses = run(1, *way, "--outer-learning-rate", "1", "--outer-momentum", "0", steps=steps)
  assert max(abs(loss - alone[step]) for step, loss in losses.items()) < FP32_LOSS, (losses, alone)
  # One fragment that does not travel while the groups train is the whole model.
  whole, _ = run(2, *way, "--shard-ranks", "1", steps=steps)
  same, _ = run(2, *way, "--shard-ranks", "1", "--outer-fragments", "1", "--outer-delay", "0", "--outer-mix", "0.3", steps=steps)
  assert same == whole, (same, whole)
  streaming = ("--outer-fragments", "2", "--outer-delay", "1")  # of which one is on its way where the runs below stop
  cases = ((4, ("--shard-ranks", "1")), (4, ("--shard-ranks", "1", *streaming, "--reduce", "int8")),
           (4, ("--shard-ranks", "2", "--strategy", "gradients", "--reduce", "int8", "--gather", "bf16")),
           (4, ("--shard-ranks", "2", "--strategy", "full", *streaming)))
  for ranks, options in some(cases):
    digest, losses = run(ranks, *way, *options, steps=steps)
    # Until the first meeting each group learns from its own sequences only.
    assert abs(losses[1] - alone[1]) < BF16_LOSS, (losses, alone)
    assert losses[steps] < losses[1] and abs(losses[2] - alone[2]) > FP32_LOSS, (losses, alone)
    # A run that stops between two meetings, and one at a meeting, go on with the same bits.
    with tempfile.TemporaryDirectory() as folder:
      for until, first in ((4, 1), (6, 5), (0, 7)):
        again, losses = run(ranks, *way, *options, "--checkpoints", folder, "--stop-after", f"{until}", steps=steps)
        assert min(losses) == first, (losses, "did not go on from the checkpoint")
      assert again == digest, (ranks, options, again, digest)
      # Other ranks without groups continue with the model that all groups have in common.
      _, losses = run(3, "--checkpoints", folder, "--allow-changes", "local-steps,outer-fragments,outer-delay,gather,reduce", steps=steps + 1)
      assert list(losses) == [steps + 1] and losses[steps + 1] < alone[1], losses


def switches(program):
  steps = 8
  expected, _ = train(program, 1, "--deterministic", "canonical", steps=steps)
  with tempfile.TemporaryDirectory() as folder:
    for number, (ranks, strategy) in enumerate(((4, "full"), (3, "none"), (2, "gradients"), (8, "hybrid"))):
      until = 2 * (number + 1)
      digest, losses = train(program, ranks, "--deterministic", "canonical", "--strategy", strategy, *hybrid(ranks, strategy),
                             "--checkpoints", folder, "--checkpoint-every", "2", "--stop-after", f"{until}", steps=steps,
                             WEIR_TRANSPORTS=TRANSPORTS[number % len(TRANSPORTS)])
      assert min(losses) == until - 1, (losses, "did not go on from the checkpoint")
    assert digest == expected, (digest, expected)


def tied(program):
  """The same promises for models of which the output layer is tied to the embedding, and what is exported is imported as such."""
  for preset in ("tiny", "llama-tiny"):
    run = functools.partial(train, program, preset=preset)
    own, _ = run(1, "--deterministic", "canonical")
    expected, _ = run(1, "--tied", "--deterministic", "canonical")
    assert own != expected, "the digest does not tell tied models"
    for ranks, options in some(((3, ("--strategy", "full", "--recompute", "full")), (4, ("--strategy", "hybrid", "--shard-ranks", "2")),
                                (2, ("--strategy", "gradients", "--micro-batch", "1", "--recompute", "selective")))):
      digest, _ = run(ranks, "--tied", "--deterministic", "canonical", *options)
      assert digest == expected, (preset, ranks, options, digest, expected)
    _, expected = run(1, "--tied")
    for ranks, options in some(((2, cut(1, 2)), (4, ("--strategy", "none", "--micro-batch", "1")))):
      _, losses = run(ranks, "--tied", *options)
      off = max(abs(loss - expected[step]) for step, loss in losses.items())
      assert losses.keys() == expected.keys() and off < FP32_LOSS, (preset, ranks, options, off)
  with tempfile.TemporaryDirectory() as folder:
    digest, losses = train(program, 2, "--tied", "--export", os.path.join(folder, "model"))
    _, again = train(program, 2, "--import", os.path.join(folder, "model"), preset=None)
    assert again[1] < losses[1], (again, losses, "did not begin with the exported model")
    for until, first in ((2, 1), (0, 3)):
      kept, losses = train(program, 2, "--tied", "--checkpoints", os.path.join(folder, "kept"), "--stop-after", f"{until}")
      assert min(losses) == first, losses
    assert kept == digest, (kept, digest)
    said = subprocess.run((program, "--tied", "--ranks", "2", "--pipeline", "2", "--preset", "tiny"), capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 2 and "--pipeline 2 with a tied output layer" in said.stderr, said


if __name__ == "__main__":
  {"canonical": canonical, "llama": llama, "local": local, "orders": orders, "plain": plain, "parts": parts, "switches": switches, "tied": tied}[sys.argv[2]](sys.argv[1])
