#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/train/limiter.py asks weir-train for predictions that it understands: limiter_model_test.py FOLDER_OF_PROGRAMS."""

import os
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "train"))
import limiter  # noqa: E402


def main():
  arguments = types.SimpleNamespace(programs=sys.argv[1], batch=48, blocks=16, mbit=250)
  with tempfile.TemporaryDirectory() as folder:
    model = limiter.Model(arguments, folder, 2.0, {"off": 12, "block": 4, "sliding": 2})
    rates, slower = model.predict(0.9, 0.2), model.predict(0.45, 0.2)
  if not 0 < rates["off"] < rates["block"] < rates["sliding"]:
    sys.exit(f"fewer micro-batches do not mean more tokens/s: {rates}")
  if not all(0.4 < slower[name] / rates[name] < 0.8 for name in rates):
    sys.exit(f"with half of the links' rate: {slower}, and with all of it: {rates}")


if __name__ == "__main__":
  main()
