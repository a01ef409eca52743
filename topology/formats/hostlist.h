// SPDX-License-Identifier: Apache-2.0
/// Lists of names in Slurm's notation: "node[01-04,7],rack[1-2]-gpu[0-3],login".
///
/// Brackets contain numbers and ranges; a range uses as many digits as its first number has, so [08-11] is
/// 08, 09, 10, 11. Several brackets in a name give all combinations, and the last bracket varies fastest. A
/// name in quotation marks is taken literally (\" and \\ mean the two characters), so any printable name can
/// be written.
/// Tests: tests/topology/hostlist_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::topology {

/// Maximum number of names in all lists of one file together.
inline constexpr size_t kMostNames = 100'000;
inline constexpr size_t kLongestName = 255;

/// Whether a name needs no quotation marks: printable, without blanks, quotation marks, backslashes and any
/// of , [ ] # = :
bool is_plain_name(std::string_view name);
/// The name, in quotation marks if it is not plain.
std::string quote_name(std::string_view name);

/// The names in order. `budget` is the number of names still allowed and is reduced by theirs. Errors
/// (invalid_argument, only the sentence): an empty list or name, brackets that do not match or contain
/// something else, descending ranges, more names than the budget, names longer than kLongestName.
Result<std::vector<std::string>> expand_hostlist(std::string_view text, size_t& budget);

/// The shortest list in the same order: neighbours that differ in one number share brackets. Expanding it
/// gives the same names (printable, non-empty ones).
std::string compress_hostlist(const std::vector<std::string>& names);

}  // namespace weir::topology
