// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/cpu_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/source.h"

namespace weir::topology {
namespace {

constexpr uint32_t kWordBits = 32;

/// Removes the part before the first comma from `rest` and returns it.
std::string_view take_part(std::string_view& rest) {
  const size_t end = std::min(rest.find(','), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

bool parse_cpu(std::string_view text, uint32_t& cpu) {
  int64_t number = 0;
  if (!parse_int(text, number) || number < 0 || number >= CpuSet::kMostCpus) return false;
  cpu = static_cast<uint32_t>(number);
  return true;
}

}  // namespace

void CpuSet::add(uint32_t first, uint32_t last) {
  words_.resize(std::max<size_t>(words_.size(), last / kWordBits + 1));
  for (uint32_t cpu = first; cpu <= last; ++cpu) words_[cpu / kWordBits] |= uint32_t{1} << cpu % kWordBits;
}

void CpuSet::shorten() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

bool CpuSet::parse_list(std::string_view text, CpuSet& set) {
  CpuSet read;
  if (text.empty() || text.ends_with(',')) return false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = take_part(rest);
    const size_t dash = part.find('-');
    uint32_t first = 0;
    uint32_t last = 0;
    if (!parse_cpu(part.substr(0, dash), first)) return false;
    if (!parse_cpu(dash == std::string_view::npos ? part : part.substr(dash + 1), last)) return false;
    if (last < first) return false;
    read.add(first, last);
  }
  set = std::move(read);
  return true;
}

bool CpuSet::parse_words(std::string_view text, CpuSet& set) {
  CpuSet read;
  if (text.empty()) return false;
  if (text.starts_with("0xf...f")) {
    read.all_above_ = true;
    text.remove_prefix(7);
    if (!text.empty() && !text.starts_with(',')) return false;
    if (text.empty()) {
      set = std::move(read);
      return true;
    }
    text.remove_prefix(1);
  }
  const auto count = static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1;
  if (count > kMostCpus / kWordBits) return false;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view part = take_part(text);
    uint64_t word = 0;
    if (!part.empty() && (!parse_hex(part, word) || word > UINT32_MAX)) return false;
    read.words_.push_back(static_cast<uint32_t>(word));
  }
  std::reverse(read.words_.begin(), read.words_.end());
  if (!read.all_above_) read.shorten();
  set = std::move(read);
  return true;
}

bool CpuSet::intersects(const CpuSet& other) const {
  const size_t common = std::min(words_.size(), other.words_.size());
  for (size_t i = 0; i < common; ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  const auto reaches_beyond = [common](const CpuSet& set) {
    return set.all_above_ || std::any_of(set.words_.begin() + static_cast<ptrdiff_t>(common),
                                         set.words_.end(), [](uint32_t word) { return word != 0; });
  };
  return (all_above_ && reaches_beyond(other)) || (other.all_above_ && reaches_beyond(*this));
}

std::string CpuSet::text() const {
  if (words_.empty()) return "00000000";
  std::string text;
  for (size_t i = words_.size(); i > 0; --i)
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", words_[i - 1]);
  return text;
}

}  // namespace weir::topology
