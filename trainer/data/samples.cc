// SPDX-License-Identifier: Apache-2.0

#include "trainer/data/samples.h"

#include "trainer/math/philox.h"

namespace weir::trainer {

Index sample_begin(uint64_t seed, Index step, Index number, Index size, Index length) {
  const PhiloxBlock block =
      random_block(seed, Purpose::samples, static_cast<uint32_t>(number), static_cast<uint64_t>(step));
  // 64 bits modulo the few million positions of a text: the bias is below 1e-12.
  const uint64_t bits = uint64_t{block[0]} << 32 | block[1];
  return static_cast<Index>(bits % static_cast<uint64_t>(size - length));
}

Index evaluation_limit(Index size, Index length) { return (size - 1) / length; }

Index evaluation_begin(Index number, Index count, Index size, Index length) {
  return number * evaluation_limit(size, length) / count * length;
}

}  // namespace weir::trainer
