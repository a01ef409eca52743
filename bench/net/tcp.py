#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares all-reduce over TCP between hosts, weir with others and with the bound: tcp.py FOLDER_OF_PROGRAMS.

Hosts are network namespaces on one switch (tests/netlab), ports are token buckets. Every library runs the timing loop of
bench/compare, in turn within a round. The bound for n hosts is 2 (n-1)/n bytes / (rate * payload share): a frame of MTU + 14 bytes,
as a token bucket counts it, carries MTU - 52 bytes of payload (IPv4 20, TCP 20 and its timestamps 12). Prints the share of the bound
that each library reaches (1 is the line rate without headers), and weir's time relative to the fastest other library: below 1, weir
is faster. Without a rate the first columns are microseconds.
"""

import argparse
import dataclasses
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "tests", "netlab"), os.path.join(HERE, "..", "compare")]
from candidates import INSTALLED, installed_at  # noqa: E402
from compare import listed, size  # noqa: E402
from network import Buffers, Impossible, Network, missing_tools  # noqa: E402
from ranks import favoured, kept_niceness, start_all, start_mpi  # noqa: E402
from table import human, microseconds  # noqa: E402

PORT_QUEUE = 1 << 20  # large, so that the switch does not limit the rate; incast.py uses small buffers


@dataclasses.dataclass(frozen=True)
class Candidate:
  name: str
  family: str  # column of the table, which shows its fastest member
  program: str
  mpi: str = ""
  options: tuple = ()  # options of the program, or of mpirun
  environment: tuple = ()

  def launcher(self, programs):
    """The path of mpirun."""
    name = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich", "intelmpi": "mpiexec.hydra"}.get(self.mpi, "mpirun")
    if self.family not in INSTALLED:
      return name
    name = "mpirun" if self.family == "mpich5" else name
    return os.path.join(installed_at(os.path.dirname(os.path.abspath(programs)), self.family), "bin", name)

  def missing(self, programs):
    if self.mpi and not shutil.which(self.launcher(programs)):
      return f"{self.launcher(programs)} is not installed" + (
          " (bench/compare/install_peers.py)" if self.family in INSTALLED else "")
    if not os.access(os.path.join(programs, self.program), os.X_OK):
      return f"{self.program} was not built (cmake/packages.sh compare installs the libraries)"
    return None


def _mca(**values):
  return tuple(word for key, value in values.items() for word in ("--mca", key, value))


_UCX = _mca(pml="ucx", osc="^ucx", opal_common_ucx_tls="any", opal_common_ucx_devices="any")
_OFI = (("FI_PROVIDER", "tcp"), ("FI_TCP_IFACE", "eth0"))
CANDIDATES = (
    Candidate("weir", "weir", "compare_weir"),
    Candidate("openmpi", "openmpi", "compare_openmpi", "openmpi", _mca(pml="ob1", btl="tcp,self")),
    Candidate("ucx", "ucx", "compare_openmpi", "openmpi", _UCX, (("UCX_TLS", "tcp,self"),)),
    Candidate("mpich", "mpich", "compare_mpich", "mpich", (), (("UCX_TLS", "tcp,self"),)),
    Candidate("openmpi5", "openmpi5", "compare_openmpi5", "openmpi5", _mca(pml="ob1", btl="tcp,self")),
    Candidate("mpich5", "mpich5", "compare_mpich5", "mpich", (), (("UCX_TLS", "tcp,self"),)),
    Candidate("intelmpi", "intelmpi", "compare_intelmpi", "intelmpi", (), (*_OFI, ("I_MPI_FABRICS", "ofi"), ("I_MPI_PIN", "0"))),
    Candidate("gloo", "gloo", "compare_gloo", options=("--mode", "ring")),
    Candidate("gloo_halving_doubling", "gloo", "compare_gloo", options=("--mode", "halving_doubling")),
)
PEERS = ("openmpi", "ucx", "mpich", "openmpi5", "mpich5", "intelmpi", "gloo")


def bound(hosts, count, mbit, mtu):
  """Returns the least microseconds of an all-reduce of this many bytes."""
  return 2 * (hosts - 1) / hosts * count * 8 / mbit * (mtu + 14) / (mtu - 52)


def run(network, candidate, arguments, folder):
  """Returns {bytes: microseconds}; empty after a failure, which is printed to stderr."""
  hosts = len(network.leaf_of)
  with tempfile.NamedTemporaryFile(prefix="weir-compare-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as control:
    program = os.path.join(os.path.abspath(arguments.programs), candidate.program)
    command = favoured(arguments.nice, (program, "--control", control.name, "--pin", "0", "--sizes",
                                        ",".join(map(str, arguments.sizes)), "--budget-ms", f"{arguments.budget_ms}"))
    crowded = hosts > len(os.sched_getaffinity(0))
    if candidate.mpi:
      yields = _mca(mpi_yield_when_idle="1") if crowded and candidate.mpi.startswith("openmpi") else ()
      processes = [start_mpi(network, candidate.mpi, folder, command, options=candidate.options + yields,
                             launcher=candidate.launcher(arguments.programs), **dict(candidate.environment))]
    else:
      polls = {"WEIR_YIELD": "-1"} if crowded else {"WEIR_SPIN": "-1", "WEIR_YIELD": "-1"}
      variables = polls | dict(word.split("=", 1) for word in arguments.set)
      command += [*candidate.options, "--interface", "eth0", "--ranks", f"{hosts}"]
      processes = start_all(network, lambda rank: command + ["--rank", f"{rank}"], **variables)
    try:
      said = [process.communicate(timeout=arguments.timeout) for process in processes]
    except subprocess.TimeoutExpired:
      print(f"{candidate.name}: did not end within {arguments.timeout:g} s", file=sys.stderr, flush=True)
      return {}
    finally:
      network.kill_all()
  rows = [json.loads(line) for line in said[0][0].splitlines() if line.startswith("{")]
  if any(process.returncode for process in processes) or not all(row["ok"] for row in rows):
    last = [(err.strip().splitlines() or ["no message"])[-1] for _, err in said]
    print(f"{candidate.name}: failed or computed a wrong result: {'; '.join(last)}", file=sys.stderr, flush=True)
    return {}
  return {row["bytes"]: row["median_us"] for row in rows}


def measure(hosts, mbit, arguments, chosen):
  """Returns {bytes: {candidate: [microseconds of each round, or None]}}."""
  points = {count: {candidate: [] for candidate in chosen} for count in arguments.sizes}
  burst = max(32 << 10, round(mbit * 1e6 / 8 * 1e-3))  # one millisecond, because a busy machine may be late
  with tempfile.TemporaryDirectory() as folder, Network(
      [hosts], mbit, [0], mtu=arguments.mtu, buffers=Buffers(port=PORT_QUEUE, burst=burst), offloads=arguments.offloads,
      congestion=arguments.congestion) as network:
    for number in range(arguments.rounds):
      first = number % len(chosen)
      for candidate in chosen[first:] + chosen[:first]:
        times = run(network, candidate, arguments, folder)
        for count, point in points.items():
          point[candidate].append(times.get(count))
    print(f"segments sent again: {network.segments('RetransSegs')} of {network.segments('OutSegs')}; dropped: "
          f"{network.dropped()}", flush=True)
  return points


def families(point):
  """Returns {family: its best median}."""
  best = {}
  for candidate, times in point.items():
    times = [time for time in times if time]
    if times:
      best[candidate.family] = min(best.get(candidate.family, float("inf")), statistics.median(times))
  return best


def against_best(point):
  """Returns the median over the rounds of weir's time / the fastest other time; None if no round has both."""
  columns = {family: [times for candidate, times in point.items() if candidate.family == family] for family in PEERS}
  own = next((times for candidate, times in point.items() if candidate.family == "weir"), [])
  ratios = []
  for number, time in enumerate(own):
    others = [times[number] for column in columns.values() for times in column if times[number]]
    if time and others:
      ratios.append(time / min(others))
  return statistics.median(ratios) if ratios else None


