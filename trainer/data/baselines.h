// SPDX-License-Identifier: Apache-2.0
/// The loss that can be expected on a text: figures of simple predictors and compressors.
///
/// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/status.h"

namespace weir::trainer {

/// Bits per byte of a predictor that knows how often each byte follows each other byte in this text: H(X | Y)
/// of its pairs (Shannon, 1948). REQUIRES: at least two bytes.
double order_one_entropy(std::span<const uint8_t> text);

/// Bits per byte after xz -9e of this text alone. REQUIRES: at least one byte.
Result<double> xz_bits(std::span<const uint8_t> text);

}  // namespace weir::trainer
