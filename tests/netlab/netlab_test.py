#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of namespaces are what they say: netlab_test.py FOLDER_OF_PROGRAMS CASE.

Ends with 77 (skipped) where they may not be made.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

from capture import captured
from cases import SKIPPED, run
from network import Buffers, Impossible, Network, call
from ranks import start_all

NETLAB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "netlab")


def netlab(*words, expected=0, **variables):
  """What the tool prints, (stdout, stderr)."""
  done = subprocess.run((NETLAB, *words), capture_output=True, text=True, timeout=100, check=False, env=os.environ | variables)
  if done.returncode == SKIPPED:
    raise Impossible(done.stderr.strip())
  assert done.returncode == expected, (done.returncode, done.stdout, done.stderr)
  return done.stdout, done.stderr


def spaces():
  """The numbers of processes whose networks are there."""
  return set(re.findall(r"^netlab([0-9]+)-", call("ip", "netns", "list"), re.M))


def all_reduce(programs, count, *words):
  return (os.path.join(programs, "all_reduce_perf"), "-b", f"{count}", "-e", f"{count}", "-w", "1", "-c", "1", *words)


def runs_ranks(programs):
  """Right sums over two leaves on the first of two rails. Of a message, no leaf can do with less than its size sent up."""
  count = 256 << 10
  out, counters = netlab("--hosts", "4", "--leaves", "2", "--rails", "2", "--rate", "100mbit", "--uplink", "50mbit", "--stats", "--",
                         *all_reduce(programs, count, "-n", "2"), NCCL_SOCKET_IFNAME="eth0")
  assert re.search(r"^\[0\] # Out of bounds values : 0 OK", out, re.M), out
  up = {(leaf, rail): int(sent) for sent, leaf, rail in re.findall(r"up: ([0-9]+) bytes from leaf (.) to spine 0, rail (.)", counters)}
  assert up.keys() == {(leaf, rail) for leaf in "01" for rail in "01"}, counters
  assert all((sent > count) == (rail == "0") for (_, rail), sent in up.items()), counters


def uses_both_rails(programs):
  """All interfaces that the option names carry about the same share; the log says which they are and which are not used."""
  count = 4 << 20
  with Network([2], 200, [0], rails=2) as network:
    processes = start_all(network, all_reduce(programs, count, "-n", "2"), NCCL_SOCKET_IFNAME="eth", NCCL_DEBUG="INFO",
                          NCCL_DEBUG_SUBSYS="NET")
    for host, process in enumerate(processes):
      out, err = process.communicate(timeout=100)
      assert process.returncode == 0, (out, err)
      assert f"NET/Socket : Using [0]eth0:{network.address(host, 0)}<0> [1]eth1:{network.address(host, 1)}<0>" in out, out
      assert re.search(r"NET/Socket : Not using lo \(127.0.0.1\): .*NCCL_SOCKET_IFNAME=eth", out), out
    sent = [network.statistic(*network.cables[1, rail], "tx_bytes") for rail in (0, 1)]
    assert min(sent) > max(sent) / 2 and sum(sent) > 4 * count, sent  # warm-up, check and timed ones: each sends its size


def shows_nothing_of_encrypted_jobs(programs):
  """A reader of all packets between two hosts finds what is sent, but not if it is encrypted; and never the secret."""
  library = os.path.join(os.path.dirname(os.path.abspath(programs)), "lib", "libnccl.so.2")
  words, secret = "nobody else may read these words. ", "a secret that is never sent"
  plant = (sys.executable, os.path.join(os.path.dirname(NETLAB), "plant.py"), library, words)
  for mode in ("off", "psk"):
    with Network([2], 1000, [0]) as network:
      with captured(*network.cables[1, 0]) as found:
        processes = start_all(network, plant, WEIR_SECRET=secret, WEIR_TLS=mode)
        for process in processes:
          out, err = process.communicate(timeout=100)
          assert process.returncode == 0, (mode, out, err)
    seen = found[0].count(words.encode())
    assert seen > 100 if mode == "off" else seen == 0, (mode, seen)
    assert len(found[0]) > 100_000 and secret.encode() not in found[0], (mode, len(found[0]))


