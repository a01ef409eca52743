#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of frameworks print over weir, in Gloo's place and by name, what they print over Gloo: frameworks_test.py PACKAGE.

Of examples/python/frameworks those are run whose framework is installed: tests/torch/newer.sh 2.15.0 PACKAGE... installs some.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile

import ranks as harness
from ranks import expect

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python", "frameworks")
# (framework, example, arguments, whether it takes a back end by name)
PROGRAMS = (
    ("accelerate", "accelerate_ddp.py", (), False),
    ("lightning", "lightning_ddp.py", (), True),
    ("deepspeed", "deepspeed_zero.py", ("--stage", "1"), True),
    ("deepspeed", "deepspeed_zero.py", ("--stage", "2"), True),
    ("deepspeed", "deepspeed_zero.py", ("--stage", "3"), True),
    ("transformers", "transformers_trainer.py", (), False),
    ("transformers", "transformers_tp.py", (), False),
)
TOLD = ("step", "tokens", "logits", "back end")  # beginnings of the lines that count


def output(command, environment):
  """What the command prints, on either stream. With WEIR_TORCH_REPLACE weir has to be at work, else not.

  Gloo's processes of PyTorch 2.15 now and then abort after everything, when they end: that is not looked at.
  """
  found = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}, capture_output=True, text=True,
                         timeout=harness.LONGEST, check=False)
  expect(found.returncode == 0 or not environment, " ".join(command), "ended with", found.returncode, found.stdout[-2000:], found.stderr[-4000:])
  text = found.stdout + "\n" + found.stderr
  expect(("NCCL INFO" in text) == ("WEIR_TORCH_REPLACE" in environment), " ".join(command), "ran over the other library:", text[-2000:])
  return text


def told(program, arguments, environment):
  """What rank 0 of two prints, without times."""
  launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
  lines = output([*launcher, os.path.join(EXAMPLES, program), *arguments], environment).splitlines()
  return [re.sub(r" in [\d.]+ s$", "", line) for line in lines if line.startswith(TOLD)]


def compare(program, arguments, by_name, replaced):
  over_gloo = told(program, arguments, {})
  expect(len(over_gloo) > 2, program, "prints", over_gloo)
  runs = {"in Gloo's place": told(program, arguments, replaced)}
  if by_name:
    named = told(program, (*arguments, "--backend", "weir"), replaced)
    runs["by name"] = [line.replace("back end weir", "back end gloo") for line in named]
  for how, lines in runs.items():
    expect(lines == over_gloo, program, *arguments, "prints", lines, how, "and", over_gloo, "over Gloo")
  print(" ".join((program, *arguments)) + ":", ", ".join(runs), "as over Gloo:", "; ".join(over_gloo), flush=True)


def die_and_come_back(environment):
  """torchft: a replica dies and joins again; all have the same parameters in the end."""
  text = output([sys.executable, os.path.join(EXAMPLES, "torchft_ddp.py"), "--replicas", "3"], environment)
  lines = re.findall(r"^(?:step|replica) .*$", text, re.M)
  ends = [line.split(": ", 1)[1] for line in lines if ": parameters " in line]
  expect(any(": 2 replicas" in line for line in lines) and len(ends) == 3 and len(set(ends)) == 1, "torchft_ddp.py prints", lines)
  print("torchft_ddp.py:", "; ".join(lines), flush=True)


def main():
  package = os.path.abspath(sys.argv[1])
  harness.find_torch(package)
  programs = [program for program in PROGRAMS if importlib.util.find_spec(program[0])]
  missing = sorted({name for name, *_ in PROGRAMS + (("torchft",),) if not importlib.util.find_spec(name)})
  if not programs and "torchft" in missing:
    print(f"skipped: of the frameworks none is installed: {', '.join(missing)}")
    return harness.SKIPPED
  with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as file:  # what weir_torch.pth does where installed
      file.write("import weir_torch_replace\nweir_torch_replace.at_start()\n")
    replaced = {"WEIR_TORCH_REPLACE": "gloo", "PYTHONPATH": os.pathsep.join((folder, package)), "NCCL_DEBUG": "INFO"}
    try:
      for _, program, arguments, by_name in programs:
        compare(program, arguments, by_name, replaced)
      if "torchft" not in missing:
        die_and_come_back(replaced)
    except harness.Wrong as error:
      print(f"wrong: {error}")
      return 1
  if missing:
    print(f"not installed: {', '.join(missing)}")
  return 0


if __name__ == "__main__":
  sys.exit(main())
