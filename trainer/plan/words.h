// SPDX-License-Identifier: Apache-2.0
/// Reads the words of one line of a text format from left to right; errors name the position.
///
/// Thread safety: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::trainer::plan {

class Words {
 public:
  /// '#' begins a comment. `place` is "file:line".
  Words(std::string place, std::string_view line);

  bool empty() const { return at_ == words_.size(); }
  /// Takes the next word if it equals this one.
  bool take(std::string_view word);
  /// Takes the next word; `what` is for the error: "expected <what>".
  Result<std::string> word(std::string_view what);
  /// Takes one of the choices.
  Result<int> one_of(std::string_view what, const std::vector<std::string_view>& choices);
  /// Takes a number in [lowest, highest].
  Result<double> number(std::string_view what, double lowest, double highest);
  Result<int> integer(std::string_view what, int lowest, int highest);
  /// An error unless all words were taken.
  Status end();
  /// Takes all remaining words as one string.
  std::string rest();

  /// An error at this position: "file:line: sentence".
  Status refuse(std::string_view sentence) const;

 private:
  std::string place_;
  std::vector<std::string> words_;
  size_t at_ = 0;
};

}  // namespace weir::trainer::plan
