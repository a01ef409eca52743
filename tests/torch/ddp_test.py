#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/python/ddp.py over weir and over Gloo: ddp_test.py BUILD/python --ranks 4 [check...].

Twice over weir gives the same bits. Over Gloo it gives the same bits with 2 ranks, where a sum has one order only, and
nearly the same parameters with 4. The same processes make all runs, as most of a short one would be the start of PyTorch;
`launched` starts it as users do. A run of two ranks is made by the first two.
"""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import time

import ranks as harness
from ranks import expect

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python", "ddp.py")
SMALL = ["--steps", "40", "--width", "32", "--layers", "1", "--heads", "2", "--batch", "2", "--length", "16"]
NEAR = 2e-3  # of the parameters, which are about 0.1: roundings that differ, after all steps
LAUNCHERS = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

kept = []  # groups of Gloo: when one goes, it waits for a thread of its own that may wait for Python's lock (PyTorch 1.13)


def example():
  """The program as a module."""
  spec = importlib.util.spec_from_file_location("ddp", EXAMPLE)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


def port_of(ranks, name):
  """One that is free, found by rank 0 and told to the others by a file."""
  told = f"{ranks.folder}/{name}"
  if ranks.rank == 0:
    with open(told + ".new", "w", encoding="utf-8") as file:
      file.write(str(example().free_port()))
    os.replace(told + ".new", told)
  while not os.path.exists(told):
    time.sleep(0.01)
  with open(told, encoding="utf-8") as file:
    return file.read()


def results(output, backend, count):
  """(losses that were printed, hash) of a run."""
  last = re.search(rf"{backend}, {count} ranks, \d+ parameters: \d+ tokens/s, parameters ([0-9a-f]+)$", output, re.MULTILINE)
  expect(last, "the last line is not as expected:", output)
  return [float(loss) for loss in re.findall(r"loss ([\d.]+)", output)], last.group(1)


def train(ranks, name, backend, count, *options):
  """(losses that were printed, hash, parameters) of a run, on rank 0."""
  saved = f"{ranks.folder}/{name}.parameters"
  os.environ.update(zip(LAUNCHERS, (str(ranks.rank), str(count), "127.0.0.1", port_of(ranks, f"{name}.port"))))
  sys.argv[1:] = ["--backend", backend, "--save", saved, *SMALL, *options]
  end = ranks.dist.destroy_process_group
  if backend == "gloo":
    ranks.dist.destroy_process_group = lambda: (kept.append(ranks.dist.distributed_c10d._get_default_group()), end())
  try:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
      code = example().main()
  finally:
    ranks.dist.destroy_process_group = end
  expect(code == 0, f"{name} over {backend} with {count} ranks ended with {code}:", printed.getvalue())
  return (*results(printed.getvalue(), backend, count), ranks.torch.load(saved)) if ranks.rank == 0 else None


def expect_near(what, some, others):
  largest = max((one - other).abs().max().item() for one, other in zip(some, others))
  expect(largest <= NEAR, what, "differ by", largest)
  print(f"{what}: differ by at most {largest:g}")


def twice_and_gloo(name, count, *options):
  def check(ranks):
    if ranks.rank >= count:
      return
    first, again, gloo = (train(ranks, f"{name}.{run}", backend, count, *options)
                          for run, backend in enumerate(("weir", "weir", "gloo")))
    if ranks.rank > 0:
      return
    (losses, bits, parameters), (_, theirs, gloos) = first, gloo
    expect(bits == again[1], "two runs differ:", bits, again[1])
    expect(losses[-1] < 0.9 * losses[0], "nothing is learned:", losses)
    if count == 2:
      expect(bits == theirs, "weir and Gloo differ:", bits, theirs)
    expect_near(f"weir and Gloo with {count} ranks", parameters, gloos)
  return check


def launched(ranks):
  """Two ranks that the example starts and two that PyTorch's launcher starts have the same bits."""
  if ranks.rank > 0:
    return
  environment = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
  environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(ranks.weir.__file__))
  # The defaults of --redirects and --tee fail with PyTorch 1.13 on Python 3.11. A port that the launcher chooses itself may be
  # another program's before it is used.
  launcher = ["-m", "torch.distributed.run", "--master_addr=127.0.0.1", f"--master_port={example().free_port()}",
              "--nproc_per_node=2", "--redirects", "1", "--tee", "1", "--log_dir", ranks.folder]
  running = [subprocess.Popen([sys.executable, *command, *SMALL], env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) for command in ([EXAMPLE, "--ranks", "2"], [*launcher, EXAMPLE])]
  hashes = []
  for process in running:
    output = process.communicate(timeout=240)[0]
    expect(process.returncode == 0, "a run that users start:", output)
    hashes.append(results(output, "weir", 2)[1])
  expect(len(set(hashes)) == 1, "two ways to start differ:", hashes)


CHECKS = {
    "two": twice_and_gloo("two", 2),
    "zero": twice_and_gloo("zero", 2, "--zero"),
    "accumulate": twice_and_gloo("accumulate", 2, "--accumulate", "3"),
    "uneven": twice_and_gloo("uneven", 2, "--uneven"),
    "four": twice_and_gloo("four", 4, "--steps", "100"),
    "launched": launched,
}


if __name__ == "__main__":
  harness.main(CHECKS, at_once=True)
