// SPDX-License-Identifier: Apache-2.0
/// Texts that differ in one place from others.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weir::topology {

/// `text` with its first `old` replaced.
inline std::string replaced(std::string text, std::string_view old, std::string_view with) {
  const size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), with);
}

}  // namespace weir::topology
