// SPDX-License-Identifier: Apache-2.0
/// Input text, and the positions of errors in it.
///
/// Every reader of this folder takes a Source and refuses what it does not understand: the message has the
/// file, the line, what was found and what was expected. What can be ignored without a wrong result is noted
/// instead if the caller takes notes (Notes), and refused if not.
/// Tests: tests/topology/source_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::topology {

/// `text` must outlive the reader.
struct Source {
  std::string name;  ///< file name, for messages
  std::string_view text;
};

/// Sentences about what was ignored, each with file and line.
using Notes = std::vector<std::string>;

/// Maximum size of an input: 256 MiB of text.
inline constexpr size_t kMostBytes = size_t{256} << 20;
/// Maximum number of nodes in an input.
inline constexpr size_t kMostNodes = 4'000'000;

/// The number of the line, from 1, that contains the byte at `offset`.
size_t line_of(std::string_view text, size_t offset);

/// Returns invalid_argument: "FILE:LINE: SENTENCE".
Status refuse(const Source& source, size_t line, const std::string& sentence);

/// Iterates over the lines of a text, without their ends ("\n" or "\r\n").
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  /// Returns false at the end.
  bool next(std::string_view& line);
  size_t number() const { return number_; }  ///< number of the last line returned

 private:
  std::string_view rest_;
  size_t number_ = 0;
};

/// `text` without blanks and tabs at both ends.
std::string_view trim(std::string_view text);
/// The words separated by blanks and tabs.
std::vector<std::string_view> words(std::string_view text);

/// Parses all of `text` as a number (base 10, or 16 with or without 0x); false: it is none, or out of range.
bool parse_int(std::string_view text, int64_t& value);
bool parse_hex(std::string_view text, uint64_t& value);
bool parse_number(std::string_view text, double& value);  ///< finite numbers only

/// Parses "0000:3b:00.0" to lower case; the domain has 4 to 8 digits. False: `text` is not a PCI address.
bool parse_pci_address(std::string_view text, std::string& value);

}  // namespace weir::topology
