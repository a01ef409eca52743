// SPDX-License-Identifier: Apache-2.0
/// Signatures: 32 bits that ranks compare, equal for calls that match, different (almost surely) otherwise.
///
/// Pure.
/// Tests: tests/core/operation_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/core/call/operation.h"

namespace weir::core {

/// Multiplicative hashing, with the constants of MurmurHash3.
inline uint32_t signature_of(uint64_t a, uint64_t b) {
  const uint64_t x = (a * 0xff51afd7ed558ccdULL) ^ (b * 0xc4ceb9fe1a85ec53ULL);
  return static_cast<uint32_t>((x ^ (x >> 32)) * 0x9e3779b97f4a7c15ULL >> 32);
}

inline uint32_t signature(const CollectiveOp& operation) {
  const uint64_t kind =
      static_cast<uint64_t>(operation.kind) | static_cast<uint64_t>(operation.type) << 8 |
      (reduces(operation.kind) ? static_cast<uint64_t>(operation.reduction.op) << 16 |
                                     static_cast<uint64_t>(operation.reduction.scaling) << 24
                               : 0) |
      (has_root(operation.kind) ? static_cast<uint64_t>(operation.root) << 32 : 0);
  return signature_of(operation.count, kind);
}

/// The signature of a send and of its receive, of which only the bytes must agree.
inline uint32_t pair_signature(size_t bytes) { return signature_of(bytes, 1); }

}  // namespace weir::core
