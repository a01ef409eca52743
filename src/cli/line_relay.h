// SPDX-License-Identifier: Apache-2.0
/// LineRelay: forwards the output of a child line by line, each line with a prefix.
/// Tests: tests/cli/line_relay_test.cc
#pragma once

#include <string>

namespace weir::cli {

/// Owns the descriptor that it reads; does not own `to`, which it writes. Not thread-safe.
class LineRelay {
 public:
  LineRelay(int from, int to, std::string prefix);
  LineRelay(LineRelay&& other) noexcept;
  LineRelay& operator=(LineRelay&&) = delete;
  ~LineRelay();

  /// -1 after the end of the input.
  int descriptor() const { return from_; }
  /// Reads available output (blocks if there is none) and writes all complete lines; very long lines are
  /// written in parts. At the end of the input, writes the rest with a newline.
  void pump();

 private:
  void write_lines(bool everything);

  int from_;
  int to_;
  std::string prefix_;
  std::string pending_;
};

}  // namespace weir::cli
