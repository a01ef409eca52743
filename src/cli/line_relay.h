// SPDX-License-Identifier: Apache-2.0
/// LineRelay: passes the output of a child on, line by line, each with a prefix.
#pragma once

#include <string>

namespace weir::cli {

/// Owns the descriptor it reads; writes to `to`, which it does not own. Not thread-safe.
class LineRelay {
 public:
  LineRelay(int from, int to, std::string prefix);
  LineRelay(LineRelay&& other) noexcept;
  LineRelay& operator=(LineRelay&&) = delete;
  ~LineRelay();

  /// -1 after the end.
  int descriptor() const { return from_; }
  /// Reads what is there (waits if there is nothing) and writes the lines that are complete; a very long one
  /// in parts. At the end writes what is left, with a newline.
  void pump();

 private:
  void write_lines(bool everything);

  int from_;
  int to_;
  std::string prefix_;
  std::string pending_;
};

}  // namespace weir::cli
