// SPDX-License-Identifier: Apache-2.0
/// Byte-pair encoding with the files of GPT-2's and Llama's tokenizers (tokenizer_file.h).
///
/// The text of special tokens, as "<|endoftext|>", has no meaning in a text: it is encoded as any other.
/// Tests: tests/trainer/bpe_test.cc
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "trainer/tokenizer/bpe_merges.h"
#include "trainer/tokenizer/splitter.h"
#include "trainer/tokenizer/tokenizer.h"
#include "trainer/tokenizer/tokenizer_file.h"

namespace weir::trainer {

/// A file of a tokenizer, by the name under which open() finds it in a folder.
struct TokenizerFile {
  std::string name;
  std::string content;
};
using TokenizerFiles = std::vector<TokenizerFile>;

class BpeTokenizer final : public Tokenizer {
 public:
  /// A `tokenizer.json`, or a folder that has one, or one with `vocab.json` and `merges.txt`. Errors begin
  /// with the path: files that cannot be read, and those of tokenizer_file.h.
  static Result<std::shared_ptr<const BpeTokenizer>> open(const std::string& path);
  static Result<std::shared_ptr<const BpeTokenizer>> create(const BpeDefinition& definition);

  Index vocabulary() const override { return static_cast<Index>(texts_.size()); }
  std::optional<Token> separator() const override { return separator_; }
  Result<std::vector<Token>> encode(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;

  /// The files that it was read from.
  const TokenizerFiles& files() const { return files_; }

 private:
  BpeTokenizer() = default;
  Status read(const BpeDefinition& definition);
  std::vector<Token> encode_word(std::string_view word) const;
  std::vector<Token> letters_of(std::string_view word) const;

  std::unordered_map<std::string, Token> tokens_;  ///< by the bytes that they stand for
  std::vector<std::string> texts_;                 ///< index: token; bytes, empty for special ones
  std::vector<Token> bytes_;                       ///< index: byte
  BpeMerges merges_;
  std::vector<Splitter> splitters_;
  std::optional<Token> separator_;
  TokenizerFiles files_;
  bool by_bytes_ = true;
  bool begins_with_space_ = false;
  bool prefers_words_ = false;
};

}  // namespace weir::trainer
