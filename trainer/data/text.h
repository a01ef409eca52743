// SPDX-License-Identifier: Apache-2.0
/// The training text: bytes, of which the last tenth is held out for evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace weir::trainer {

class Text {
 public:
  /// The King James Bible (trainer/data/make_kjv.sh), 4.1 MB, stored compressed in the program.
  static Result<Text> built_in();
  /// Reads a file's bytes. The error names the file and what is wrong with it.
  static Result<Text> from_file(const std::string& path);

  Text(std::string name, std::vector<uint8_t> bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}

  const std::string& name() const { return name_; }
  std::span<const uint8_t> bytes() const { return bytes_; }
  std::span<const uint8_t> training() const { return bytes().first(bytes_.size() - held_out_size()); }
  std::span<const uint8_t> held_out() const { return bytes().last(held_out_size()); }

  /// An error unless both parts hold at least one sequence of `length` tokens and the token after it.
  Status check_length(int64_t length) const;

 private:
  size_t held_out_size() const { return bytes_.size() / 10; }

  std::string name_;
  std::vector<uint8_t> bytes_;
};

}  // namespace weir::trainer
