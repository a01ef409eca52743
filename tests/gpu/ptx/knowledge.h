// SPDX-License-Identifier: Apache-2.0
/// What a thread knows to have happened: a vector clock with one number per block, the barriers of it that
/// are past, and one per thread that released something since. Threads of a block know the same after a
/// barrier, so that a clock has as many numbers as there are blocks, not threads.
///
/// Not thread-safe.
/// Tests: tests/gpu/ptx/machine_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir::ptx {

/// When a thread did something.
struct Moment {
  uint32_t thread = 0;   ///< 0: never; 1 + number of the block * kMostThreads + number in the block
  uint32_t barrier = 0;  ///< barriers of its block before
  uint32_t release = 0;  ///< releases of the thread before

  static constexpr uint32_t kMostThreads = 1024;
  uint32_t block() const { return (thread - 1) / kMostThreads; }
};

class Knowledge {
 public:
  bool has(const Moment& moment) const {
    const uint32_t block = moment.block();
    if (block < barriers_.size() && barriers_[block] > moment.barrier) return true;
    for (const auto& [thread, releases] : releases_)
      if (thread == moment.thread) return releases > moment.release;
    return false;
  }
  /// Barrier number `past` of a block, counted from 1, is past.
  void learn_barrier(uint32_t block, uint32_t past) {
    if (barriers_.size() <= block) barriers_.resize(block + 1);
    barriers_[block] = std::max(barriers_[block], past);
  }
  /// A thread has released so many times.
  void learn_release(uint32_t thread, uint32_t releases) {
    for (auto& [known, count] : releases_)
      if (known == thread) return void(count = std::max(count, releases));
    releases_.emplace_back(thread, releases);
  }
  void join(const Knowledge& other) {
    for (uint32_t block = 0; block < other.barriers_.size(); ++block)
      learn_barrier(block, other.barriers_[block]);
    for (const auto& [thread, releases] : other.releases_) learn_release(thread, releases);
  }

 private:
  std::vector<uint32_t> barriers_;
  std::vector<std::pair<uint32_t, uint32_t>> releases_;
};

}  // namespace weir::ptx
