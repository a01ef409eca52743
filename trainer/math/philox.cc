// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/philox.h"

#include <cmath>
#include <numbers>

namespace weir::trainer {

PhiloxBlock philox(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

PhiloxBlock random_block(uint64_t seed, Purpose purpose, uint32_t stream, uint64_t place) {
  return philox({static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32), stream,
                 static_cast<uint32_t>(purpose)},
                {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

std::array<float, 4> to_normals(const PhiloxBlock& block) {
  std::array<float, 4> normals{};
  for (size_t pair = 0; pair < 4; pair += 2) {
    const double radius = std::sqrt(-2.0 * std::log(to_unit(block[pair])));
    const double angle = 2.0 * std::numbers::pi * to_unit(block[pair + 1]);
    normals[pair] = static_cast<float>(radius * std::cos(angle));
    normals[pair + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return normals;
}

}  // namespace weir::trainer
