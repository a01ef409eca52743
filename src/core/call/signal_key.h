// SPDX-License-Identifier: Apache-2.0
/// Signals of one-sided calls, by which a rank learns that others have written to it.
#pragma once

#include <compare>
#include <cstdint>

#include "src/base/types.h"

namespace weir::core {

/// Identifies signals that are counted together.
struct SignalKey {
  Rank from = 0;
  int32_t index = 0;
  int32_t context = 0;

  auto operator<=>(const SignalKey&) const = default;
};

/// A number of signals with one key that a rank waits for.
struct AwaitedSignals {
  SignalKey key;
  uint64_t count = 0;
};

}  // namespace weir::core
