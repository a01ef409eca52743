// SPDX-License-Identifier: Apache-2.0
/// Files of tokens, as programs that prepare text write them: of 16 or 32 bits, little-endian.
///
///  - llm.c (and programs that follow it, as modded-nanogpt): a header of 256 numbers of 32 bits, of which
///  the
///    first three are a magic number, a version and the number of tokens; then the tokens. For GPT-2's
///    tokenizer 20240520, version 1, 16 bits; for Llama 3's 20240801, version 7, 32 bits.
///  - nanoGPT: tokens of 16 bits without a header.
/// Tests: tests/trainer/token_shard_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "src/base/status.h"
#include "trainer/math/row_calls.h"

namespace weir::trainer {

/// Tokens in a file that is mapped into memory. Copies share the mapping.
struct TokenShard {
  std::shared_ptr<const void> mapping;
  std::span<const uint8_t> bytes;  ///< of the tokens alone
  Index width = 0;                 ///< bytes per token: 2 or 4
  Index vocabulary = 0;            ///< that of the header's tokenizer; 0: not known
  std::optional<Token> separator;  ///< with which documents begin, if the header tells the tokenizer
};

/// Whether the file begins with a header of llm.c's.
Result<bool> is_llm_c_shard(const std::string& path);
/// Errors: system_error if the file cannot be read, invalid_argument if it is not of this form. Both name it.
Result<TokenShard> open_llm_c_shard(const std::string& path);
/// A file without a header, of tokens of `width` bytes, 2 or 4.
Result<TokenShard> open_raw_shard(const std::string& path, Index width);

}  // namespace weir::trainer
