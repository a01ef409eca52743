// SPDX-License-Identifier: Apache-2.0
/// Numbers and times as nccl-tests reads and prints them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::perf {

/// "64", "1.5K", "32M", "4g" in bytes (binary multiples). Nothing if it is not such a text.
std::optional<size_t> parse_size(std::string_view text);

/// A number in at most `width` characters: with two decimals if it fits, else one, else none, else in
/// exponent form (where not even that fits, wider). Not padded.
std::string fit(double value, int width);

/// Local time as "2026-01-31 23:59:59".
std::string now_text();

}  // namespace weir::perf
