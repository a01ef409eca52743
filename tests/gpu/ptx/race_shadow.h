// SPDX-License-Identifier: Apache-2.0
/// Finds accesses to a byte that nothing orders: of two threads, at least one writes, and not both are
/// relaxed or stronger. It remembers of each byte who wrote it last and who read it last.
///
/// Not thread-safe.
/// Tests: tests/gpu/ptx/machine_test.cc
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "tests/gpu/ptx/knowledge.h"

namespace weir::ptx {

class RaceShadow {
 public:
  struct Access {
    Moment moment;
    bool writes = false;
    bool relaxed = false;  ///< relaxed or stronger
  };

  /// The earlier access with which this one is in a race; `thread` is 0 where there is none.
  Access note(uint64_t address, uint32_t bytes, const Access& access, const Knowledge& known) {
    Access race;
    for (uint64_t at = address; at < address + bytes; ++at) {
      Byte& byte = page(at)[at % kPage];
      if (conflicts(byte.write, access, known)) race = byte.write;
      if (access.writes && conflicts(byte.read, access, known)) race = byte.read;
      (access.writes ? byte.write : byte.read) = access;
    }
    return race;
  }
  void clear() {
    pages_.clear();
    last_ = nullptr;
  }

 private:
  static constexpr uint64_t kPage = 256;
  struct Byte {
    Access write, read;
  };
  using Page = std::array<Byte, kPage>;

  static bool conflicts(const Access& before, const Access& now, const Knowledge& known) {
    return before.moment.thread != 0 && before.moment.thread != now.moment.thread &&
           !(before.relaxed && now.relaxed) && !known.has(before.moment);
  }
  Page& page(uint64_t address) {
    const uint64_t number = address / kPage;
    if (last_ == nullptr || number != last_number_) {
      auto& found = pages_[number];
      if (found == nullptr) found = std::make_unique<Page>();
      last_ = found.get();
      last_number_ = number;
    }
    return *last_;
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  Page* last_ = nullptr;
  uint64_t last_number_ = 0;
};

}  // namespace weir::ptx
