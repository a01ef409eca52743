// SPDX-License-Identifier: Apache-2.0
/// Common parts of the readers of line-based listings: checks of the text, a cursor over one line, error
/// messages with line numbers.
/// Tests: tests/topology/levels_test.cc
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "topology/formats/source.h"

namespace weir::topology {

/// Refuses text that is too long or contains control characters other than tabs and line ends. Bytes >= 0x80
/// are accepted because comments may contain them (names are checked where they are read).
Status check_text(const Source& source);

/// Reports an omission: a note if the caller takes notes, else an error.
Status leave_out_line(const Source& source, size_t line, Notes* notes, const std::string& sentence);
/// The same for a document that has no line numbers any more.
Status leave_out(Notes* notes, const std::string& sentence);

/// Makes the error of the item with that number (of a list whose lines the caller knows).
using Refuse = std::function<Status(size_t item, const std::string& sentence)>;
/// Without line numbers: only the sentence.
Status refuse_item(size_t item, const std::string& sentence);

/// Whether all characters are in ' ' to '~'.
bool is_printable(std::string_view text);
/// The text for use in a message: short, printable, in quotes.
std::string shown(std::string_view text);
bool is_digit(char c);
bool is_letter(char c);

/// Parses a line from left to right. The first mismatch is kept for the error message.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool done() const { return rest_.empty(); }
  void blanks();
  /// Skips the text if the line continues with it.
  bool take(std::string_view literal);

  bool need(std::string_view literal);
  bool need_end();
  /// Requires at least one blank or tab, or the end.
  bool need_blank();
  bool number(const char* what, int least, int most, int& value);
  bool hex(const char* what, uint64_t most, uint64_t& value);  ///< with or without 0x
  /// Takes the text up to the next blank; it must not be empty.
  bool word(const char* what, std::string_view& value);
  /// Takes a printable text between quotation marks; the last quotation mark of the line ends it, so it may
  /// contain some.
  bool quoted(const char* what, std::string& value);
  /// Records what was expected here; always returns false.
  bool miss(const std::string& expected);

  /// The sentence about the first mismatch: `found "...", expected ...`.
  const std::string& complaint() const { return complaint_; }

 private:
  std::string_view rest_;
  std::string complaint_;
};

}  // namespace weir::topology
