// SPDX-License-Identifier: Apache-2.0
/// Lists of names as Slurm and people who run clusters write them: "node[01-04,7],rack[1-2]-gpu[0-3],login".
///
/// Brackets hold numbers and ranges; a range counts with as many digits as its first number has, so [08-11]
/// is 08, 09, 10, 11. Several brackets in a name give all combinations, the last bracket runs fastest. A name
/// in quotation marks is taken as it is (\" and \\ stand for the two characters), so any printable name can
/// be written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/status.h"

namespace weir::topology {

/// All the lists of one file together name no more.
inline constexpr size_t kMostNames = 100'000;
inline constexpr size_t kLongestName = 255;

/// Printable, without blanks, quotation marks, backslashes and any of , [ ] # = : what needs no quotation
/// marks.
bool is_plain_name(std::string_view name);
/// The name, in quotation marks if it is not plain.
std::string quote_name(std::string_view name);

/// The names in order; `budget` is what may still be named and is lowered by their number.
/// Errors (invalid_argument, the sentence alone): an empty list or name, brackets that do not match or hold
/// something else, ranges that count down, more names than the budget, names longer than kLongestName.
Result<std::vector<std::string>> expand_hostlist(std::string_view text, size_t& budget);

/// The shortest list that keeps the order: neighbours that differ in one number share brackets. Expanded
/// again it gives the same names (printable ones that are not empty).
std::string compress_hostlist(const std::vector<std::string>& names);

}  // namespace weir::topology
