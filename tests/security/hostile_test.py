#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile connections harm no job, while its ranks meet and while it runs: hostile_test.py BUILD CONNECTIONS.

They come from another user where this test may change users. Nobody dies, all sums are right, memory stays within 16 MiB of what
it was, and the log has at most a line per second and reason.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_MEMORY = 16 << 10  # KiB
RANKS = 2


def status(pid, field):
  with open(f"/proc/{pid}/status", encoding="ascii") as file:
    return int(re.search(rf"^{field}:\s+([0-9]+)", file.read(), re.M).group(1))


def ports_of(pid):
  """TCP ports at which the process listens."""
  inodes = set()
  for link in glob.glob(f"/proc/{pid}/fd/*"):
    try:
      inodes.update(re.findall(r"^socket:\[([0-9]+)\]", os.readlink(link)))
    except FileNotFoundError:
      pass
  with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
    rows = [line.split() for line in file.readlines()[1:]]
  return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


def wait_for(what, condition, processes):
  deadline = time.monotonic() + 120
  while not condition():
    for process in processes:
      assert process.poll() is None, (what, process.communicate())
    assert time.monotonic() < deadline, f"waited in vain: {what}"
    time.sleep(0.01)


def attack(count, seed, processes):
  """Makes the connections, and returns how many KiB each process took at most meanwhile, and the seconds of it."""
  before = [status(process.pid, "VmHWM") for process in processes]
  ports = sorted({port for process in processes for port in ports_of(process.pid)})
  assert ports
  begin = time.monotonic()
  hostile = subprocess.run((sys.executable, os.path.join(HERE, "hostile.py"), f"{count}", f"{seed}", *map(str, ports)),
                           capture_output=True, text=True, timeout=250, check=False)
  assert hostile.returncode == 0, hostile
  seconds = time.monotonic() - begin
  for process in processes:
    assert process.poll() is None, process.communicate()
  return [status(process.pid, "VmHWM") - old for process, old in zip(processes, before)], seconds, hostile.stdout.strip()


def rejections(log):
  """Lines about rejected connections by reason."""
  counts = {}
  with open(log, encoding="utf-8") as file:
    for reason in re.findall(r"rejected a connection from \S+: (.*?)(?: \([0-9]+ more.*)?$", file.read(), re.M):
      counts[reason] = counts.get(reason, 0) + 1
  return counts


def main(build, count):
  library = os.path.join(os.path.abspath(build), "lib", "libnccl.so.2")
  environment = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "WEIR_"))}
  environment |= {"WEIR_TRANSPORTS": "tcp", "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "ALL",
                  "NCCL_RAS_ENABLE": "0"}
  with tempfile.TemporaryDirectory() as folder:
    processes = []

    def start(rank):
      log = {"NCCL_DEBUG_FILE": os.path.join(folder, f"log-{rank}")}
      processes.append(subprocess.Popen((sys.executable, os.path.join(HERE, "job.py"), library, folder, f"{rank}", f"{RANKS}"),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment | log))

    try:
      start(0)
      wait_for("the id", lambda: os.path.exists(os.path.join(folder, "id")), processes)
      wait_for("the listener", lambda: len(ports_of(processes[0].pid)) >= 2, processes)
      begin = time.monotonic()
      rounds = [("while ranks meet", attack(count // 2, 1, processes))]
      for rank in range(1, RANKS):
        start(rank)
      wait_for("the ranks", lambda: all(os.path.exists(os.path.join(folder, f"ready-{rank}")) for rank in range(RANKS)), processes)
      rounds.append(("while it runs", attack(count - count // 2, 2, processes)))
      seconds = time.monotonic() - begin
      open(os.path.join(folder, "stop"), "w", encoding="ascii").close()
      for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (out, err)
        calls, mean, wrong = out.split()
        assert int(calls) > 0 and int(wrong) == 0, out
        print(f"{calls} sums, {float(mean) * 1e6:.0f} us each, none wrong")
      for when, (grown, took, said) in rounds:
        print(f"{when}: {said} in {took:.1f} s; memory grew by {max(grown)} KiB at most")
        assert max(grown) < MOST_MEMORY, grown
      counts = rejections(os.path.join(folder, "log-0"))
      print(f"log of rank 0 in {seconds:.1f} s: {counts}")
      assert counts and max(counts.values()) <= seconds + 2, counts
    finally:
      for process in processes:
        process.kill()
        process.wait()


if __name__ == "__main__":
  main(sys.argv[1], int(sys.argv[2]))
