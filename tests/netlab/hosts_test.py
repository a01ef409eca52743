#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weir run --hosts over real ssh: hosts_test.py FOLDER_OF_PROGRAMS CASE.

Two hosts are namespaces, each with an sshd of its own. Ends with 77 (skipped) where namespaces may not be made, or without sshd.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from cases import SKIPPED, run
from network import Network, call

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
LIMIT = 60


class Hosts:
  """Two hosts with sshd, and a client's configuration for them."""

  def __init__(self, network, folder):
    self.network, self.folder = network, folder
    self.addresses = [network.address(host) for host in (0, 1)]
    self.config = f"{folder}/ssh_config"
    self.servers = []

  def __enter__(self):
    for key in ("host_key", "user_key"):
      call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/{key}")
    with open(f"{self.folder}/host_key.pub", encoding="ascii") as file:
      kind, public = file.read().split()[:2]
    self.write("known_hosts", *(f"{address} {kind} {public}" for address in self.addresses))
    self.write("sshd_config", "Port 22", f"HostKey {self.folder}/host_key", f"AuthorizedKeysFile {self.folder}/user_key.pub",
               "StrictModes no", "UsePAM no", "PidFile none", "PermitRootLogin yes")
    self.write("ssh_config", f"IdentityFile {self.folder}/user_key", f"UserKnownHostsFile {self.folder}/known_hosts",
               "GlobalKnownHostsFile none", "StrictHostKeyChecking yes", "BatchMode yes", "IdentitiesOnly yes", "ConnectTimeout 20")
    self.write("ssh", "#!/bin/sh", f'exec {shutil.which("ssh")} -F {self.config} "$@"')
    os.chmod(f"{self.folder}/ssh", 0o755)
    os.makedirs("/run/sshd", exist_ok=True)
    for host in (0, 1):
      server = subprocess.Popen(self.network.inside(host, SSHD, "-D", "-e", "-f", f"{self.folder}/sshd_config"),
                                stderr=subprocess.PIPE, text=True)
      self.servers.append(server)
      for line in server.stderr:
        if "listening on 0.0.0.0" in line:
          break
      else:
        sys.exit("sshd does not start")
    return self

  def __exit__(self, *_):
    for server in self.servers:
      server.stderr.close()
    self.network.kill_all()
    for server in self.servers:
      server.wait()

  def write(self, name, *lines):
    with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
      file.write("\n".join(lines) + "\n")

  def listed(self):
    return ",".join(f"{address}:2" for address in self.addresses)

  def call(self, *command):
    """The command on the first host, where `ssh` is that of this configuration."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "WEIR_"))}
    environment.update(WEIR_CACHE_DIR=self.network.cache, PATH=f"{self.folder}:{environment['PATH']}")
    return subprocess.Popen(self.network.inside(0, *command), env=environment, cwd=self.folder, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)

  def start(self, weir, *command):
    """weir run on the first host."""
    return self.call(weir, "run", "--hosts", self.listed(), "--rsh", f"ssh -F {self.config}", "--", *command)

  def others(self):
    """Processes of the hosts that are no sshd."""
    found = []
    for host in (0, 1):
      for pid in call("ip", "netns", "pids", self.network.space(f"host{host}")).split():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="ascii") as file:
          if not (name := file.read().strip()).startswith("sshd"):
            found.append(name)
    return found

  def wait_until_alone(self):
    """Every process of a host ends; whoever keeps one that does not end fails by the test's time limit."""
    while self.others():
      pass


@contextlib.contextmanager
def two_hosts():
  if SSHD is None or shutil.which("ssh") is None:
    print("no ssh, or no sshd")
    sys.exit(SKIPPED)
  with tempfile.TemporaryDirectory() as folder, Network((2,), 0, [0]) as network, Hosts(network, folder) as hosts:
    yield hosts


def end_of(process):
  said, complained = process.communicate(timeout=LIMIT)
  return process.returncode, said, complained


