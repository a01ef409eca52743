// SPDX-License-Identifier: Apache-2.0
/// The words of one line of a text format, taken from left to right; what is not as expected is told with its
/// place.
///
/// Thread safety: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/status.h"

namespace weir::trainer::plan {

class Words {
 public:
  /// '#' begins a comment. `place` is "file:line".
  Words(std::string place, std::string_view line);

  bool empty() const { return at_ == words_.size(); }
  /// Takes the next word if it is this one.
  bool take(std::string_view word);
  /// The next word; `what` is for the error: "expected <what>".
  Result<std::string> word(std::string_view what);
  /// One of the choices.
  Result<int> one_of(std::string_view what, const std::vector<std::string_view>& choices);
  /// A number in [lowest, highest].
  Result<double> number(std::string_view what, double lowest, double highest);
  Result<int> integer(std::string_view what, int lowest, int highest);
  /// Nothing may be left.
  Status end();
  /// All that is left, in one.
  std::string rest();

  /// An error here: "file:line: sentence".
  Status refuse(std::string_view sentence) const;

 private:
  std::string place_;
  std::vector<std::string> words_;
  size_t at_ = 0;
};

}  // namespace weir::trainer::plan
