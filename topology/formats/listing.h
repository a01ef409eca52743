// SPDX-License-Identifier: Apache-2.0
/// What the readers of line-based listings share: checks of the text, a cursor over one line, sentences with
/// lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "topology/formats/source.h"

namespace weir::topology {

/// Refuses text that is too long or holds control characters other than tabs and line ends. Bytes >= 0x80
/// pass: they may stand in comments (names are checked where they are read).
Status check_text(const Source& source);

/// For what may be left out: a note where the caller wants notes, else an error.
Status leave_out_line(const Source& source, size_t line, Notes* notes, const std::string& sentence);
/// The same for what is found wrong in a document that has no lines any more.
Status leave_out(Notes* notes, const std::string& sentence);

/// Makes the error of the item with that number (of a list the caller has lines for).
using Refuse = std::function<Status(size_t item, const std::string& sentence)>;
/// Without lines: the sentence alone.
Status refuse_item(size_t item, const std::string& sentence);

/// Only the characters ' ' to '~'.
bool is_printable(std::string_view text);
/// The text as it may stand in a message: short and printable, in quotes.
std::string shown(std::string_view text);
bool is_digit(char c);
bool is_letter(char c);

/// Takes a line apart from left to right. The first thing that is not as needed is kept for the message.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool done() const { return rest_.empty(); }
  void blanks();
  /// Takes it if it is there.
  bool take(std::string_view literal);

  bool need(std::string_view literal);
  bool need_end();
  /// At least one blank or tab, or the end.
  bool need_blank();
  bool number(const char* what, int least, int most, int& value);
  bool hex(const char* what, uint64_t most, uint64_t& value);  ///< with or without 0x
  /// Up to the next blank; not empty.
  bool word(const char* what, std::string_view& value);
  /// A printable text between quotation marks, of which the last in the line ends it: it may hold some
  /// itself.
  bool quoted(const char* what, std::string& value);
  /// Notes what was expected here; always false.
  bool miss(const std::string& expected);

  /// `found "...", expected ...`: what the first miss was.
  const std::string& complaint() const { return complaint_; }

 private:
  std::string_view rest_;
  std::string complaint_;
};

}  // namespace weir::topology
