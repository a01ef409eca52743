// SPDX-License-Identifier: Apache-2.0
/// The files in which Hugging Face's tokenizers store a byte-pair encoding: `tokenizer.json` (GPT-2, Llama),
/// or GPT-2's older `vocab.json` with `merges.txt`. Pure. Tests: tests/trainer/bpe_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "trainer/math/row_calls.h"

namespace weir::trainer {

/// How text becomes tokens.
struct BpeDefinition {
  std::unordered_map<std::string, Token> tokens;            ///< by their text in the file
  std::vector<std::pair<std::string, std::string>> merges;  ///< of two tokens' texts, in order
  std::unordered_map<std::string, Token> special;           ///< tokens that no text contains
  /// Whether tokens are written in letters for bytes (byte_letters.h), as GPT-2's and Llama 3's are.
  /// Otherwise they are UTF-8 in which U+2581 stands for a space, as Llama 2's are, with a token for each
  /// other byte.
  bool by_bytes = true;
  std::vector<std::string> expressions;  ///< that cut text into words, one after the other; none: one word
  bool begins_with_space = false;        ///< whether a space is added before a text
  bool prefers_words = false;            ///< whether a word that is a token is not merged ("ignore_merges")

  /// The token with which documents begin.
  std::optional<Token> separator() const;
};

/// Errors: invalid_argument that says what is missing, or what this program does not have: other models than
/// BPE, other normalisation than Llama 2's, other words than by expressions, added tokens that are not
/// special.
Result<BpeDefinition> parse_tokenizer_json(std::string_view text);
/// `vocabulary`: a JSON object with numbers of tokens. `merges`: lines of two tokens.
Result<BpeDefinition> parse_gpt2_files(std::string_view vocabulary, std::string_view merges);

}  // namespace weir::trainer