def report(hosts, mbit, arguments, points):
  names = [name for name in ("weir", *PEERS) if any(candidate.family == name for point in points.values() for candidate in point)]
  print(f"\n{hosts} hosts, " + (f"{mbit:g} Mbit/s" if mbit else "unshaped") + f", MTU {arguments.mtu}, {arguments.congestion}\n")
  print(f"| size | {'bound, us | ' if mbit else ''}" + " | ".join(names) + " | weir / best |")
  print("|---" * (len(names) + (3 if mbit else 2)) + "|")
  for count, point in points.items():
    best = families(point)
    least = bound(hosts, count, mbit, arguments.mtu) if mbit else 0
    show = (lambda time: f"{least / time:.2f}") if mbit else microseconds
    cells = [human(count), *([microseconds(least)] if mbit else []), *(show(best[name]) if name in best else "-" for name in names)]
    ratio = against_best(point)
    print("| " + " | ".join(cells) + f" | {'-' if ratio is None else f'{ratio:.2f}'} |", flush=True)


def parser():
  result = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  add = result.add_argument
  add("programs", help="folder with compare_weir and the others, such as build/bin")
  add("--hosts", type=listed(int), default=[2, 4], help="numbers of hosts (default: 2,4)")
  add("--mbit", type=listed(float), default=[1000, 5000, 0], help="rates of the ports, Mbit/s; 0: unlimited (default: 1000,5000,0)")
  add("--sizes", type=listed(size), default=listed(size)("1K,8K,64K,1M,8M,64M"), help="sizes in bytes (default: 1K,8K,64K,1M,8M,64M)")
  add("--rounds", type=int, default=3)
  add("--budget-ms", type=float, default=100, help="milliseconds for one size of one library in a round")
  add("--mtu", type=int, default=1500)
  add("--congestion", default="cubic")
  add("--offloads", action=argparse.BooleanOptionalAction, default=True,
      help="send up to 64 KiB as one packet, counted as the frames that it replaces, to save processor time")
  add("--nice", type=int, default=0, help="niceness of the ranks; below 0 on a busy machine")
  add("--timeout", type=float, default=300, help="time limit of one library in one round, seconds")
  add("--candidates", type=listed(str), help=f"libraries to compare; of {', '.join(candidate.name for candidate in CANDIDATES)}")
  add("--set", action="append", default=[], metavar="NAME=VALUE", help="environment variable for weir (repeatable)")
  return result


def main():
  arguments = parser().parse_args()
  if missing := missing_tools():
    sys.exit(missing)
  chosen = []
  for candidate in CANDIDATES:
    if not arguments.candidates or candidate.name in arguments.candidates:
      why = candidate.missing(arguments.programs)
      print(f"{candidate.name}: {'missing: ' + why if why else 'present'}")
      chosen += [] if why else [candidate]
  if not chosen:
    sys.exit("nothing to compare")
  try:
    with kept_niceness():
      for mbit in arguments.mbit:
        for hosts in arguments.hosts:
          report(hosts, mbit, arguments, measure(hosts, mbit, arguments, chosen))
  except Impossible as error:
    sys.exit(f"the network cannot be built: {error}")


if __name__ == "__main__":
  main()
