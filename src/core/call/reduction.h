// SPDX-License-Identifier: Apache-2.0
/// Reductions: how a collective combines the values of the ranks.
/// Tests: tests/core/operation_test.cc
#pragma once

#include <cstring>

#include "src/base/types.h"
#include "src/device/reduce.h"

namespace weir::core {

/// How values are combined. Averages and scaled sums are sums with a step before or after.
struct Reduction {
  enum class Scaling : uint8_t {
    none,
    average,      ///< divide by the number of ranks (see docs/architecture.md, Reductions)
    premultiply,  ///< multiply this rank's input by the factor first
  };
  RedOp op = RedOp::sum;
  Scaling scaling = Scaling::none;
  /// The factor of premultiply, of the operation's type. Unused where `factor_at` is not null.
  device::Scalar factor = {};
  /// The address at which the factor of premultiply is read in the order of the stream. Null: `factor` has
  /// it.
  const void* factor_at = nullptr;

  /// Reads the factor, an element of `type`, from `factor_at`, if that is set. REQUIRES: the host can read
  /// it.
  void read_factor(DataType type) {
    if (factor_at == nullptr) return;
    std::memcpy(factor.bits, factor_at, size_of(type));
    factor_at = nullptr;
  }
};

}  // namespace weir::core
