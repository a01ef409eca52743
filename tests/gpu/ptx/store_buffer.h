// SPDX-License-Identifier: Apache-2.0
/// Stores that other blocks do not see yet. They reach memory late and in any order, except that stores to
/// one place stay in order. A place is 16 aligned bytes, which no access crosses.
///
/// Not thread-safe.
/// Tests: tests/gpu/ptx/machine_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "tests/gpu/ptx/knowledge.h"

namespace weir::ptx {

struct Store {
  uint64_t address = 0;
  uint64_t value = 0;
  uint32_t bytes = 0;
  bool relaxed = false;               ///< relaxed or stronger: it may be a flag
  std::optional<Knowledge> releases;  ///< what a reader learns that acquires it
};

class StoreBuffer {
 public:
  bool empty() const { return stores_.empty(); }
  size_t size() const { return stores_.size(); }
  bool has(uint64_t address) const { return places_[place(address)] != 0; }

  void push(Store store) {
    ++places_[place(store.address)];
    stores_.push_back(std::move(store));
  }
  /// Lays what is buffered of some bytes over them. Returns whether it covers all of them.
  bool overlay(uint64_t address, uint32_t bytes, unsigned char* value) const {
    uint32_t covered = 0;
    if (!has(address)) return false;
    for (const Store& store : stores_) {
      for (uint32_t i = 0; i < store.bytes; ++i) {
        const uint64_t at = store.address + i - address;
        if (at >= bytes) continue;
        value[at] = static_cast<unsigned char>(store.value >> (8 * i));
        covered |= 1u << at;
      }
    }
    return covered == (1u << bytes) - 1;
  }
  /// Removes a store, number `at` or the oldest one to the same place.
  Store take(size_t at) {
    for (size_t i = 0; i < at; ++i)
      if (place(stores_[i].address) == place(stores_[at].address)) at = i;
    Store taken = std::move(stores_[at]);
    stores_.erase(stores_.begin() + static_cast<std::ptrdiff_t>(at));
    --places_[place(taken.address)];
    return taken;
  }

 private:
  static size_t place(uint64_t address) { return address / 16 % 256; }

  std::vector<Store> stores_;
  std::array<uint32_t, 256> places_{};
};

}  // namespace weir::ptx
