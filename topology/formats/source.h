// SPDX-License-Identifier: Apache-2.0
/// Text that is read, and where in it something is wrong.
///
/// Every reader of this folder takes a Source and refuses what it does not understand: with the file, the
/// line, what was found and what was expected. What it can leave out without a false picture it notes
/// instead, where the caller wants notes (Notes), and refuses where he does not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weir/status.h"

namespace weir::topology {

/// `text` must outlive the reading.
struct Source {
  std::string name;  ///< of the file, for messages
  std::string_view text;
};

/// Sentences about what was left out, each with file and line.
using Notes = std::vector<std::string>;

/// No input is longer: 256 MiB of text.
inline constexpr size_t kMostBytes = size_t{256} << 20;
/// No input names more things than that.
inline constexpr size_t kMostNodes = 4'000'000;

/// The number of the line, from 1, in which the byte at `offset` stands.
size_t line_of(std::string_view text, size_t offset);

/// invalid_argument: "FILE:LINE: SENTENCE".
Status refuse(const Source& source, size_t line, const std::string& sentence);

/// The lines of a text one by one, without their ends ("\n" or "\r\n").
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  /// False at the end.
  bool next(std::string_view& line);
  size_t number() const { return number_; }  ///< of the last line given

 private:
  std::string_view rest_;
  size_t number_ = 0;
};

/// `text` without blanks and tabs at both ends.
std::string_view trim(std::string_view text);
/// The words between blanks and tabs.
std::vector<std::string_view> words(std::string_view text);

/// A number that is all of `text` (base 10, or 16 with or without 0x); false: it is not, or does not fit.
bool parse_int(std::string_view text, int64_t& value);
bool parse_hex(std::string_view text, uint64_t& value);
bool parse_number(std::string_view text, double& value);  ///< finite

/// "0000:3b:00.0", in lower case; the domain has 4 to 8 digits. False: `text` is no PCI address.
bool parse_pci_address(std::string_view text, std::string& value);

}  // namespace weir::topology
