# SPDX-License-Identifier: Apache-2.0
"""One process of bench/compare-jax: times JAX's collectives over one back end.

    process.py LIBRARY RANK RANKS ADDRESS PACKAGE

Reads lines of JSON from standard input, {"op", "bytes", "calls"}, and answers each with one: {"us", "ok", "bytes"}, the time of a
call in microseconds, whether the result was right, and the size of the larger buffer of a process. Ends with its input.
"""

import json
import sys
import time

ELEMENT = 4  # bytes: everything is float32


def start(backend, rank, ranks, address, package):
  arguments = {"coordinator_address": address, "num_processes": ranks, "process_id": rank}
  if backend == "weir":
    sys.path.insert(0, package)
    import weir_jax
    weir_jax.initialize(**arguments)
    import jax
  else:
    import jax
    jax.config.update("jax_cpu_collectives_implementation", backend)
    jax.distributed.initialize(**arguments)
  return jax


class Operations:
  """Compiled programs, each with its input and expected output."""

  def __init__(self, jax, rank):
    import numpy
    self.jax, self.np, self.rank, self.n = jax, numpy, rank, jax.process_count()
    self.mesh = jax.sharding.Mesh(numpy.array(jax.devices()), ("x",))
    self.known = {}

  def pattern(self, count, rank):
    return self.np.arange(count, dtype=self.np.float32) % 1021 + rank

  def inputs(self, op, size):
    """(elements of a process's input, expected output)."""
    count, share = max(1, size // ELEMENT), max(1, -(-size // ELEMENT // self.n))
    np, n, rank = self.np, self.n, self.rank
    whole = [self.pattern(share * n, other) for other in range(n)]
    if op in ("all_reduce", "none"):
      each = [self.pattern(count, other) for other in range(n)]
      return count, each[rank] if op == "none" else sum(each)
    if op == "all_gather":
      return share, np.concatenate([self.pattern(share, other) for other in range(n)])
    if op == "reduce_scatter":
      return share * n, sum(whole)[rank * share:(rank + 1) * share]
    if op == "all_to_all":
      return share * n, np.concatenate([part[rank * share:(rank + 1) * share] for part in whole])
    return count, self.pattern(count, (rank - 1) % n)  # permute

  def function(self, op):
    lax, n = self.jax.lax, self.n
    return {"all_reduce": lambda a: lax.psum(a, "x"),
            "all_gather": lambda a: lax.all_gather(a, "x", tiled=True),
            "reduce_scatter": lambda a: lax.psum_scatter(a, "x", tiled=True),
            "all_to_all": lambda a: lax.all_to_all(a, "x", 0, 0, tiled=True),
            "permute": lambda a: lax.ppermute(a, "x", [(i, (i + 1) % n) for i in range(n)]),
            "none": lambda a: a * 1}[op]

  def prepared(self, op, size):
    """(program, its input, size of the larger buffer, whether the result is right)."""
    if (op, size) not in self.known:
      self.known.clear()  # one at a time: the largest have hundreds of MiB
      jax, spec = self.jax, self.jax.sharding.PartitionSpec
      count, expected = self.inputs(op, size)
      out = spec() if op == "all_reduce" else spec("x")
      program = jax.jit(jax.shard_map(self.function(op), mesh=self.mesh, in_specs=spec("x"), out_specs=out))
      array = jax.make_array_from_callback((count * self.n,), jax.sharding.NamedSharding(self.mesh, spec("x")),
                                           lambda _: self.pattern(count, self.rank))
      got = self.np.asarray(program(array).addressable_shards[0].data)
      self.known[op, size] = (program, array, ELEMENT * max(count, len(expected)), bool(self.np.array_equal(got, expected)))
    return self.known[op, size]

  def time(self, op, size, calls):
    program, array, larger, right = self.prepared(op, size)
    for _ in range(2):  # begin together
      program(array).block_until_ready()
    begin = time.perf_counter()
    for _ in range(calls):
      program(array).block_until_ready()
    return {"us": (time.perf_counter() - begin) / calls * 1e6, "ok": right, "bytes": larger}


def main():
  backend, rank, ranks, address, package = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
  answers = sys.stdout
  sys.stdout = sys.stderr
  operations = Operations(start(backend, rank, ranks, address, package), rank)
  for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps(operations.time(question["op"], question["bytes"], question["calls"])), file=answers, flush=True)


if __name__ == "__main__":
  main()
