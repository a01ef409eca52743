#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How processes start, and what they are told when they start wrongly: start_test.py PACKAGE --tools FOLDER"""

import os
import subprocess
import sys
import unittest

import processes

SUM = """
import jax, numpy
spec = jax.sharding.PartitionSpec
mesh = jax.make_mesh((jax.device_count(),), ("x",))
array = jax.make_array_from_callback((4,), jax.sharding.NamedSharding(mesh, spec("x")), lambda i: numpy.ones(4, "float32")[i])
total = jax.jit(lambda a: a.sum(), out_shardings=jax.sharding.NamedSharding(mesh, spec()))(array)
print("total", float(total), "of", jax.process_count(), flush=True)
"""


class Start(unittest.TestCase):
  package = tools = ""
  example = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python", "jax_sum.py")

  def run_program(self, text, launcher=(), **variables):
    keep = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    return subprocess.run([*launcher, sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=200,
                          env={**keep, "PYTHONPATH": self.package, "JAX_PLATFORMS": "cpu", **variables})

  def weir_run(self, text, *prefix, **variables):
    return self.run_program(text, (os.path.join(self.tools, "weir"), "run", "-n", "2", "--", *prefix), **variables)

  def test_the_launcher_s_variables_are_enough(self):
    done = self.weir_run("import weir_jax; weir_jax.initialize()" + SUM)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(done.stdout.count("total 4.0 of 2"), 2, done)

  def test_variables_alone_do_without_weir_jax(self):
    start = ("import os, jax; jax.distributed.initialize(os.environ['MASTER_ADDR'] + ':' + os.environ['MASTER_PORT'], "
             "int(os.environ['WORLD_SIZE']), int(os.environ['RANK']))")
    done = self.weir_run(start + SUM, MPITRAMPOLINE_LIB=os.path.join(self.package, "weir_jax", "libweir_mpi.so"),
                         JAX_CPU_COLLECTIVES_IMPLEMENTATION="mpi")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(done.stdout.count("total 4.0 of 2"), 2, done)

  def test_the_example(self):
    with open(self.example, encoding="utf-8") as file:
      done = self.weir_run(file.read())
    self.assertEqual(done.stdout.count("the sum is 36.0, expected 36.0"), 2, done)

  def test_one_process(self):
    done = self.run_program(f"import weir_jax; weir_jax.initialize('127.0.0.1:{processes.free_port()}', 1, 0)" + SUM)
    self.assertIn("total 4.0 of 1", done.stdout, done.stderr)

  def test_jax_before_weir_jax(self):
    done = self.run_program("import jax, weir_jax; weir_jax.initialize('127.0.0.1:1', 1, 0)")
    self.assertIn("RuntimeError: weir: jax was imported before weir_jax; expected 'import weir_jax'", done.stderr)

  def test_another_library(self):
    done = self.run_program("import weir_jax; weir_jax.initialize('127.0.0.1:1', 1, 0)", MPITRAMPOLINE_LIB="/nowhere.so")
    self.assertIn("RuntimeError: weir: MPITRAMPOLINE_LIB is '/nowhere.so'; expected it unset, or '", done.stderr)

  def test_several_devices(self):
    start = f"import weir_jax; weir_jax.initialize('127.0.0.1:{processes.free_port()}', 1, 0)"
    done = self.run_program(start, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    self.assertIn("ValueError: weir: this process has 2 CPU devices; expected one", done.stderr)

  def test_several_devices_without_weir_jax(self):
    start = ("import os, jax; jax.distributed.initialize(os.environ['MASTER_ADDR'] + ':' + os.environ['MASTER_PORT'], "
             "int(os.environ['WORLD_SIZE']), int(os.environ['RANK']))")
    done = self.weir_run(start + SUM, MPITRAMPOLINE_LIB=os.path.join(self.package, "weir_jax", "libweir_mpi.so"),
                         JAX_CPU_COLLECTIVES_IMPLEMENTATION="mpi", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    self.assertNotEqual(done.returncode, 0, done.stdout)
    self.assertIn("threads/devices per process are not yet supported", done.stderr)

  def test_processes_that_cannot_join(self):
    done = self.weir_run("import weir_jax; weir_jax.initialize()" + SUM, "env", "-u", "NCCL_COMM_ID", NCCL_SOCKET_IFNAME="nosuch")
    self.assertNotEqual(done.returncode, 0)
    self.assertIn("RuntimeError: weir: ", done.stderr)
    self.assertIn("nosuch", done.stderr)
    self.assertIn("(in process 0)", done.stderr)


if __name__ == "__main__":
  given = processes.options_of()
  processes.find_jax(given.package)
  Start.package, Start.tools = given.package, given.tools
  unittest.main(argv=sys.argv[:1])
