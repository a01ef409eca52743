// SPDX-License-Identifier: Apache-2.0
/// What loss a text can be expected to have: figures of simple predictors and compressors.
///
/// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "weir/status.h"

namespace weir::trainer {

/// Bits per byte of who knows how often each byte follows each other one in this text: H(X | Y) of its pairs
/// (Shannon, 1948). REQUIRES: at least two bytes.
double order_one_entropy(std::span<const uint8_t> text);

/// Bits per byte after xz -9e, which has seen nothing but the text. REQUIRES: at least one byte.
Result<double> xz_bits(std::span<const uint8_t> text);

}  // namespace weir::trainer
