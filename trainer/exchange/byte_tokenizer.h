// SPDX-License-Identifier: Apache-2.0
/// The files by which Hugging Face's AutoTokenizer turns text into the bytes that this model has as tokens.
/// Pure.
///
/// A byte-pair encoding without pairs: GPT-2's writing of bytes as printable letters (byte_letters.h), each
/// of which is a token whose number is that of the byte. Tests: tests/trainer/exchange_test.cc
#pragma once

#include <string>

#include "trainer/math/lanes.h"

namespace weir::trainer {

/// The content of `tokenizer.json`.
std::string tokenizer_text();
/// The content of `tokenizer_config.json`, for sequences of at most `length` bytes.
std::string tokenizer_config_text(Index length);

}  // namespace weir::trainer
