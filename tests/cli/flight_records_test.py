#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that are sound or go wrong, as PyTorch's analyzer sees them: flight_records_test.py WEIR LIBRARY CASE.

The analyzer (torchfrtrace) is called where it is found. Elsewhere only the records are looked at: whether they have
what the analyzer reads, and in which calls they differ.
"""

import ctypes
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RANKS, ROUNDS = 3, 5
LATE, ODD = 2, 1
FLOAT, SUM = 7, 0

FIELDS = {
    "record_id": int, "pg_id": int, "process_group": list, "collective_seq_id": int, "p2p_seq_id": int, "op_id": int,
    "profiling_name": str, "time_created_ns": int, "input_sizes": list, "input_dtypes": list, "output_sizes": list,
    "output_dtypes": list, "state": str, "time_discovered_started_ns": int, "retired": bool, "timeout_ms": int, "is_p2p": bool,
    "frames": list,
}


# The job: what each rank does.


class Rank:
  def __init__(self, library):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "netlab"))
    from ctypes_rank import CtypesRank
    self.own = CtypesRank(library)
    self.nccl, self.rank, self.comm = self.own.nccl, self.own.rank, self.own.comm
    self.buffers = []  # groups use them after the calls

  def call(self, name, *arguments):
    self.own.check(getattr(self.nccl, "nccl" + name)(*arguments))

  def buffer(self, count):
    self.buffers.append((ctypes.c_float * count)())
    return self.buffers[-1]

  def sum(self, comm, count=100):
    buffer = self.buffer(count)
    self.call("AllReduce", buffer, buffer, ctypes.c_size_t(count), FLOAT, SUM, comm, None)

  def message(self, name, count, peer):
    self.call(name, self.buffer(count), ctypes.c_size_t(count), FLOAT, peer, self.comm, None)

  def sound(self, folder):
    """Several communicators, groups and messages; each rank dumps once all have come that far."""
    pair = ctypes.c_void_p()
    self.call("CommSplit", self.comm, self.rank // 2, -self.rank, ctypes.byref(pair), None)
    part, whole, other = self.buffer(10), self.buffer(10 * RANKS), self.buffer(10 * RANKS)
    for _ in range(ROUNDS):
      self.sum(pair)
      self.call("AllGather", part, whole, ctypes.c_size_t(10), FLOAT, self.comm, None)
      self.call("ReduceScatter", whole, part, ctypes.c_size_t(10), FLOAT, SUM, self.comm, None)
      self.call("AlltoAll", whole, other, ctypes.c_size_t(10), FLOAT, self.comm, None)
      self.call("Gather", part, whole, ctypes.c_size_t(10), FLOAT, 1, self.comm, None)
      self.call("Scatter", whole, part, ctypes.c_size_t(10), FLOAT, 1, self.comm, None)
      self.call("GroupStart")
      self.sum(self.comm)
      self.sum(self.comm, 50)
      self.call("GroupEnd")
      self.call("GroupStart")
      self.message("Send", 30, (self.rank + 1) % RANKS)
      self.message("Recv", 30, (self.rank - 1) % RANKS)
      self.call("GroupEnd")
      if self.rank == 0:
        self.message("Send", 7, 2)
      if self.rank == 2:
        self.message("Recv", 7, 0)
    self.sum(self.comm)
    self.own.check(self.nccl.weirDump(os.path.join(folder, f"{self.rank}.json").encode()))
    self.sum(self.comm)

  def misses(self, folder):
    for _ in range(ROUNDS):
      self.sum(self.comm)
    with open(os.path.join(folder, f"pid{self.rank}"), "w", encoding="ascii") as file:
      file.write(f"{os.getpid()}\n")
    if self.rank == LATE:
      signal.pause()
    self.sum(self.comm)

  def differs(self, _):
    """Ends well on all ranks, so that none is ended before it has written its dump."""
    buffer = self.buffer(200)
    for number in range(ROUNDS):
      count = 200 if self.rank == ODD and number == 3 else 100
      if self.nccl.ncclAllReduce(buffer, buffer, ctypes.c_size_t(count), FLOAT, SUM, self.comm, None) != 0:
        print(self.nccl.ncclGetLastError(None).decode())
        return


# The test.


class Job:
  def __init__(self, weir, library, act, folder, **environment):
    command = [weir, "run", "-n", f"{RANKS}", "--", sys.executable, os.path.abspath(__file__), weir, library, "rank", act, folder]
    self.weir, self.folder = weir, folder
    self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    env=dict(os.environ, WEIR_CALIBRATION="0", **environment))

  def end(self):
    """What it has said, once it has ended."""
    return self.process.communicate(timeout=60)[0]

  def wait_until(self, condition):
    deadline = time.monotonic() + 60
    while not condition():
      assert time.monotonic() < deadline and self.process.poll() is None, self.stop()
      time.sleep(0.05)

  def stop(self):
    self.process.terminate()
    return self.end()

  def __enter__(self):
    return self

  def __exit__(self, *_):
    if self.process.poll() is None:
      self.stop()

  def path(self, name):
    return os.path.join(self.folder, name)

  def records_of(self, *files):
    """The records made of these files, by rank."""
    made = subprocess.run([self.weir, "trace", *files, "--flight-records", self.path("records")], capture_output=True, text=True,
                          timeout=60, check=False)
    assert made.returncode == 0 and not made.stderr, (made.stdout, made.stderr)
    assert made.stdout == f"wrote the records of {RANKS} ranks; to compare them: torchfrtrace {self.path('records')}\n", made.stdout
    records = []
    for rank in range(RANKS):
      with open(self.path(f"records/rank_{rank}"), "rb") as file:
        records.append(pickle.load(file))
      check_structure(records[rank])
    return records


def check_structure(record):
  assert re.fullmatch(r"2\.\d+", record["version"]), record["version"]
  for number, entry in enumerate(record["entries"]):
    assert entry["record_id"] == number, entry
    for field, kind in FIELDS.items():
      assert type(entry[field]) is kind, (field, entry)
    name, description = entry["process_group"]
    group = record["pg_config"][name]
    assert group["name"] == name and group["desc"] == description and re.fullmatch(r"\[\d+(, \d+)*\]", group["ranks"]), group
    assert entry["state"] in ("started", "completed"), entry
    assert set(entry["frames"][0]) == {"name", "filename", "line"}, entry


def differences(records):
  """{(group, number): {rank: its entry, as far as the analyzer compares it}} of calls that are not the same on all ranks."""
  calls = {}
  for rank, record in enumerate(records):
    for name, group in record["pg_config"].items():
      members = [int(member) for member in group["ranks"].strip("[]").split(", ")]
      for entry in record["entries"]:
        if entry["process_group"][0] == name and not entry["is_p2p"]:
          call = calls.setdefault((name, entry["collective_seq_id"]), {member: None for member in members})
          call[rank] = (entry["profiling_name"], entry["input_sizes"] or entry["output_sizes"], entry["state"])
  return {call: ranks for call, ranks in calls.items()
          if len({repr(one) for one in ranks.values() if one is None or one[0] != "nccl:scatter"}) > 1}


def analysis(folder):
  """What the analyzer says; None where there is none."""
  found = shutil.which("torchfrtrace")
  if found:
    command = [found]
  elif any(os.path.exists(os.path.join(path, "torch/distributed/flight_recorder/fr_trace.py")) for path in sys.path):
    command = [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace"]
  else:
    print("torchfrtrace is not installed: only the records were looked at")
    return None
  said = subprocess.run([*command, folder], capture_output=True, text=True, timeout=100, check=False)
  text = said.stdout + said.stderr
  assert said.returncode == 0, text
  print(text)
  return text


def a_sound_job_has_no_culprit(weir, library, folder):
  with Job(weir, library, "sound", folder) as job:
    said = job.end()
    assert job.process.returncode == 0, said
    records = job.records_of(*(job.path(f"{rank}.json") for rank in range(RANKS)))
  assert not differences(records), differences(records)
  kinds = {entry["profiling_name"].split(" ")[0] for record in records for entry in record["entries"]}
  assert len(kinds) == 8, kinds
  assert all(entry["state"] == "completed" for record in records for entry in record["entries"])
  text = analysis(job.path("records"))
  if text is not None:
    for word in ("Not all ranks", "error", "ismatch", "MISMATCH", "cannot decide", "Traceback"):
      assert word not in text, word


def a_rank_that_misses_a_call_is_named(weir, library, folder):
  with Job(weir, library, "misses", folder) as job:
    pids = [job.path(f"pid{rank}") for rank in range(RANKS)]
    job.wait_until(lambda: all(os.path.exists(pid) and os.path.getsize(pid) for pid in pids))
    numbers = [read(pid).strip() for pid in pids]

    def others_wait():
      with open(job.path("ps.json"), "w", encoding="utf-8") as file:
        subprocess.run([weir, "ps", "--json", *numbers], stdout=file, timeout=60, check=False)
      reports = [process.get("report") for process in json.loads(read(job.path("ps.json")))["processes"]]
      return None not in reports and sum(one["communicators"][0]["state"] == "waiting" for one in reports) == RANKS - 1
    job.wait_until(others_wait)
    records = job.records_of(job.path("ps.json"))
  missing = differences(records)
  assert [(number, ranks[LATE]) for (_, number), ranks in missing.items()] == [(ROUNDS + 1, None)], missing
  text = analysis(job.path("records"))
  if text is not None:
    assert f"Not all ranks joining collective, sequence number: {ROUNDS + 1}" in text and f"missing ranks: {{{LATE}}}" in text, text
    assert text.count("Not all ranks") == 1, text


def a_rank_that_calls_something_else_is_named(weir, library, folder):
  with Job(weir, library, "differs", folder, WEIR_DUMP_FILE=os.path.join(folder, "%p.json")) as job:
    said = job.end()
    dumps = [job.path(name) for name in os.listdir(folder) if name.endswith(".json")]
    assert len(dumps) == RANKS and "ncclAllReduce(count 200" in said, said
    records = job.records_of(*dumps)
  odd = differences(records)
  assert [number for _, number in odd] == [4], odd
  assert [{rank: one[1:] for rank, one in ranks.items()} for ranks in odd.values()] == [
      {rank: ([[200 if rank == ODD else 100]], "started") for rank in range(RANKS)}], odd
  text = analysis(job.path("records"))
  if text is not None:
    assert "Collective sequence number: 4 has errors" in text, text
    # The analyzer compares all ranks with that of the file which it reads first, in the order of the folder.
    blamed = re.findall(r"Culprit rank (\d); Error type: SIZE_OR_SYNTAX_MISMATCH, Expected input sizes: '\[\[(\d+)\]\]' does not match "
                        r"found input sizes: '\[\[(\d+)\]\]'", text)
    others = [(f"{rank}", "200", "100") for rank in range(RANKS) if rank != ODD]
    assert sorted(blamed) in ([(f"{ODD}", "100", "200")], others), text


def read(path):
  with open(path, encoding="utf-8") as file:
    return file.read()


CASES = (a_sound_job_has_no_culprit, a_rank_that_misses_a_call_is_named, a_rank_that_calls_something_else_is_named)


def main():
  weir, library, case = sys.argv[1:4]
  if case == "rank":
    act, folder = sys.argv[4:]
    getattr(Rank(library), act)(folder)
    return
  with tempfile.TemporaryDirectory() as folder:
    next(one for one in CASES if one.__name__ == case)(weir, library, folder)


if __name__ == "__main__":
  main()
