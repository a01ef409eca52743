// SPDX-License-Identifier: Apache-2.0
/// Runs the compiled weir_transfer on its machine against the one that is built for the host.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "src/exec/gpu/move_launch.h"
#include "tests/gpu/ptx/library.h"

namespace weir::exec::gpu {

/// One move, and the grid that does it.
struct MoveCase {
  DataType type;
  RedOp op;
  uint32_t count;  ///< elements
  int sources;
  int destinations;
  uint32_t blocks;
  uint32_t threads;
  size_t shift = 0;     ///< bytes by which addresses are not aligned to 16
  uint8_t scaled = 0;   ///< sources that are multiplied by the factor, which is in memory
  int64_t divisor = 1;  ///< of integers
};

/// The words of all sources, and of all destinations.
class MoveBuffers {
 public:
  MoveBuffers(const MoveCase& one, uint64_t seed) : one_(one), bytes_(one.count * size_of(one.type)) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < one.sources + one.destinations; ++i) {
      words_.emplace_back((bytes_ + one.shift) / sizeof(Line) + 2);
      for (Line& line : words_.back())
        for (uint64_t& word : line.words) word = random() & 0x3fff'3fff'3fff'3fffu;  // numbers in all types
    }
    factor_ = random() & 0x3fff'3fff'3fff'3fffu;
  }

  MoveLaunch launch() {
    MoveLaunch launch;
    LaneTransfer& transfer = launch.transfer = {};
    for (int s = 0; s < one_.sources; ++s) transfer.sources[s] = at(s);
    for (int d = 0; d < one_.destinations; ++d) transfer.destinations[d] = at(one_.sources + d);
    transfer.count = one_.count;
    transfer.source_count = static_cast<uint8_t>(one_.sources);
    transfer.destination_count = static_cast<uint8_t>(one_.destinations);
    transfer.scaled = one_.scaled;
    transfer.divides = one_.divisor > 1;
    transfer.wide = one_.shift % 16 == 0;
    launch.blocks = one_.blocks;
    launch.element = static_cast<uint32_t>(size_of(one_.type));
    launch.type = one_.type;
    launch.op = one_.op;
    launch.factor_at = reinterpret_cast<const std::byte*>(&factor_);
    launch.divisor = one_.divisor;
    return launch;
  }
  bool operator==(const MoveBuffers& other) const { return words_ == other.words_; }

 private:
  struct alignas(16) Line {
    uint64_t words[2];
    bool operator==(const Line&) const = default;
  };
  std::byte* at(int buffer) {
    return reinterpret_cast<std::byte*>(words_[static_cast<size_t>(buffer)].data()) + one_.shift;
  }

  const MoveCase one_;
  const size_t bytes_;
  std::vector<std::vector<Line>> words_;
  uint64_t factor_ = 0;
};

/// Runs the kernel of `compiled` and that of `host`, the source compiled for the host. Returns what is wrong
/// with the result, or nothing.
inline std::string run_move_case(const ptx::KernelLibrary& compiled, const ptx::KernelLibrary& host,
                                 const MoveCase& one, uint64_t seed, bool ends = false) {
  compiled.set({one.threads, seed % 2 == 0 ? 2u : 8u, seed, one.blocks, ends});
  MoveBuffers want(one, seed), got(one, seed);
  const MoveLaunch wanted = want.launch(), launch = got.launch();
  for (uint32_t block = 0; block < one.blocks; ++block)
    host.find<HostMoveKernel>("weir_transfer")(&wanted, block, one.blocks);
  std::vector<std::thread> running;
  for (uint32_t block = 0; block < one.blocks; ++block)
    running.emplace_back(compiled.find<HostMoveKernel>("weir_transfer"), &launch, block, one.blocks);
  for (std::thread& block : running) block.join();
  if (got == want) return {};
  return fmt::format("{} of {} elements of {}: another result", one.sources, one.count, name(one.type));
}

}  // namespace weir::exec::gpu