def ranks_of_two_hosts(programs):
  """Each rank knows its number, there and in all, and sums are right; nobody reads the secret on a command line."""
  with two_hosts() as hosts:
    script = ('printf %s "$WEIR_SECRET" > secret$RANK; echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $(hostname) $MASTER_ADDR $PWD '
              '$(cat /proc/[0-9]*/cmdline | grep -c -a -f secret$RANK)')
    code, said, complained = end_of(hosts.start(f"{programs}/weir", "sh", "-c", script))
    assert code == 0, complained
    rest = f"{hosts.addresses[0]} {hosts.folder} 0"
    assert sorted(said.splitlines()) == [f"[{rank}] {rank} 4 {rank % 2} 2 host{rank // 2} {rest}" for rank in range(4)], said
    secrets = {open(f"{hosts.folder}/secret{rank}", encoding="ascii").read() for rank in range(4)}
    assert len(secrets) == 1 and len(secrets.pop()) >= 32
    code, said, complained = end_of(hosts.start(f"{programs}/weir", f"{programs}/all_reduce_perf", "-b", "8", "-e", "64K", "-f", "8"))
    assert code == 0, (said, complained)
    assert re.search(r"Rank  0 .* on +host0 ", said) and re.search(r"Rank  3 .* on +host1 ", said), said
    assert "# Out of bounds values : 0 OK" in said, said


def a_death_ends_all_hosts(programs):
  with two_hosts() as hosts:
    job = hosts.start(f"{programs}/weir", "sh", "-c", 'test $RANK = 3 && exit 7; exec sleep 1000')
    code, _, complained = end_of(job)
    assert code == 7, (code, complained)
    assert re.search(r"weir run: rank 3 \(pid \d+\) exited with code 7; stopping the other 1\n", complained), complained
    assert re.search(rf"weir run: host {hosts.addresses[1]} \(pid \d+\) exited with code 7; stopping the other 1\n", complained), complained
    hosts.wait_until_alone()


def signals_reach_all_hosts(programs):
  with two_hosts() as hosts:
    script = "trap 'echo saved' USR1; trap 'echo stops; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
    job = hosts.start(f"{programs}/weir", "sh", "-c", script)
    weir = None
    seen = []
    for line in job.stdout:
      seen.append(line.split()[1])
      if seen.count("ready") == 4 and weir is None:
        weir = job.pid  # ip, unshare and sh have become weir
        os.kill(weir, signal.SIGUSR1)
      if seen.count("saved") == 4 and "stops" not in seen:
        os.kill(weir, signal.SIGTERM)
        break
    code, said, complained = end_of(job)
    assert code == 0, (code, complained)
    assert sum("stops" in line for line in said.splitlines()) == 4, said
    hosts.wait_until_alone()


def ranks_end_with_weir_run(programs):
  with two_hosts() as hosts:
    job = hosts.start(f"{programs}/weir", "sh", "-c", "echo ready; exec sleep 1000")
    for _ in range(4):
      assert "ready" in job.stdout.readline()
    job.kill()
    job.wait()
    hosts.wait_until_alone()


def a_host_without_sshd_is_named(programs):
  with two_hosts() as hosts:
    hosts.servers[1].kill()
    hosts.servers[1].wait()
    code, _, complained = end_of(hosts.start(f"{programs}/weir", "sleep", "1000"))
    assert code == 255, (code, complained)
    assert "Connection refused" in complained, complained
    assert re.search(rf"weir run: host {hosts.addresses[1]} \(pid \d+\) exited with code 255; stopping the other 1\n", complained), complained
    hosts.wait_until_alone()


def trains_on_two_hosts(programs):
  """With the bits that one machine gives."""
  train = f"{programs}/weir-train"
  if not os.path.exists(train):
    print("weir-train is not built")
    sys.exit(SKIPPED)
  settings = ("--preset", "tiny", "--steps", "6", "--deterministic", "canonical")
  with two_hosts() as hosts:
    digests = []
    for placed in (("--hosts", hosts.listed()), ("--ranks", "4")):
      code, said, complained = end_of(hosts.call(train, *placed, *settings))
      assert code == 0 and "4 ranks" in said, (said, complained)
      digests.append(re.search(r"parameters and moments: (\w+)", said).group(1))
    assert digests[0] == digests[1], digests


if __name__ == "__main__":
  run([ranks_of_two_hosts, a_death_ends_all_hosts, signals_reach_all_hosts, ranks_end_with_weir_run, a_host_without_sshd_is_named,
       trains_on_two_hosts])
