# SPDX-License-Identifier: Apache-2.0
"""Runs the processes of a JAX job as copies of a script, for the tests beside this file.

main(be_a_process, judge): the script given PACKAGE --ranks N starts N processes of itself for each back end; each calls
be_a_process(job) and may return a dictionary of arrays. judge(results) gets {backend: [(exit code, text, arrays)]}. The exit code
is 0, 1, or 77 where JAX is not installed.
"""

import argparse
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback

SKIPPED = 77
LONGEST = 240  # seconds, for all processes of a job


class Wrong(Exception):
  """A result is not what it has to be."""


def expect(right, *what):
  if not right:
    raise Wrong(" ".join(str(word) for word in what))


def free_port():
  with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    return probe.getsockname()[1]


def find_jax(package):
  """Ends with 77 and a sentence where there is no JAX or no package."""
  for name in ("jax", "jaxlib", "numpy"):
    if not importlib.util.find_spec(name):
      print(f"skipped: {name} is not installed for {sys.executable} (pip install jax; -DWEIR_JAX_PYTHON=... names another Python)")
      sys.exit(SKIPPED)
  if not os.path.isfile(os.path.join(package, "weir_jax", "libweir_mpi.so")):
    print("skipped: the package weir_jax is not built (cmake --build --preset release --target weir_jax)")
    sys.exit(SKIPPED)


class Job:
  """What a process knows: its number, and how to start JAX over weir or Gloo."""

  def __init__(self, options):
    self.rank, self.size, self.folder = options.rank, options.ranks, options.folder
    self.package, self.backend, self.address = options.package, options.backend, options.address

  def start(self):
    """Returns jax, whose collectives are those of the job's back end."""
    arguments = {"coordinator_address": self.address, "num_processes": self.size, "process_id": self.rank}
    if self.backend == "weir":
      sys.path.insert(0, self.package)
      import weir_jax
      weir_jax.initialize(**arguments)
      import jax
    else:
      import jax
      jax.config.update("jax_cpu_collectives_implementation", self.backend)
      jax.distributed.initialize(**arguments)
    return jax

  def meet(self, name):
    """A barrier by files, which needs none of what is tested."""
    self.reach(name)
    while not all(os.path.exists(f"{self.folder}/{name}.{rank}") for rank in range(self.size)):
      time.sleep(0.01)

  def reach(self, name):
    with open(f"{self.folder}/{name}.{self.rank}", "w", encoding="utf-8"):
      pass


def start(command, environment):
  log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
  keep = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
  process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT,
                             env={**keep, "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore", **environment})
  return process, log


def collect(processes):
  """Waits for all, and kills those that last too long: [(exit code, text)]."""
  deadline = time.monotonic() + LONGEST
  results = []
  for process, log in processes:
    try:
      process.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
      process.kill()
      process.wait()
    log.seek(0)
    results.append((process.returncode, log.read()))
    log.close()
  return results


def be(options, act):
  """Runs act(job) as one process of a job, and leaves without destructors."""
  code = 0
  try:
    arrays = act(Job(options))
    if arrays is not None:
      import numpy
      numpy.savez(f"{options.folder}/{options.backend}.{options.rank}.npz", **arrays)
      import jax
      jax.distributed.shutdown()
  except Exception as error:  # whatever it is: the others must not wait for this process in vain
    if not isinstance(error, Wrong):
      traceback.print_exc()
    print(f"process {options.rank}: {type(error).__name__}: {error}", flush=True)
    code = 1
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(code)


def run(options, backend, folder, environment=None):
  """[(exit code, text, arrays or None)] of the processes of a job."""
  address = f"127.0.0.1:{free_port()}"
  processes = []
  for rank in range(options.ranks):
    command = [sys.executable, os.path.abspath(sys.argv[0]), options.package, "--ranks", str(options.ranks), "--rank", str(rank),
               "--folder", folder, "--backend", backend, "--address", address]
    processes.append(start(command, environment or {}))
  results = []
  for rank, (code, text) in enumerate(collect(processes)):
    arrays = None
    path = f"{folder}/{backend}.{rank}.npz"
    if os.path.exists(path):
      import numpy
      with numpy.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    if code != 0:
      print(f"--- process {rank} over {backend} ended with {code}\n{text.strip()}")
    results.append((code, text, arrays))
  return results


def options_of():
  parser = argparse.ArgumentParser()
  parser.add_argument("package", help="folder that has weir_jax")
  parser.add_argument("--ranks", type=int, default=2)
  parser.add_argument("--rank", type=int, default=-1)
  parser.add_argument("--folder", help="that all processes share")
  parser.add_argument("--backend", default="weir")
  parser.add_argument("--address", help="host:port of process 0")
  parser.add_argument("--tools", help="folder that has the program weir")
  return parser.parse_args()


def main(act, judge, backends=("weir",), environment=None):
  options = options_of()
  find_jax(options.package)
  if options.rank >= 0:
    be(options, act)
  with tempfile.TemporaryDirectory() as folder:
    results = {backend: run(options, backend, folder, environment) for backend in backends}
    try:
      judge(results)
    except Wrong as wrong:
      print(f"wrong: {wrong}")
      sys.exit(1)
  print(f"{options.ranks} processes are right")
