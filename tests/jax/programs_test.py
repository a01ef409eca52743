#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX's programs have the same results over weir as over Gloo, and the right ones: programs_test.py PACKAGE --ranks N."""

import functools

from processes import expect, main

WIDTH, BATCH, STEPS = 32, 8, 5  # of the network that is trained


class Programs:
  """Collects what this process's part of each program's result is."""

  def __init__(self, jax, job):
    import numpy
    self.jax, self.np, self.rank, self.n = jax, numpy, job.rank, job.size
    self.mesh = self.mesh_of(jax.devices(), ("x",))
    self.results = {}

  def mesh_of(self, devices, names, shape=None):
    return self.jax.sharding.Mesh(self.np.array(devices).reshape(shape or (-1,)), names)

  def place(self, mesh, spec, value):
    sharding = self.jax.sharding.NamedSharding(mesh, spec)
    return self.jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])

  def keep(self, name, array):
    part = self.np.asarray(array.addressable_shards[0].data)
    # NumPy's files do not know bfloat16.
    self.results[name] = part.astype(self.np.float32) if part.dtype.name == "bfloat16" else part

  def run(self, name, function, value, ins=("x",), outs=("x",), mesh=None):
    spec = self.jax.sharding.PartitionSpec
    mesh = mesh or self.mesh
    program = self.jax.jit(self.jax.shard_map(function, mesh=mesh, in_specs=spec(*ins), out_specs=spec(*outs)))
    self.keep(name, program(self.place(mesh, spec(*ins), value)))


def values(numpy, kind, count):
  numbers = numpy.arange(count) % 7 + 1
  return (numbers + 1j * (numbers % 3)).astype(kind) if kind.startswith("complex") else numbers.astype(kind)


def reductions(programs):
  lax, n = programs.jax.lax, programs.n
  for kind in ("float32", "bfloat16", "int8", "int16", "int32", "uint8", "uint16", "uint32", "complex64"):
    numbers = values(programs.np, "float32" if kind == "bfloat16" else kind, 12 * n)
    if kind == "bfloat16":
      numbers = numbers.astype(programs.jax.numpy.bfloat16)
    programs.run(f"psum {kind}", lambda a: lax.psum(a, "x"), numbers, outs=())
    if not kind.startswith("complex"):
      programs.run(f"pmax {kind}", lambda a: lax.pmax(a, "x"), numbers, outs=())
      programs.run(f"pmin {kind}", lambda a: lax.pmin(a, "x"), numbers, outs=())
  numbers = programs.np.arange(12 * n) % 5 == 0
  programs.run("any", lambda a: lax.pmax(a.astype("int32"), "x") > 0, numbers, outs=())
  programs.run("large psum", lambda a: lax.psum(a, "x"), values(programs.np, "float32", 300000 * n), outs=())
  programs.run("psum_scatter", lambda a: lax.psum_scatter(a, "x", tiled=True), values(programs.np, "float32", 6 * n * n))
  programs.run("pmean", lambda a: lax.pmean(a, "x"), values(programs.np, "float32", 12 * n), outs=())


def moves(programs):
  lax, n = programs.jax.lax, programs.n
  for kind in ("float32", "bfloat16", "int16", "complex64", "bool"):
    numbers = values(programs.np, "float32" if kind == "bfloat16" else kind, n * n * 3)
    if kind == "bfloat16":
      numbers = numbers.astype(programs.jax.numpy.bfloat16)
    programs.run(f"all_gather {kind}", lambda a: lax.all_gather(a, "x", tiled=True), numbers)
    programs.run(f"all_to_all {kind}", lambda a: lax.all_to_all(a, "x", 0, 0, tiled=True), numbers)
    ring = [(i, (i + 1) % n) for i in range(n)]
    programs.run(f"ppermute {kind}", lambda a: lax.ppermute(a, "x", ring), numbers)
  numbers = values(programs.np, "float32", 4 * n)
  programs.run("ppermute to some", lambda a: lax.ppermute(a, "x", [(0, n - 1)]), numbers)
  programs.run("ppermute in place", lambda a: lax.ppermute(a, "x", [(i, i) for i in range(n)]), numbers)
  # 40 calls whose inputs are not there yet when they are made.
  spec = programs.jax.sharding.PartitionSpec
  step = programs.jax.jit(programs.jax.shard_map(lambda a: lax.ppermute(lax.psum(a, "x") / n + a, "x", ring), mesh=programs.mesh,
                                                 in_specs=spec("x"), out_specs=spec("x")))
  array = programs.place(programs.mesh, spec("x"), values(programs.np, "float32", 4000 * n))
  for _ in range(40):
    array = step(array) / 2
  programs.keep("chain", array)


