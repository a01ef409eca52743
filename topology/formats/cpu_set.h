// SPDX-License-Identifier: Apache-2.0
/// Sets of logical processors in the notations of several formats.
/// Tests: tests/topology/cpu_set_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::topology {

/// A value. Contains numbers from 0 to kMostCpus - 1, and optionally all numbers above (hwloc's "0xf...f").
class CpuSet {
 public:
  static constexpr uint32_t kMostCpus = 65536;

  /// Parses "0-3,8": numbers and ranges of them. False: another notation, or beyond kMostCpus.
  static bool parse_list(std::string_view text, CpuSet& set);
  /// Parses "0x0000ffff,,0xffffffff": 32-bit words in hex, highest first; an empty word is 0; "0xf...f" as
  /// the first word means all numbers above. False as above.
  static bool parse_words(std::string_view text, CpuSet& set);

  bool empty() const { return words_.empty() && !all_above_; }
  bool all_above() const { return all_above_; }
  bool intersects(const CpuSet& other) const;
  /// The text as in NumaFacts::affinity; "00000000" for the empty set. REQUIRES: !all_above().
  std::string text() const;

  bool operator==(const CpuSet&) const = default;

 private:
  void add(uint32_t first, uint32_t last);
  void shorten();

  std::vector<uint32_t> words_;  ///< lowest word first; the last one is not 0
  bool all_above_ = false;
};

}  // namespace weir::topology
