// SPDX-License-Identifier: Apache-2.0
/// When a rank began its latest collectives, for the other ranks of the machine, which all have one clock.
///
/// Lies in memory that they share; of all zero bytes it is empty. One thread at a time puts; any may read.
/// Tests: tests/core/pretended_pace_test.cc
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::core {

class BeginTimes {
 public:
  /// Collectives that are kept. Ranks that need not wait for each other may be further apart.
  static constexpr size_t kKept = 128;

  /// Collective `number` (from 1) began at `ns`, by now_ns().
  void put(uint64_t number, int64_t ns) {
    Entry& entry = entries_[number % kKept];
    entry.number.store(0);
    entry.ns.store(ns);
    entry.number.store(number);
  }
  /// nullopt: it did not begin yet, or so long ago that it is not kept.
  std::optional<int64_t> at(uint64_t number) const {
    const Entry& entry = entries_[number % kKept];
    if (entry.number.load() != number) return std::nullopt;
    const int64_t ns = entry.ns.load();
    return entry.number.load() == number ? std::optional(ns) : std::nullopt;
  }

 private:
  struct Entry {
    std::atomic<uint64_t> number;
    std::atomic<int64_t> ns;
  };
  std::array<Entry, kKept> entries_;
};
static_assert(sizeof(BeginTimes) <= 4096);

}  // namespace weir::core
