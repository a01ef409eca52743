// SPDX-License-Identifier: Apache-2.0
/// GPT-2's writing of bytes as printable letters, in which tokenizers of its kind store their tokens. Pure.
/// Tests: tests/trainer/bpe_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::trainer {

/// The letter for a byte in GPT-2's vocabulary, in UTF-8: itself if it is printable in Latin-1, else one of
/// the letters from U+0100 on, in order.
std::string letter_of_byte(uint8_t byte);

/// The bytes of a text of such letters; nothing if there is another letter in it.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace weir::trainer
