// SPDX-License-Identifier: Apache-2.0
/// Cuts text into words by a regular expression, through ICU.
///
/// Thread safety: concurrent calls of split().
/// Tests: tests/trainer/bpe_test.cc
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::trainer {

/// GPT-2's expression (Radford et al., 2019).
inline constexpr const char* kGpt2Words =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

class Splitter {
 public:
  /// White space is Unicode's, as in tokenizers' own programs. invalid_argument with ICU's words if the
  /// expression is wrong.
  static Result<Splitter> create(const std::string& expression);

  /// Appends the matches and what is between them, in order: together they are the text. Parts point into it.
  Status split(std::string_view text, std::vector<std::string_view>& parts) const;

 private:
  struct Closes {
    void operator()(void* expression) const;
  };
  explicit Splitter(void* expression) : expression_(expression) {}

  std::unique_ptr<void, Closes> expression_;
};

}  // namespace weir::trainer
