#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weir-train while ranks are lost: chaos_test.py FOLDER_OF_PROGRAMS processes|network|resumes [--rounds N] [--seed N].

processes, network: in each round one or two of four ranks, with --regroup, are killed, stopped or cut off at random moments. The others
must end by themselves, within a time. resumes: each round lets another number of ranks go on from the newest checkpoint, and ends them at a
random moment by SIGTERM or SIGKILL. All runs that end must have the digest of a run that nobody disturbed. Ends with 77 (skipped) where
networks of namespaces may not be made.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "netlab"))
from network import Impossible, Network, missing_tools  # noqa: E402
from matrix_test import some_text  # noqa: E402

RANKS, STEPS = 4, 24
STRATEGIES = (("--strategy", "none"), ("--strategy", "gradients"), ("--strategy", "full"), ("--strategy", "hybrid", "--shard-ranks", "2"),
              ("--pipeline", "2"), ("--pipeline", "4", "--micro-batch", "2"))
LIMIT_S = 90
ENDED_BY_SIGNALS = (128 + signal.SIGTERM, 128 + signal.SIGKILL, -signal.SIGTERM, -signal.SIGKILL)
QUICK = {"WEIR_PEER_TIMEOUT": "2"}


def command(program, folder):
  return [program, "--data", some_text().name, "--preset", "tiny", "--steps", f"{STEPS}", "--batch", "7", "--deterministic", "canonical", "--sample", "0",
          "--evaluate-every", "0", "--evaluation-sequences", "4", "--metrics", os.path.join(folder, "metrics.jsonl")]


def digest_in(text):
  found = [line.split()[-1] for line in text.splitlines() if line.startswith("parameters and moments:")]
  return found[-1] if found else None


def undisturbed(program):
  with tempfile.TemporaryDirectory() as folder:
    return digest_in(subprocess.run(command(program, folder), check=True, capture_output=True, text=True).stdout)


def steps_done(folder):
  try:
    with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as file:
      return sum('"seconds"' in line for line in file)
  except FileNotFoundError:
    return 0


def wait_for_steps(folder, count, alive):
  deadline = time.monotonic() + LIMIT_S
  while steps_done(folder) < count and alive():
    assert time.monotonic() < deadline, f"{count} steps are not done after {LIMIT_S} s"
    time.sleep(0.01)


def children_of(pid):
  with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
    return [int(word) for word in file.read().split()]


def survive(rng, program, folder):
  """(what was done, what was said, exit code): kills or stops ranks of one machine."""
  options = ["--ranks", f"{RANKS}", "--regroup", "--checkpoints", os.path.join(folder, "kept"), "--checkpoint-every",
             f"{rng.choice((1, 3, 5))}", *rng.choice(STRATEGIES)]
  process = subprocess.Popen([*command(program, folder), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env=os.environ | QUICK)
  done = [" ".join(options)]
  try:
    at, hit = 0, set()
    for _ in range(rng.choice((1, 1, 2))):
      at += rng.randrange(1, STEPS // 2)
      wait_for_steps(folder, at, lambda: process.poll() is None)
      time.sleep(rng.random() * 0.05)
      ranks = children_of(process.pid) if process.poll() is None else []
      victim = rng.randrange(RANKS)
      if len(ranks) != RANKS or victim in hit:
        continue
      number = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP))
      os.kill(ranks[victim], number)
      hit.add(victim)
      done.append(f"{number.name} to rank {victim} at step {at}")
    said, _ = process.communicate(timeout=LIMIT_S)
  finally:
    process.kill()
  return done, said, process.returncode


