# SPDX-License-Identifier: Apache-2.0
"""Runs commands of the examples in an environment without the caller's settings of weir and of launchers."""

import os
import socket
import subprocess

LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def environment(**more):
  kept = {name: value for name, value in os.environ.items()
          if name not in LAUNCHERS and not name.startswith(("NCCL_", "WEIR_", "SLURM_", "OMPI_", "PMI_"))}
  return dict(kept, **more)


def run(command, status=0, **options):
  """Standard output; raises if the exit status is another one."""
  options.setdefault("env", environment())
  done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # the time limit is that of ctest
  if done.returncode != status:
    raise AssertionError(f"{' '.join(command)} gives {done.returncode}\n{done.stdout}\n{done.stderr}")
  return done.stdout


def free_port(first=20000, last=29999):
  """One below those that the system gives to sockets that ask for any."""
  for port in range(first + os.getpid() % 5000, last):
    with socket.socket() as trial:
      try:
        trial.bind(("", port))
        return port
      except OSError:
        continue
  raise AssertionError(f"no port from {first} to {last} is free")
