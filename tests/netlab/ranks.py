# SPDX-License-Identifier: Apache-2.0
"""Programs on the hosts of a network: as ranks that find their place in the environment, or by mpirun."""

import contextlib
import os
import subprocess
import sys
import threading
import time

AFTER_DEATH = 2  # seconds from SIGTERM to SIGKILL when a rank has died, as weir run gives


def start_all(network, command, per_host=1, **variables):
  """So many ranks on each host, in the order of hosts. `command`: words, or what gives them for a rank."""
  ranks = per_host * len(network.leaf_of)
  words = command if callable(command) else lambda rank: command
  return [network.start(rank // per_host, rank, ranks, words(rank), LOCAL_RANK=f"{rank % per_host}",
                        LOCAL_WORLD_SIZE=f"{per_host}", **variables) for rank in range(ranks)]


AUTOGROUP = "/proc/self/autogroup"


@contextlib.contextmanager
def kept_niceness():
  """Where the kernel groups processes by session (autogroup), niceness within a session counts nothing outside: favoured() sets
  the session's too, and this sets it back."""
  yield
  with contextlib.suppress(OSError), open(AUTOGROUP, "w", encoding="ascii") as file:
    file.write("0")


def favoured(nice, command):
  """The command with a niceness that counts among all processes. What may not be set is left."""
  if not nice:
    return list(command)
  return ["sh", "-c", f'{{ echo "$0" >{AUTOGROUP}; }} 2>/dev/null; exec nice -n "$0" "$@"', f"{nice}", *command]


def relay(source, drain, prefix, lock):
  """Lines go out whole."""
  for line in source:
    with lock:
      drain.write(prefix + line)
      drain.flush()


def wait_for(processes, prefixed=True, grace=0):
  """Passes on what they print, "[rank] " before each line. When one fails the others have `grace` seconds, then SIGTERM,
  then SIGKILL. Returns the code of the first that failed, 128 plus the signal that killed it, or 0."""
  lock = threading.Lock()
  threads = [threading.Thread(target=relay, args=(source, drain, f"[{rank}] " if prefixed else "", lock), daemon=True)
             for rank, process in enumerate(processes)
             for source, drain in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))]
  for thread in threads:
    thread.start()
  failed, ends = 0, []
  try:
    while any(process.poll() is None for process in processes):
      codes = [code for code in (process.poll() for process in processes) if code]
      if codes and not failed:
        failed = codes[0]
        ends = [(time.monotonic() + grace, "terminate"), (time.monotonic() + grace + AFTER_DEATH, "kill")]
      while ends and time.monotonic() >= ends[0][0]:
        way = ends.pop(0)[1]
        for process in processes:
          getattr(process, way)()
      time.sleep(0.01)
  finally:
    for process in processes:
      process.kill()
      process.wait()
  for thread in threads:
    thread.join(AFTER_DEATH)  # what a rank has started may hold its output
  failed = failed or next((process.returncode for process in processes if process.returncode), 0)
  return 128 - failed if failed < 0 else failed


# Launchers call us instead of ssh, with a host's address and words for a shell.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$(($(echo "$1" | sed 's/.*[.]//') - 1)); shift
exec ip netns exec TAG-host$host unshare --uts sh -c "hostname host$host; $*"
"""


def mpirun(network, flavour, folder, command, per_host=1, options=(), launcher=None):
  """The call of mpirun, on host 0, that runs a command on all hosts over TCP. `flavour`: openmpi (4), openmpi5, mpich or intelmpi.
  `folder` keeps the script that stands for ssh. `launcher`: the path of mpirun, if it is not the system's."""
  agent = os.path.join(folder, "agent")
  with open(agent, "w", encoding="ascii") as file:
    file.write(AGENT.replace("TAG", network.tag))
  os.chmod(agent, 0o755)
  hosts = [network.address(host) for host in range(len(network.leaf_of))]
  root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
  slots = ",".join(f"{host}:{per_host}" for host in hosts)
  if flavour == "openmpi":
    words = (launcher or "mpirun.openmpi", *root, "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", agent, "--mca",
             "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", "--bind-to", "none", "--host", slots)
  elif flavour == "openmpi5":
    words = (launcher, *root, "--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", agent, "--prtemca", "prte_if_include", "eth0",
             "--mca", "btl_tcp_if_include", "eth0", "--bind-to", "none", "--host", slots)
  elif flavour == "mpich":
    words = (launcher or "mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", agent, "-localhost", hosts[0], "-iface", "eth0",
             "-bind-to", "none", "-ppn", f"{per_host}", "-hosts", ",".join(hosts))
  else:
    words = (launcher, "-bootstrap", "ssh", "-bootstrap-exec", agent, "-iface", "eth0", "-ppn", f"{per_host}", "-hosts",
             ",".join(hosts))
  return network.inside(0, *words, *options, "-n", f"{per_host * len(hosts)}", *command)


def start_mpi(network, flavour, folder, command, per_host=1, options=(), launcher=None, **variables):
  return subprocess.Popen(mpirun(network, flavour, folder, command, per_host, options, launcher), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=os.environ | variables)
