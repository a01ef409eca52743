// SPDX-License-Identifier: Apache-2.0
/// The words of the lines of nvidia-smi's matrix, also where cells are empty or touch. Internal to
/// nvidia_smi.cc.
/// Tests: tests/topology/nvidia_smi_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology/formats/nvidia_smi.h"

namespace weir::topology::smi {

/// False: the word is no cell.
bool parse_cell(std::string_view word, SmiCell& cell);

/// A word and the column of the screen at which it begins.
struct PlacedWord {
  std::string_view text;
  size_t column = 0;
};

/// The words of a line; names of devices that touch ("GPU0GPU1", "GPU7CPU") are separate words.
std::vector<PlacedWord> head_words(std::string_view line);

/// The name of the device at the beginning of a row; empty: none of the given ones. The first cell may touch
/// it ("GPU0X").
std::string_view row_name(std::string_view line, const std::vector<NvidiaSmiDevice>& devices);

struct RowWords {
  std::vector<std::string_view> cells;  ///< at most one per device; empty: not given
  std::vector<std::string_view> behind;
};

/// Divides a row that begins with the name of `devices[row]`. Tabs separate cells if there are any. With
/// blanks, a row with fewer cells than devices is read by the columns of the head, if its X is below the head
/// of its own column; otherwise its cells are the first ones. Words that are several cells ("SYSNV12") are
/// divided.
RowWords row_words(std::string_view line, std::string_view name, size_t row,
                   const std::vector<PlacedWord>& head);

/// Divides words like "0N/A" and "N/AN/A": columns that touch.
void divide_not_given(std::vector<std::string_view>& behind);

/// How many numbers each range of a list like "0-31,64-95" has.
std::set<int64_t> range_lengths(std::string_view list);

/// Divides "32-63,96-1271" into "32-63,96-127" and "1", a list of CPUs and a node that touch, if the last
/// range is then as long as the others of the list, or as one of `lengths`; nullopt if it is so already, or
/// in no way, or in several.
std::optional<std::pair<std::string_view, std::string_view>> divide_list(std::string_view list,
                                                                         const std::set<int64_t>& lengths);

}  // namespace weir::topology::smi
