#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process that is killed, or that does not run a program, ends the others' programs with weir's sentence: failures_test.py PACKAGE"""

import os
import signal
import time

from processes import Wrong, expect, main

CULPRIT = 1


def sentence_of(act):
  """The words of the error of act()."""
  try:
    act()
  except Exception as error:  # of JAX
    return str(error)
  raise Wrong("no error")


def be_a_process(job):
  jax = job.start()
  import numpy
  spec = jax.sharding.PartitionSpec

  def total(devices):
    mesh = jax.sharding.Mesh(numpy.array(devices), ("x",))
    array = jax.make_array_from_callback((6,), jax.sharding.NamedSharding(mesh, spec("x")), lambda index: numpy.ones(6, "float32")[index])
    program = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a, "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec()))
    return lambda: float(numpy.asarray(program(array).addressable_shards[0].data)[0])

  everybody = total(jax.devices())
  expect(everybody() == job.size, "the first sum is wrong")
  job.meet("first")
  if job.rank == CULPRIT:
    while not all(os.path.exists(f"{job.folder}/partly.{rank}") for rank in range(job.size) if rank != CULPRIT):
      time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
  # A program on some processes only: MPI cannot know that the others do not take part.
  error = sentence_of(total([device for device in jax.devices() if device.process_index != CULPRIT]))
  expect("each process has to run every program with collectives" in error and f"rank {CULPRIT} (pid " in error, error)
  job.reach("partly")
  error = sentence_of(everybody)
  expect("MPI error: weir: " in error and f"rank {CULPRIT} (pid " in error, error)
  print(error, flush=True)


def judge(results):
  for rank, (code, _, _) in enumerate(results["weir"]):
    expect(code == (-signal.SIGKILL if rank == CULPRIT else 0), "process", rank, "ended with", code)


if __name__ == "__main__":
  main(be_a_process, judge, environment={"WEIR_STUCK_TIMEOUT": "8"})