def goes_on_over_the_other_rail(programs):
  """A rail is pulled while sums run: they are right, and both the loss and what goes on are in the log. Whichever rail it is; but
  the program itself needs the first one before it ends."""
  count = 4 << 20
  for cut in (0, 1):
    with Network([2], 200, [0], rails=2) as network:
      processes = start_all(network, all_reduce(programs, count, "-n", "20"), NCCL_SOCKET_IFNAME="eth", NCCL_DEBUG="WARN")

      def sent_over(rail):
        """Host 1's bytes, read in no time: the sums do not wait for this test. Its process begins outside."""
        if os.path.samefile(f"/proc/{processes[1].pid}/ns/net", "/proc/self/ns/net"):
          return 0
        with open(f"/proc/{processes[1].pid}/net/dev", encoding="utf-8") as table:
          return next(int(line.split()[9]) for line in table if line.strip().startswith(f"eth{rail}:"))

      def wait_for(rail, sent):
        deadline = time.monotonic() + 60
        while sent_over(rail) < sent:
          assert time.monotonic() < deadline and all(process.poll() is None for process in processes), (cut, rail)
          time.sleep(0.02)

      wait_for(cut, 2 * count)  # early on: each rail would carry eleven times as much
      network.cut(1, cut)
      if cut == 0:
        wait_for(1, sent_over(1) + 4 * count)  # what was on its way when the rail was cut is less
        network.restore(1, 0)
      ends = [(*process.communicate(timeout=100), process.returncode) for process in processes]
      assert all(code == 0 for _, _, code in ends), "\n".join(f"{out}{err}exit status {code}" for out, err, code in ends)
      said = "".join(out for out, _, _ in ends)
      assert re.search(r"# Out of bounds values : 0 OK", said), said
      lost, left = (rf"eth{rail} \({network.address(0, rail)}\) to eth{rail} \({network.address(1, rail)}\)" for rail in (cut, 1 - cut))
      assert re.search(rf"continues without the connection from {lost}: .*retransmitting [0-9]+ messages over {left}", said), said


