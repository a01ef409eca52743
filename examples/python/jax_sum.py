# SPDX-License-Identifier: Apache-2.0
"""A sum over the processes of a JAX job, whose collectives are weir's:

    PYTHONPATH=build/python build/bin/weir run -n 2 -- python3 examples/python/jax_sum.py
"""

import weir_jax

weir_jax.initialize()

import jax  # noqa: E402, after weir_jax
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402


def main():
  mesh = jax.make_mesh((jax.device_count(),), ("x",))
  numbers = np.arange(1, 4 * jax.process_count() + 1, dtype=np.float32).reshape(-1, 4)
  array = jax.make_array_from_callback(numbers.shape, NamedSharding(mesh, PartitionSpec("x")), lambda index: numbers[index])
  total = jax.jit(lambda rows: rows.sum(), out_shardings=NamedSharding(mesh, PartitionSpec()))(array)
  print(f"process {jax.process_index()} of {jax.process_count()}: the sum is {float(total)}, expected {numbers.sum()}")


if __name__ == "__main__":
  main()
