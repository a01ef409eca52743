#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains on CPUs with torchft: the last replica dies on the way, the others go on without it, and it joins again.

    python3 examples/python/frameworks/torchft_ddp.py --replicas 3

Starts torchft's lighthouse and the replicas, each a process. Needs weir_torch installed, or its folder in PYTHONPATH.
"""

import argparse
import datetime
import hashlib
import os
import signal
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

STEPS = 30  # at least; all replicas have to be there at the end
DIES_AT = 10  # the step
TIMEOUT = datetime.timedelta(seconds=30)


def say(line):
  """Prints a line at once, so that those of several processes do not mix."""
  sys.stdout.write(line + "\n")
  sys.stdout.flush()


def group_of(backend):
  if backend == "weir":
    from weir_torch.torchft import ProcessGroupWeir
    return ProcessGroupWeir(timeout=TIMEOUT)
  from torchft import ProcessGroupGloo
  return ProcessGroupGloo(timeout=TIMEOUT)


def be_a_replica(options):
  import torchft
  torch.manual_seed(1)
  model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10))
  optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

  def load(state):
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])

  store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
  manager = torchft.Manager(
      pg=group_of(options.backend), load_state_dict=load, timeout=TIMEOUT, min_replica_size=1, replica_id=f"replica{options.replica}",
      state_dict=lambda: {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, store_addr="localhost",
      store_port=store.port, rank=0, world_size=1, use_async_quorum=False)
  managed = torchft.DistributedDataParallel(manager, model)
  optimizer = torchft.Optimizer(manager, optimizer)
  meeting = dist.TCPStore("localhost", options.meeting, is_master=False, wait_for_workers=False)
  meeting.add("came", 1)
  while meeting.add("came", 0) < options.replicas:
    time.sleep(0.01)
  before = 0
  while manager.current_step() < STEPS or manager.num_participants() < options.replicas:
    step = manager.current_step()
    generator = torch.Generator().manual_seed(1000 * options.replica + step)
    inputs, targets = torch.randn(8, 64, generator=generator), torch.randint(0, 10, (8,), generator=generator)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(managed(inputs), targets)
    loss.backward()
    if options.dies and step == DIES_AT:
      os.kill(os.getpid(), signal.SIGKILL)
    optimizer.step()
    if options.replica == 0 and manager.num_participants() != before:
      before = manager.num_participants()
      say(f"step {step}: {before} replicas, loss {loss.item():.6f}")
  digest = hashlib.sha256(b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters()))
  say(f"replica {options.replica}: parameters {digest.hexdigest()[:16]} after step {manager.current_step()}")
  manager.shutdown(wait=False)


def start(options, replica, dies, lighthouse):
  command = [sys.executable, __file__, "--backend", options.backend, "--replicas", str(options.replicas), "--replica", str(replica),
             "--meeting", str(options.meeting)] + ["--dies"] * dies
  return subprocess.Popen(command, env={**os.environ, "TORCHFT_LIGHTHOUSE": lighthouse})


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--backend", default="weir", choices=("weir", "gloo"))
  parser.add_argument("--replicas", type=int, default=3)
  parser.add_argument("--replica", type=int, help=argparse.SUPPRESS)
  parser.add_argument("--meeting", type=int, help=argparse.SUPPRESS)
  parser.add_argument("--dies", action="store_true", help=argparse.SUPPRESS)
  options = parser.parse_args()
  if options.replica is not None:
    return be_a_replica(options)
  from torchft.coordination import LighthouseServer
  lighthouse = LighthouseServer(bind="[::]:0", min_replicas=options.replicas - 1, join_timeout_ms=2000, quorum_tick_ms=50,
                                heartbeat_timeout_ms=1000)
  meeting = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
  options.meeting = meeting.port
  last = options.replicas - 1
  replicas = [start(options, replica, replica == last, lighthouse.address()) for replica in range(options.replicas)]
  replicas[last].wait()
  say(f"replica {last} died; it starts again")
  replicas[last] = start(options, last, False, lighthouse.address())
  codes = [replica.wait() for replica in replicas]
  lighthouse.shutdown()
  return int(any(codes))


if __name__ == "__main__":
  sys.exit(main())
