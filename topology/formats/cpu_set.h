// SPDX-License-Identifier: Apache-2.0
/// Sets of logical processors in the ways that formats write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::topology {

/// A value. Numbers from 0 to kMostCpus - 1, and perhaps all above (hwloc's "0xf...f").
class CpuSet {
 public:
  static constexpr uint32_t kMostCpus = 65536;

  /// "0-3,8": numbers and ranges of them. False: not written like that, or beyond kMostCpus.
  static bool parse_list(std::string_view text, CpuSet& set);
  /// "0x0000ffff,,0xffffffff": 32-bit words in hex, highest first; an empty one is 0; a first "0xf...f"
  /// stands for all above. False as above.
  static bool parse_words(std::string_view text, CpuSet& set);

  bool empty() const { return words_.empty() && !all_above_; }
  bool all_above() const { return all_above_; }
  bool intersects(const CpuSet& other) const;
  /// As NumaFacts::affinity; "00000000" for the empty set. REQUIRES: !all_above().
  std::string text() const;

  bool operator==(const CpuSet&) const = default;

 private:
  void add(uint32_t first, uint32_t last);
  void shorten();

  std::vector<uint32_t> words_;  ///< lowest first; the last is not 0
  bool all_above_ = false;
};

}  // namespace weir::topology
