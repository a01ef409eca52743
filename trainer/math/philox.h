// SPDX-License-Identifier: Apache-2.0
/// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
/// easy as 1, 2, 3", 2011). A number depends only on its key and its position, not on numbers that were drawn
/// before or elsewhere.
#pragma once

#include <array>
#include <cstdint>

namespace weir::trainer {

using PhiloxBlock = std::array<uint32_t, 4>;

/// The four numbers of `counter` under `key`.
PhiloxBlock philox(PhiloxBlock counter, std::array<uint32_t, 2> key);

/// The use of a stream of numbers; part of the counter, so that no two uses share numbers.
enum class Purpose : uint32_t { initialise = 1, samples = 2, generate = 3 };

/// The four numbers of (seed, purpose, stream, position).
PhiloxBlock random_block(uint64_t seed, Purpose purpose, uint32_t stream, uint64_t place);

/// Uniform in (0, 1), from 32 random bits.
inline double to_unit(uint32_t bits) { return (static_cast<double>(bits) + 0.5) / 4294967296.0; }

/// Four normally distributed numbers of mean 0 and standard deviation 1 (Box and Muller, 1958).
std::array<float, 4> to_normals(const PhiloxBlock& block);

}  // namespace weir::trainer
