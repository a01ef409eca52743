# SPDX-License-Identifier: Apache-2.0
"""Worlds of ranks for comparisons in Python: processes of which the first prints rows as lines of JSON."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time


@contextlib.contextmanager
def computing(count):
  """Keeps this many processes computing."""
  hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]  # pylint: disable=consider-using-with
  try:
    yield
  finally:
    for hog in hogs:
      hog.kill()
      hog.wait()


def _wait_for(path, processes, longest):
  """Returns when the file is there, or a process has ended."""
  deadline = time.monotonic() + longest
  while not os.path.exists(path) and all(process.poll() is None for process in processes) and time.monotonic() < deadline:
    time.sleep(0.05)


def rows_of(name, ranks, timeout, ready=None, busy=0):
  """The rows that rank 0 printed. Ends the program `name` with a sentence if a rank fails, or if they take longer than `timeout` s.

  ranks: of each rank its command and its environment. busy: processes that compute beside them, as soon as the file `ready` is
  there: before, they would only slow down the start.
  """
  with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
    processes = []
    try:
      for rank, (command, environment) in enumerate(ranks):
        processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL if rank else out, env=environment))
      if ready:
        _wait_for(ready, processes, timeout)
      with computing(busy):
        codes = [process.wait(timeout) for process in processes]
    except subprocess.TimeoutExpired:
      sys.exit(f"{name}: {len(ranks)} ranks did not end within {timeout:g} s")
    finally:
      for process in processes:
        process.kill()
        process.wait()
    if any(codes):
      sys.exit(f"{name}: exit codes of the {len(ranks)} ranks: {codes}")
    out.seek(0)
    return [json.loads(line) for line in out if line.startswith("{")]  # Gloo writes about its connections


def finish(name, rows, path, which):
  """Writes the rows to the file `path`, if it is not None, and names those with a wrong result, over row[which]; the exit code."""
  if path:
    with open(path, "w", encoding="utf-8") as file:
      file.writelines(json.dumps(row) + "\n" for row in rows)
  wrong = [row for row in rows if not row["ok"]]
  for row in wrong:
    print(f"{name}: wrong result: {row.get('op', 'step')} of {row['bytes']} bytes over {row[which]}", file=sys.stderr)
  return 1 if wrong else 0
