#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weir-train while ranks die and processes join: elastic_test.py FOLDER_OF_PROGRAMS.

No run here has a checkpoint: what ranks lack comes from live ranks. Each run is asked to stop when all has happened, and must have the
digest of one rank that nobody disturbed, stopped after the same step.
"""

import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import time

from chaos_test import children_of, digest_in
from matrix_test import some_text

LIMIT_S = 120
SECRET = {"WEIR_SECRET": "of this test"}


def command(program, *options):
  return [program, "--data", some_text().name, "--preset", "tiny", "--steps", "100000", "--batch", "8", "--sample", "0", *(() if "--deterministic" in options else ("--deterministic", "canonical")),
          "--report-every", "1", "--evaluate-every", "0", "--evaluation-sequences", "4", *options]


class Run:
  """A process, or a launcher with ranks, and what it says, read as it comes."""

  def __init__(self, program, *options, **variables):
    self.process = subprocess.Popen(command(program, *options), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    env=os.environ | variables)
    self.said = ""

  def wait_for(self, pattern):
    """The first further line that the pattern matches."""
    for line in self.process.stdout:
      self.said += line
      if found := re.match(pattern, line):
        return found
    raise AssertionError(f"ended without {pattern}: {self.said}")

  def wait_for_steps(self, count):
    for _ in range(count):
      self.wait_for(r" *\d+  .*\d$|.*%$")

  def end(self):
    """(exit code, everything that was said)"""
    self.said += self.process.communicate(timeout=LIMIT_S)[0]
    return self.process.returncode, self.said


def check_stopped(program, run, *options):
  """Stops the run; its digest must be that of the same steps on one rank, with these options."""
  run.process.send_signal(signal.SIGTERM)
  code, said = run.end()
  assert code == 128 + signal.SIGTERM, (code, said)
  step = re.search(r"stopped by signal 15 .* after step (\d+) of", said).group(1)
  alone = subprocess.run(command(program, "--stop-after", step, *options), check=True, capture_output=True, text=True).stdout
  assert digest_in(said) == digest_in(alone), (step, digest_in(alone), said)


def a_spare_takes_the_place_of_a_dead_rank(program):
  for strategy in ("none", "hybrid"):
    ranks = 2 if strategy == "none" else 4
    run = Run(program, "--ranks", f"{ranks}", "--spares", "1", "--regroup", "--strategy", strategy, "--shard-ranks", "2")
    run.wait_for_steps(3)
    os.kill(children_of(run.process.pid)[0], signal.SIGKILL)  # with the listener at which the spare waits
    run.wait_for(rf".*1 process joined: {ranks} ranks continue")
    run.wait_for("resumed after step")
    run.wait_for_steps(2)
    check_stopped(program, run)
    assert "rank 0 is dead" in run.said, run.said


def a_spare_takes_a_place_among_parts_and_with_muon(program):
  """Sums over slices depend on their number, so that there a digest would not be that of one rank."""
  muon = ("--optimizer", "muon")
  for own, shared in ((("--pipeline", "2"), ()), (("--tensor", "2"), ("--deterministic", "run")), ((), muon), (("--pipeline", "2"), muon)):
    run = Run(program, "--ranks", "4", "--spares", "1", "--regroup", "--strategy", "none", *own, *shared)
    run.wait_for_steps(3)
    os.kill(children_of(run.process.pid)[3], signal.SIGKILL)
    run.wait_for(r".*rank 3 is dead.*1 process joined: 4 ranks continue|.*1 process joined: 4 ranks continue.*rank 3 is dead")
    run.wait_for_steps(2)
    if "--tensor" not in own:
      check_stopped(program, run, *shared)
      continue
    assert "resumed after step" in run.said and "continuing with" not in run.said, run.said
    run.process.send_signal(signal.SIGTERM)
    assert run.end()[0] == 128 + signal.SIGTERM, run.said


def a_spare_takes_a_place_while_a_fragment_travels(program):
  """Groups of one rank with an exchange every two steps that travels for one: ranks are lost and join before and after its end."""
  options = ("--local-steps", "2", "--shard-ranks", "1", "--outer-fragments", "1", "--outer-delay", "1", "--deterministic", "run")
  run = Run(program, "--ranks", "2", "--spares", "1", "--regroup", *options)
  run.wait_for("2 groups that meet every 2 steps by 1 fragment, merged 1 step later")
  for victim in (1, 2):  # then the process that has taken its place
    run.wait_for_steps(3)
    os.kill(children_of(run.process.pid)[victim], signal.SIGKILL)
    run.wait_for(r".*rank 1 is dead.*")
    run.wait_for("resumed after step")
  run.wait_for_steps(3)
  run.process.send_signal(signal.SIGTERM)
  code, said = run.end()
  assert code == 128 + signal.SIGTERM, (code, said)
  losses = [float(loss) for loss in re.findall(r"^ *\d+  +([\d.]+)  .*[\d%]$", said, re.MULTILINE)]
  assert "1 process joined: 2 ranks continue" in said and losses[-1] < losses[0], said


def own_address(calls=itertools.count(20000)):
  """An address of this process alone; the port is none that the system gives to others."""
  pid = os.getpid()
  return f"127.{64 + (pid >> 16 & 63)}.{pid >> 8 & 255}.{pid & 255}:{next(calls)}"


def processes_join(program):
  address = own_address()
  job = Run(program, "--regroup", NCCL_COMM_ID=address, **SECRET)
  job.wait_for(f"processes may join at {address}")
  job.wait_for_steps(1)
  host, port = address.split(":")
  with socket.create_connection((host, int(port))) as stranger:
    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(4096))
    newcomers = [Run(program, "--regroup", "--join", address, **SECRET) for _ in range(2)]  # at once
    for newcomer in newcomers:
      newcomer.wait_for("joined the job as rank [12] of [23]")
  job.wait_for(r".*: 3 ranks continue")
  job.wait_for_steps(2)
  code, said = Run(program, "--regroup", "--join", address, "--seed", "9", **SECRET).end()
  assert code == 2 and "--seed is 1 in the job, and 9 in this process" in said, (code, said)
  job.wait_for_steps(2)
  newcomers[0].process.kill()  # a shard of its own is gone with it: without a checkpoint the run begins anew
  job.wait_for(r".*rank [12] is dead; 2 ranks continue")
  job.wait_for_steps(2)
  check_stopped(program, job)
  assert newcomers[1].end()[0] == 128 + signal.SIGTERM, newcomers[1].said
  newcomers[0].process.wait()


def a_process_with_which_the_others_cannot_train_ends(program):
  """Its group would be smaller than that of the other host."""
  address, hybrid = own_address(), ("--regroup", "--strategy", "hybrid")
  ranks = [Run(program, *hybrid, NCCL_COMM_ID=address, WORLD_SIZE="2", RANK=f"{rank}", NCCL_HOSTID="a", **SECRET) for rank in (0, 1)]
  ranks[0].wait_for("processes may join")
  ranks[0].wait_for_steps(2)
  code, said = Run(program, *hybrid, "--join", address, NCCL_HOSTID="b", **SECRET).end()
  assert code == 2 and "HYBRID_SHARD needs groups of one size" in said, (code, said)
  ranks[0].wait_for(".*1 process cannot take part")
  ranks[0].wait_for_steps(2)
  check_stopped(program, ranks[0])
  assert ranks[1].end()[0] == 128 + signal.SIGTERM, ranks[1].said


def main():
  program = os.path.join(sys.argv[1], "weir-train")
  for case in (a_spare_takes_the_place_of_a_dead_rank, a_spare_takes_a_place_among_parts_and_with_muon, a_spare_takes_a_place_while_a_fragment_travels, processes_join, a_process_with_which_the_others_cannot_train_ends):
    begun = time.monotonic()
    case(program)
    print(f"{case.__name__}: {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
  main()
