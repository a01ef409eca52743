// SPDX-License-Identifier: Apache-2.0
/// Text as tokens and back.
///
/// Thread safety: objects do not change; all functions may be called concurrently.
/// Tests: tests/trainer/tokenizer_test.cc
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "trainer/math/row_calls.h"

namespace weir::trainer {

class Tokenizer {
 public:
  Tokenizer() = default;
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Number of tokens; 0: not known.
  virtual Index vocabulary() const = 0;
  /// The token with which each document of several begins, if there is one.
  virtual std::optional<Token> separator() const = 0;
  /// invalid_argument if the text cannot be written in these tokens.
  virtual Result<std::vector<Token>> encode(std::string_view text) const = 0;
  /// Tokens that are not in the vocabulary are left out.
  virtual std::string decode(std::span<const Token> tokens) const = 0;
};

/// Tokens are bytes; documents begin with the byte 0.
class BytesAsTokens final : public Tokenizer {
 public:
  Index vocabulary() const override { return 256; }
  std::optional<Token> separator() const override { return Token{0}; }
  Result<std::vector<Token>> encode(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
};

/// For tokens whose meaning is not known: their numbers, with spaces between.
class TokenNumbers final : public Tokenizer {
 public:
  explicit TokenNumbers(std::optional<Token> separator) : separator_(separator) {}

  Index vocabulary() const override { return 0; }
  std::optional<Token> separator() const override { return separator_; }
  Result<std::vector<Token>> encode(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;

 private:
  std::optional<Token> separator_;
};

}  // namespace weir::trainer
