// SPDX-License-Identifier: Apache-2.0
/// Looks for NaNs and infinities in memory of the host.
///
/// Pure.
/// Tests: tests/device/float_check_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "src/base/types.h"

namespace weir::device {

/// The index of the first element that is a NaN or an infinity; `count`: there is none, or `type` is not a
/// floating-point type. `data` need not be aligned.
size_t index_of_nan_or_inf(DataType type, const void* data, size_t count);

/// The same; nullopt: there is none.
inline std::optional<size_t> first_nan_or_inf(DataType type, const void* data, size_t count) {
  const size_t at = index_of_nan_or_inf(type, data, count);
  return at < count ? std::optional(at) : std::nullopt;
}

/// An element as text: "NaN (float32 0x7fc00000)", "-inf (float16 0xfc00)". REQUIRES: it is not finite.
std::string nan_or_inf_text(DataType type, const void* element);

}  // namespace weir::device