def survive_local_steps(program, *more):
  """A group that has lost a rank is not as large as the other one: the ranks that are left train together, from the state of the other
  group, not from a checkpoint."""
  with tempfile.TemporaryDirectory() as folder:
    options = ["--data", some_text().name, "--preset", "tiny", "--steps", f"{STEPS}", "--batch", "8", "--sample", "0", "--evaluation-sequences", "4",
               "--metrics", os.path.join(folder, "metrics.jsonl"), "--ranks", f"{RANKS}", "--regroup", "--checkpoints", os.path.join(folder, "kept"),
               "--checkpoint-every", "2", "--local-steps", "3", "--shard-ranks", "2", "--reduce", "int8", *more]
    process = subprocess.Popen([program, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
      wait_for_steps(folder, 5, lambda: process.poll() is None)
      os.kill(children_of(process.pid)[RANKS - 1], signal.SIGKILL)
      said, _ = process.communicate(timeout=LIMIT_S)
    finally:
      process.kill()
    assert process.returncode == 0, said
    assert "continuing with FULL_SHARD on the uncut model" in said and "the checkpoint was written with" not in said, said


def survive_a_cut(rng, program, folder):
  """The same on four hosts, one of which loses its cable; that one ends with a sentence, the others go on."""
  lost, at = rng.randrange(RANKS), rng.randrange(1, STEPS - 4)
  options = ["--regroup", "--checkpoints", os.path.join(folder, "kept"), "--checkpoint-every", "3", *rng.choice([ways for ways in STRATEGIES if "hybrid" not in ways])]
  done = [" ".join(options), f"host {lost} cut off at step {at}"]
  with Network([RANKS], 1000, [0]) as network:
    processes = [network.start(host, host, RANKS, [*command(program, folder), *options], **QUICK) for host in range(RANKS)]
    try:
      wait_for_steps(folder, at, lambda: all(process.poll() is None for process in processes))
      network.cut(lost, 0)
      said = ["".join(process.communicate(timeout=LIMIT_S)) for process in processes]
    finally:
      network.kill_all()
  assert processes[lost].returncode == 1, (done, said[lost])
  assert "1 of 4 ranks are left, and as many or more may have continued without them" in said[lost], (done, said[lost])
  others = [process.returncode for rank, process in enumerate(processes) if rank != lost]
  return done, "".join(text for rank, text in enumerate(said) if rank != lost), max(others)


def is_running(pid):
  try:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
      return file.read().rpartition(") ")[2][0] != "Z"
  except FileNotFoundError:
    return False


def interrupt(rng, program, folder):
  """One round of `resumes`: like survive(), and the exit code is 0 only where the run was done before it was ended."""
  ranks = rng.randrange(1, RANKS + 1)
  strategy = rng.choice([ways for ways in STRATEGIES if ways[0] == "--strategy" and (ranks % 2 == 0 or "hybrid" not in ways)])
  process = subprocess.Popen([*command(program, folder), "--ranks", f"{ranks}", *strategy, "--checkpoints", os.path.join(folder, "kept"),
                              "--checkpoint-every", f"{rng.choice((1, 2, 3))}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
  try:
    begun = steps_done(folder)
    wait_for_steps(folder, begun + rng.choice((0, 1, 1, 2, 3)), lambda: process.poll() is None)
    time.sleep(rng.random() * (0.5 if steps_done(folder) == begun else 0.05))  # that is while ranks start, load and save, too
    family = [process.pid, *(children_of(process.pid) if process.poll() is None else [])]
    victim = rng.choice(family)
    number = rng.choice((signal.SIGTERM, signal.SIGKILL))
    done = [f"{ranks} ranks, {' '.join(strategy)}, {number.name} to {'the launcher' if victim == process.pid else 'a rank'} after step {steps_done(folder)}"]
    try:
      os.kill(victim, number)
    except ProcessLookupError:
      done.append("which had ended")
    said, _ = process.communicate(timeout=LIMIT_S)
    deadline = time.monotonic() + LIMIT_S
    while any(is_running(pid) for pid in family):
      assert time.monotonic() < deadline, (done, "ranks are left behind")
      time.sleep(0.01)
  finally:
    process.kill()
  return done, said, process.returncode


def resume(rounds, seed, program, expected):
  """As many interruptions as `rounds`; a run that is done is followed by another one, and the last one is let go on to its end."""
  rng, interrupted, ended = random.Random(seed), 0, 0
  with tempfile.TemporaryDirectory() as folder:
    while interrupted < rounds or steps_done(folder) > 0:
      if interrupted < rounds:
        done, said, code = interrupt(rng, program, folder)
        print(f"round {interrupted}: {'; '.join(done)}: exit code {code}", flush=True)
      else:
        last = subprocess.run([*command(program, folder), "--checkpoints", os.path.join(folder, "kept")], capture_output=True, text=True, check=False)
        done, said, code = ["the rest"], last.stdout + last.stderr, last.returncode
      if code != 0:
        assert interrupted < rounds and code in ENDED_BY_SIGNALS, (done, code, said)
        interrupted += 1
        continue
      assert digest_in(said) == expected, (done, expected, said)
      ended += 1
      shutil.rmtree(os.path.join(folder, "kept"))
      os.remove(os.path.join(folder, "metrics.jsonl"))
  print(f"{interrupted} interruptions, {ended} runs with one digest")
  assert ended > 0


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("programs")
  parser.add_argument("where", choices=("processes", "network", "resumes"))
  parser.add_argument("--rounds", type=int, default=4)
  parser.add_argument("--seed", type=int, default=1)
  arguments = parser.parse_args()
  program = os.path.join(arguments.programs, "weir-train")
  act = survive if arguments.where == "processes" else survive_a_cut
  if arguments.where == "processes":
    survive_local_steps(program)
    survive_local_steps(program, "--outer-fragments", "2", "--outer-delay", "1")
  if arguments.where == "network" and (missing := missing_tools()):
    print(missing)
    sys.exit(77)
  expected = undisturbed(program)
  if arguments.where == "resumes":
    resume(arguments.rounds, arguments.seed, program, expected)
    return
  for number in range(arguments.rounds):
    rng = random.Random(f"{arguments.seed} {number}")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
      try:
        done, said, code = act(rng, program, folder)
      except Impossible as error:
        print(f"the network cannot be built: {error}")
        sys.exit(77)
    print(f"round {number}: {'; '.join(done)}: {time.monotonic() - begun:.1f} s", flush=True)
    assert code == 0, (done, code, said)
    assert digest_in(said) == expected, (done, expected, said)


if __name__ == "__main__":
  main()
