// SPDX-License-Identifier: Apache-2.0
/// Numbers and times in the formats of nccl-tests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::perf {

/// Parses "64", "1.5K", "32M", "4g" as bytes (binary multiples). Nullopt for any other text.
std::optional<size_t> parse_size(std::string_view text);

/// Formats a number in at most `width` characters: with two decimals if it fits, else one, else none, else in
/// exponent form (wider if even that does not fit). Not padded.
std::string fit(double value, int width);

/// Local time in the format "2026-01-31 23:59:59".
std::string now_text();

}  // namespace weir::perf
