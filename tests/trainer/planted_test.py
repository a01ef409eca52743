#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gates of matrix_test.py see faults: planted_test.py WEIR_TRAIN WEIR LIBRARY, of planted_faults.cc.

Each fault is planted into rank 1 of four. The digest of canonical runs and the losses of others must both tell; without a
fault neither may. A rank with another text is refused at the start.
"""

import os
import sys
import tempfile

import matrix_test

RANKS = 4
FAULTS = ("none", "skip-reduce", "scale-shard", "bf16-reduce")


class Gates:
  def __init__(self, program, **how):
    self.program = program
    self.digest, self.losses = self.run(**how)

  def run(self, **how):
    """(digest of a canonical run, losses of a plain one)"""
    digest, _ = matrix_test.train(self.program, RANKS, "--deterministic", "canonical", **how)
    _, losses = matrix_test.train(self.program, RANKS, **how)
    return digest, losses

  def see(self, fault, **how):
    """(by the digest, by the losses)"""
    digest, losses = self.run(**how)
    far = max(abs(loss - self.losses[step]) for step, loss in losses.items())
    print(f"{fault}: the digest {'is the same' if digest == self.digest else 'differs'}, losses are {far:.1e} nats off")
    return digest != self.digest, far >= matrix_test.FP32_LOSS


def started(weir, program, folder, text_of_rank_1):
  """How ranks are started that read the text, but for rank 1, which may read another one."""
  choose = f'text=text; [ "$RANK" != 1 ] || text={text_of_rank_1}; exec "$0" --data {folder}/$text "$@"'
  return weir, "run", "-n", f"{RANKS}", "--", "sh", "-c", choose, program


def main():
  program, weir, library = sys.argv[1:4]
  gates = Gates(program)
  for fault in FAULTS:
    seen = gates.see(fault, LD_PRELOAD=library, WEIR_PLANTED=fault)
    assert seen == ((False, False) if fault == "none" else (True, True)), (fault, seen)

  with tempfile.TemporaryDirectory() as folder:
    with open(matrix_test.some_text().name, "rb") as file:
      text = file.read()
    for name, content in (("text", text), ("shifted", text[1:] + text[:1])):
      with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
    try:
      gates.run(launch=started(weir, program, folder, "shifted"))
    except AssertionError as refused:
      assert "different options: --data is" in str(refused), refused
    else:
      raise AssertionError("a rank with another text trained along")


if __name__ == "__main__":
  main()
