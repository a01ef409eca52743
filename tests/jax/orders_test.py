#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that run programs for different devices at the same time get an error, not a wrong sum: orders_test.py PACKAGE --ranks 4"""

from processes import Wrong, expect, main


def be_a_process(job):
  jax = job.start()
  import numpy
  spec = jax.sharding.PartitionSpec

  def total(devices):
    mesh = jax.sharding.Mesh(numpy.array(devices), ("x",))
    numbers = numpy.arange(8, dtype="float32")
    array = jax.make_array_from_callback((8,), jax.sharding.NamedSharding(mesh, spec("x")), lambda index: numbers[index])
    program = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a.sum(), "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec()))
    return float(numpy.asarray(program(array).addressable_shards[0].data))

  halves = jax.devices()[:2], jax.devices()[2:]
  expect(total(halves[job.rank // 2]) == 28, "the sum of a half is wrong")
  mine = jax.devices()[::-1] if job.rank < 2 else halves[1][::-1]
  try:
    wrong = total(mine)
  except Exception as error:  # of JAX
    expect("weir: the processes do not run the same program: " in str(error) and "run programs for different devices" in str(error), error)
  else:
    raise Wrong(f"no error, but the sum {wrong}")


def judge(results):
  for rank, (code, _, _) in enumerate(results["weir"]):
    expect(code == 0, "process", rank, "ended with", code)


if __name__ == "__main__":
  main(be_a_process, judge)
