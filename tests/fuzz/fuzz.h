// SPDX-License-Identifier: Apache-2.0
/// What fuzz targets share. A target reads bytes; what it can read it writes and reads again, which must give
/// the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline weir::BytesView bytes_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

/// Stops the fuzzer at what must not happen.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}