def chooses_among_equal_paths(programs):
  """Streams take turns on the spines that were found, and their bytes go where the log says."""
  with Network([1, 1], 1000, [100, 100], spines=4) as network:
    processes = start_all(network, (os.path.join(programs, "sendrecv_perf"), "-b", "1M", "-e", "1M", "-n", "4", "-w", "1", "-c", "1"),
                          WEIR_SPREAD_PATHS="1", NCCL_NSOCKS_PERTHREAD="4", WEIR_CALIBRATION="0", NCCL_DEBUG="TRACE",
                          NCCL_DEBUG_SUBSYS="NET")
    said = []
    for process in processes:
      out, err = process.communicate(timeout=100)
      assert process.returncode == 0, (out, err)
      said.append(out)
    found = [int(last) // 4 for last in re.findall(r"routed via 10\.177\.0\.([0-9]+)", said[0])]
    uses = [found.count(spine) for spine in range(4)]
    assert sum(uses) == 4 and max(uses) - min(use for use in uses if use) <= 1 < len(set(found)), uses
    sent = [count for (leaf, _, _), count in sorted(network.sent_up().items()) if leaf == 0]
    assert all(abs(count / sum(sent) - use / 4) < 0.05 for count, use in zip(sent, uses)), (sent, uses)


def cuts_a_cable(_):
  """Nothing passes a cable while it is cut, and then it does again; another rail goes on."""
  with Network([2], 100, [0], rails=2) as network:
    def listen(rail):
      server = subprocess.Popen(network.inside(0, sys.executable, "-c", (
          "import socket, sys\n"
          f"server = socket.create_server(('{network.address(0, rail)}', 1234))\n"
          "print('ready', flush=True)\n"
          "while True: server.accept()[0].close()")), stdout=subprocess.PIPE, text=True)
      assert server.stdout.readline() == "ready\n"

    def reaches(rail):
      code = f"import socket; socket.create_connection(('{network.address(0, rail)}', 1234), timeout=1.5)"
      return subprocess.run(network.inside(1, sys.executable, "-c", code), stderr=subprocess.DEVNULL, check=False).returncode == 0

    for rail in (0, 1):
      listen(rail)
    assert reaches(0) and reaches(1)
    network.cut(0, 0)
    assert not reaches(0) and reaches(1)
    network.restore(0, 0)
    assert any(reaches(0) for _ in range(5))


def spreads_flows(_):
  """Sixteen connections between two leaves use both spines; with the cable to one of them cut, new ones use the other."""
  with Network([1, 1], 1000, [1000, 1000], spines=2) as network:
    server = subprocess.Popen(network.inside(0, sys.executable, "-c", (
        "import socket\n"
        f"server = socket.create_server(('{network.address(0)}', 1234))\n"
        "print('ready', flush=True)\n"
        "while True: server.accept()[0].recv(1)")), stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"

    def connect():
      """Bytes that leaf 1 has sent to each spine."""
      before = network.sent_up()
      code = ("import socket\n"
              f"for i in range(16): socket.create_connection(('{network.address(0)}', 1234), timeout=10).sendall(b'x')")
      subprocess.run(network.inside(1, sys.executable, "-c", code), check=True)
      after = network.sent_up()
      return [after[1, spine, 0] - before[1, spine, 0] for spine in (0, 1)]

    assert min(connect()) > 3 * 60, "one spine has not had one connection"
    network.cut(1, 0, 0)
    network.cut(0, 0, 0)
    sent = connect()
    assert sent[0] == 0 < sent[1], sent


def drops_at_a_shallow_port(programs):
  """Three hosts send to one at once: the port of that one drops, if it is shallow, and no other does."""
  with Network([4], 50, [0], buffers=Buffers(port=16 << 10, burst=4 << 10)) as network:
    total = f"{4 * (256 << 10)}"
    command = (os.path.join(programs, "gather_perf"), "-b", total, "-e", total, "-n", "2", "-w", "1", "-c", "1")
    for process in start_all(network, command):
      out, err = process.communicate(timeout=100)
      assert process.returncode == 0, (out, err)
    drops = network.drops()
    assert drops[network.cables[0, 0]] > 0 == sum(drops[network.farther[host, 0]] for host in range(4)), drops
    assert network.segments("RetransSegs") > 0


def counts_what_hosts_drop(programs):
  """A host whose own queue is too short for its many connections drops packets, and its rank tells how many."""
  with Network([2], 20, [0], buffers=Buffers(host=12 << 10, port=12 << 10, burst=4 << 10)) as network:
    total = f"{1 << 20}"
    command = (os.path.join(programs, "sendrecv_perf"), "-b", total, "-e", total, "-n", "2", "-w", "0", "-c", "0", "--net-stats")
    outputs = []
    for process in start_all(network, command, NCCL_NSOCKS_PERTHREAD="16", WEIR_CREDIT="0", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="NET"):
      out, err = process.communicate(timeout=100)
      assert process.returncode == 0, (out, err)
      outputs.append(out)
    drops = network.drops()
  dropped = [drops[network.farther[host, 0]] for host in (0, 1)]
  told = [int((re.search(r"([0-9]+) packets dropped by this host", out) or [0, 0])[1]) for out in outputs]
  assert sum(told) > 0 and all(number <= most for number, most in zip(told, dropped)), (told, dropped)
  (row,) = re.findall(rf"^ +{total} .*", outputs[0], re.M)
  assert 0 < int(row.split()[-2]) <= sum(told), (row, told)
  assert int(row.split()[-3]) > 0, row


def tells_how_it_ended(_):
  """The status of the rank that failed, whose fellows do not go on for ever; and refusals."""
  begin = time.monotonic()
  netlab("--hosts", "2", "--", "sh", "-c", "[ $RANK = 0 ] && sleep 300; exit 5", expected=5)
  assert time.monotonic() - begin < 60
  out, _ = netlab("--hosts", "2", "--per-host", "2", "--", "sh", "-c", "echo $LOCAL_RANK of $LOCAL_WORLD_SIZE on $(hostname)")
  assert sorted(out.splitlines()) == [f"[{rank}] {rank % 2} of 2 on host{rank // 2}" for rank in range(4)], out
  for words, sentence in ((("--hosts", "3", "--leaves", "2", "--", "true"), "equal shares"), (("--rate", "fast", "--", "true"), "no rate"),
                          (("--cut", "7:0@1", "--", "true"), "no cable 7:0"), ((), "no command")):
    _, said = netlab(*words, expected=2)
    assert sentence in said, said


def runs_mpi(_):
  """mpirun of each MPI that is there starts a rank on each host."""
  found = [flavour for flavour, program in (("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.mpich")) if shutil.which(program)]
  if not found:
    raise Impossible("neither mpirun.openmpi nor mpiexec.mpich is installed")
  for flavour in found:
    out, _ = netlab("--hosts", "3", "--mpirun", flavour, "--", "hostname")
    assert sorted(out.splitlines()) == ["host0", "host1", "host2"], (flavour, out)


def leaves_nothing(_):
  """Neither namespaces nor processes, whichever way the tool is killed."""
  for way in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
    # In the background of a shell SIGINT is ignored, and so it would be there.
    tool = subprocess.Popen((NETLAB, "--hosts", "2", "--", "sh", "-c", "echo $$; exec sleep 1000"), text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    first = tool.stdout.readline()
    if not first and tool.wait() == SKIPPED:
      raise Impossible(tool.stderr.read().strip())
    pids = [int(line.split()[1]) for line in (first, tool.stdout.readline())]
    assert f"{tool.pid}" in spaces()
    tool.send_signal(way)
    tool.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while f"{tool.pid}" in spaces() or any(os.path.exists(f"/proc/{pid}") for pid in pids):
      assert time.monotonic() < deadline, (way, pids, spaces())
      time.sleep(0.1)


if __name__ == "__main__":
  run((runs_ranks, uses_both_rails, shows_nothing_of_encrypted_jobs, goes_on_over_the_other_rail, chooses_among_equal_paths, cuts_a_cable, spreads_flows,
       drops_at_a_shallow_port, counts_what_hosts_drop, tells_how_it_ended, runs_mpi, leaves_nothing))