def sub_meshes(programs):
  """Parts of the processes: along the axes of a mesh, and halves that each run a mesh of their own."""
  lax, n, devices = programs.jax.lax, programs.n, programs.jax.devices()
  numbers = values(programs.np, "float32", 8 * n)
  if n % 2 == 0 and n > 2:
    grid = programs.mesh_of(devices, ("x", "y"), (2, n // 2))
    for axis, other in (("x", "y"), ("y", "x")):
      programs.run(f"psum along {axis}", lambda a, axis=axis: lax.psum(a, axis), numbers, (("x", "y"),), (other,), grid)
      programs.run(f"all_to_all along {axis}", lambda a, axis=axis: lax.all_to_all(a, axis, 0, 0, tiled=True), numbers,
                   (("x", "y"),), (("x", "y"),), grid)
    half = programs.mesh_of(devices[:n // 2] if programs.rank < n // 2 else devices[n // 2:], ("x",))
    programs.run("half", lambda a: lax.psum(a, "x"), numbers, outs=(), mesh=half)
  backwards = programs.mesh_of(devices[::-1], ("x",))
  programs.run("backwards", lambda a: lax.all_gather(a, "x", tiled=True), numbers, mesh=backwards)


def training(programs):
  """Steps of data parallel training, with the gradients' sums made by the compiler."""
  jax, np = programs.jax, programs.np
  spec = jax.sharding.PartitionSpec
  random = np.random.default_rng(1)
  weights = [random.standard_normal((WIDTH, WIDTH), np.float32) / WIDTH for _ in range(2)]
  batch = random.standard_normal((BATCH * programs.n, WIDTH), np.float32)
  targets = random.standard_normal((BATCH * programs.n, WIDTH), np.float32)

  def loss(weights, batch, targets):
    for weight in weights:
      batch = jax.numpy.tanh(batch @ weight)
    return ((batch - targets) ** 2).mean()

  @jax.jit
  def step(weights, batch, targets):
    value, gradients = jax.value_and_grad(loss)(weights, batch, targets)
    return value, [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)]

  place = functools.partial(programs.place, programs.mesh)
  weights = [place(spec(), weight) for weight in weights]
  batch, targets = place(spec("x"), batch), place(spec("x"), targets)
  for number in range(STEPS):
    value, weights = step(weights, batch, targets)
    programs.keep(f"loss {number}", value)
  programs.keep("weights", weights[0])


def be_a_process(job):
  programs = Programs(job.start(), job)
  for part in (reductions, moves, sub_meshes, training):
    part(programs)
  return programs.results


def judge_sums(numpy, arrays, n):
  """Some results that are known."""
  for kind in ("float32", "int16", "complex64"):
    parts = values(numpy, kind, 12 * n).reshape(n, 12)
    expect(numpy.array_equal(arrays[f"psum {kind}"], parts.sum(0).astype(kind)), "psum", kind, arrays[f"psum {kind}"])
  expect(arrays["loss 0"] > arrays[f"loss {STEPS - 1}"], "the loss does not fall")


def judge(results):
  import numpy
  for backend, processes in results.items():
    expect(all(code == 0 and arrays for code, _, arrays in processes), "a process over", backend, "has failed")
  for rank, ((_, _, own), (_, _, gloo)) in enumerate(zip(results["weir"], results["gloo"])):
    expect(own.keys() == gloo.keys() and len(own) > 40, "other results:", sorted(own), sorted(gloo))
    for name, array in own.items():
      exact = array.dtype.kind in "iub"
      same = numpy.array_equal(array, gloo[name]) if exact else numpy.allclose(array, gloo[name], rtol=1e-5, atol=1e-6)
      expect(same and array.dtype == gloo[name].dtype, "process", rank, name, "over weir:", array, "over Gloo:", gloo[name])
    judge_sums(numpy, own, len(results["weir"]))


if __name__ == "__main__":
  main(be_a_process, judge, backends=("weir", "gloo"))
