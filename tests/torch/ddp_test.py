#!/usr/bin/env python3
"""python/examples/ddp.py, run as users run it: ddp_test.py BUILD/python EXAMPLE CASE.

Twice over weir gives the same bits. Over Gloo it gives the same bits with 2 ranks, where a sum has one order only, and
nearly the same parameters with 4.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile

import ranks as harness
from ranks import expect

SMALL = ["--steps", "100", "--width", "32", "--layers", "1", "--heads", "2", "--batch", "2", "--length", "16"]
NEAR = 2e-3  # of the parameters, which are about 0.1: roundings that differ, after 100 steps


def call(command, environment, attempts):
  """(exit code, what it printed) of a command that has some minutes, so often: Gloo has hung on busy machines."""
  for _ in range(attempts):
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as running:
      try:
        output = running.communicate(timeout=240)[0]
        return running.returncode, output
      except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
  return -1, f"no end within 240 s, {attempts} times"


def train(example, package, backend, count, *options, by_torchrun=False):
  """(losses that were printed, hash, parameters) of a run."""
  import torch
  with tempfile.TemporaryDirectory() as folder:
    saved = os.path.join(folder, "parameters")
    # The defaults of --redirects and --tee fail with PyTorch 1.13 on Python 3.11.
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={count}", "--redirects", "1", "--tee", "1",
                "--log_dir", folder] if by_torchrun else []
    starter = [] if by_torchrun else ["--ranks", str(count)]
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    code, output = call([sys.executable, *launcher, example, *starter, "--backend", backend, "--save", saved, *SMALL, *options],
                        dict(environment, PYTHONPATH=package, PYTHONWARNINGS="ignore", OMP_NUM_THREADS="1"),
                        attempts=3 if backend == "gloo" else 1)
    expect(code == 0, f"{backend} with {count} ranks:", output)
    last = re.search(rf"{backend}, {count} ranks, \d+ parameters: \d+ tokens/s, parameters ([0-9a-f]+)$", output, re.MULTILINE)
    expect(last, "the last line is not as expected:", output)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", output)]
    return losses, last.group(1), torch.load(saved)


def expect_near(what, some, others):
  largest = max((one - other).abs().max().item() for one, other in zip(some, others))
  expect(largest <= NEAR, what, "differ by", largest)
  print(f"{what}: differ by at most {largest:g}")


def twice_and_gloo(count, *options, by_torchrun=False):
  def run(example, package):
    losses, bits, parameters = train(example, package, "weir", count, *options)
    _, again, _ = train(example, package, "weir", count, *options, by_torchrun=by_torchrun)
    expect(bits == again, "two runs differ:", bits, again)
    expect(losses[-1] < 0.9 * losses[0], "nothing is learned:", losses)
    _, theirs, gloos = train(example, package, "gloo", count, *options)
    if count == 2:
      expect(bits == theirs, "weir and Gloo differ:", bits, theirs)
    expect_near(f"weir and Gloo with {count} ranks", parameters, gloos)
  return run


CASES = {
    "2_ranks": twice_and_gloo(2, by_torchrun=True),
    "4_ranks": twice_and_gloo(4),
    "zero": twice_and_gloo(2, "--zero"),
    "accumulate": twice_and_gloo(2, "--accumulate", "3"),
    "uneven": twice_and_gloo(2, "--uneven"),
}


def main():
  package, example, case = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
  harness.find_torch(package)
  try:
    CASES[case](example, package)
  except harness.Wrong as wrong:
    print(wrong)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
