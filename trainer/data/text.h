// SPDX-License-Identifier: Apache-2.0
/// The training text: tokens, of which the last tenth is held out for evaluation.
/// Tests: tests/trainer/data_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/data/token_shard.h"
#include "trainer/math/row_calls.h"

namespace weir::trainer {

/// Does not change; copies share the tokens.
class Text {
 public:
  /// The King James Bible (trainer/data/make_kjv.sh), 4.1 MB, stored compressed in the program.
  static Result<Text> built_in();
  static constexpr const char* kBuiltIn = "King James Bible";  ///< its name
  /// Reads a file's bytes. The error names the file and what is wrong with it.
  static Result<Text> from_file(const std::string& path);

  /// Tokens that are bytes.
  Text(std::string name, std::vector<uint8_t> bytes);
  /// Tokens that a tokenizer has made.
  Text(std::string name, std::vector<Token> tokens, std::optional<Token> separator);
  /// The tokens of several files, one after the other. REQUIRES: at least one.
  Text(std::string name, const std::vector<TokenShard>& shards);

  const std::string& name() const { return name_; }
  Index size() const { return size_; }
  Index training_size() const { return size_ - held_out_size(); }
  /// These tokens are the last ones.
  Index held_out_size() const { return size_ / 10; }

  /// Copies the tokens [begin, begin + count).
  void copy(Index begin, Index count, Token* to) const;
  /// The stored bytes of the tokens, in order, of one or several files.
  std::vector<std::span<const uint8_t>> stored() const;

  /// Whether tokens are bytes.
  bool is_bytes() const { return parts_.front().width == 1; }
  /// REQUIRES: is_bytes().
  std::span<const uint8_t> bytes() const { return parts_.front().bytes; }

  /// The vocabulary of the tokenizer that made the tokens; 0: not known.
  Index vocabulary() const { return vocabulary_; }
  /// The token with which each document begins, if it is known.
  std::optional<Token> separator() const { return separator_; }

  /// An error unless both parts hold at least one sequence of `length` tokens and the token after it.
  Status check_length(Index length) const;
  /// An error unless all tokens are below `vocabulary`. Reads all.
  Status check_vocabulary(Index vocabulary) const;

 private:
  struct Part {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
    Index width;  ///< bytes per token
    Index count() const { return static_cast<Index>(bytes.size()) / width; }
  };

  void add(Part part);

  std::string name_;
  std::vector<Part> parts_;
  Index size_ = 0;
  Index vocabulary_ = 0;
  std::optional<Token> separator_;
};

}  // namespace weir::trainer
