# SPDX-License-Identifier: Apache-2.0
"""Where the ranks of bench/compare-inference run: on this machine, or on hosts that are network namespaces on one switch."""

import contextlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "netlab"))
from network import Buffers, Impossible, Network, missing_tools  # noqa: E402

PORT_QUEUE = 4 << 20  # large, so that the switch does not limit the rate


class ThisMachine:
  def placed(self, command, _):
    return command, {}


class Namespaces:
  def __init__(self, network):
    self.network = network

  def placed(self, command, host):
    """The command on a host, and the variables with which libraries find its port."""
    variables = {"GLOO_SOCKET_IFNAME": "eth0", "NCCL_HOSTID": f"host{host}",
                 "WEIR_CACHE_DIR": self.network.cache}  # rates measured here are not those of the machine
    return self.network.inside(host, *command), variables


@contextlib.contextmanager
def network_of(hosts, mbit):
  if hosts == 1:
    yield ThisMachine()
    return
  if missing := missing_tools():
    sys.exit(f"compare-inference: --hosts {hosts}: {missing}")
  burst = max(64 << 10, round(mbit * 1e6 / 8 * 1e-3))  # one millisecond, because a busy machine may be late
  try:
    with Network([hosts], mbit, [0], mtu=1500, buffers=Buffers(port=PORT_QUEUE, burst=burst), offloads=True) as network:
      yield Namespaces(network)
  except Impossible as error:
    sys.exit(f"compare-inference: --hosts {hosts}: the network cannot be built: {error}")
