#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weir-train stops in an orderly way when it is asked to: signals_test.py FOLDER_OF_PROGRAMS.

Real ranks get signals: all of them by their launcher, or one alone. All must stop after the same step, say how to go on and exit with 128
plus the signal. The command that they print, run as it is, must go on to the digest of a run that nobody disturbed.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from chaos_test import children_of, digest_in
from matrix_test import some_text

LIMIT_S = 120
FURTHER = 2  # steps of the run that goes on
STEPS = 100_000  # more than any run here does
PARTS = ("--ranks", "4", "--pipeline", "2", "--tensor", "2", "--micro-batch", "2")


class Ranks:
  """A run that only a signal ends, and the steps that it has printed."""

  def __init__(self, program, folder, *options):
    self.options = ["--data", some_text().name, "--preset", "tiny", "--steps", f"{STEPS}", "--batch", "8", "--sample", "0", "--report-every", "1",
                    "--evaluate-every", "0", "--evaluation-sequences", "4", "--checkpoint-every", "0", *options]
    if folder:
      self.options += ["--checkpoints", folder]
    self.process = subprocess.Popen([program, *self.options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    self.said = ""

  def wait_for_step(self, step):
    for line in self.process.stdout:
      self.said += line
      if re.match(rf" *{step}  ", line):
        return
    raise AssertionError(f"ended before step {step}: {self.said}")

  def pids(self):
    """Of the ranks; the launcher is their parent."""
    return children_of(self.process.pid)

  def end(self):
    """(exit code, everything that was said)"""
    self.said += self.process.communicate(timeout=LIMIT_S)[0]
    return self.process.returncode, self.said


@contextlib.contextmanager
def running(*arguments):
  ranks = Ranks(*arguments)
  try:
    yield ranks
  finally:
    if ranks.process.poll() is None:
      ranks.process.kill()
    ranks.process.wait()


def go_on(said, step):
  """Runs the printed command some steps further: the digest."""
  command = shlex.split(re.search(r"^to go on[^:]*: (.*)$", said, re.MULTILINE).group(1))
  result = subprocess.run([*command, "--stop-after", f"{step + FURTHER}"], capture_output=True, text=True, timeout=LIMIT_S, check=True)
  assert f"resumed after step {step}\n" in result.stdout, (command, result.stdout)
  return digest_in(result.stdout)


def undisturbed(ranks, step):
  result = subprocess.run([ranks.process.args[0], *ranks.options[:-2], "--stop-after", f"{step + FURTHER}"], capture_output=True, text=True,
                          timeout=LIMIT_S, check=True)
  return digest_in(result.stdout)


def check_stopped(ranks, number):
  """They have stopped for the signal, and go on as if they had not."""
  code, said = ranks.end()
  assert code == 128 + number, (code, said)
  found = re.search(rf"^stopped by signal {number:d} \([^)]*\) after step (\d+) of {STEPS}; saved in ", said, re.MULTILINE)
  assert found, said
  step = int(found.group(1))
  printed = [int(line.split()[0]) for line in said.splitlines() if re.match(r" *\d+  ", line) and "held out" not in line]
  assert printed == list(range(1, step + 1)), said
  expected = undisturbed(ranks, step)
  assert go_on(said, step) == expected, (said, expected)
  print(f"{shlex.join(ranks.options[-6:])}: stopped after step {step} by {number.name}, and went on", flush=True)


def stop_all(program):
  for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
    with tempfile.TemporaryDirectory() as folder, running(program, folder, "--ranks", "2") as ranks:
      ranks.wait_for_step(2)
      ranks.process.send_signal(number)
      check_stopped(ranks, number)


def stop_one(program):
  """One rank of two, and one of each part of a model."""
  for options, victims in ((("--ranks", "2"), (0, 1)), (PARTS, (0, 3))):
    for victim in victims:
      with tempfile.TemporaryDirectory() as folder, running(program, folder, *options) as ranks:
        ranks.wait_for_step(1)
        os.kill(ranks.pids()[victim], signal.SIGUSR1)
        check_stopped(ranks, signal.SIGUSR1)


def stop_differently(program):
  """Each rank gets another signal, one of them some steps earlier."""
  with tempfile.TemporaryDirectory() as folder, running(program, folder, "--ranks", "2") as ranks:
    ranks.wait_for_step(1)
    os.kill(ranks.pids()[1], signal.SIGTERM)
    os.kill(ranks.pids()[0], signal.SIGINT)
    code, said = ranks.end()
    assert code in (128 + signal.SIGTERM, 128 + signal.SIGINT), (code, said)
    assert len(re.findall("^stopped by signal ", said, re.MULTILINE)) == 1, said


def stop_a_single_one(program):
  """Without ranks beside it, and without checkpoints."""
  with running(program, None) as ranks:
    ranks.wait_for_step(1)
    ranks.process.send_signal(signal.SIGINT)
    code, said = ranks.end()
  assert code == 128 + signal.SIGINT, (code, said)
  assert "; nothing is saved, because --checkpoints was not given\n" in said, said


def state(pid):
  """One letter, as in /proc/PID/stat: T stopped, Z ended; Z also if it is gone."""
  try:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
      return file.read().rpartition(")")[2].split()[0]
  except FileNotFoundError:
    return "Z"


def end_at_once(program):
  """A rank that cannot finish its step, because another one stands still, ends by the second signal."""
  for through_launcher in (False, True):
    with tempfile.TemporaryDirectory() as folder, running(program, folder, "--ranks", "2") as ranks:
      ranks.wait_for_step(1)
      first, other = ranks.pids()
      os.kill(other, signal.SIGSTOP)
      while state(other) != "T":
        time.sleep(0.01)
      deadline = time.monotonic() + LIMIT_S
      while ranks.process.poll() is None and state(first) != "Z":
        assert time.monotonic() < deadline, "signals did not end it"
        os.kill(ranks.process.pid if through_launcher else first, signal.SIGTERM)
        time.sleep(0.05)
      code, said = ranks.end()
      assert code == 128 + (signal.SIGKILL if through_launcher else signal.SIGTERM), (code, said)
      assert "stopped by signal" not in said, said
      assert through_launcher or re.search(r"rank 0 \(pid \d+\) was killed by signal 15 ", said), said


def main():
  program = os.path.join(sys.argv[1], "weir-train")
  for test in (stop_all, stop_one, stop_differently, stop_a_single_one, end_at_once):
    test(program)


if __name__ == "__main__":
  main()
