// SPDX-License-Identifier: Apache-2.0
/// Pages of flags, one per rank, that the hosts and GPUs of all ranks of a communicator share. They lie in
/// host memory that every process maps and pins. Streams wait for flags and set them. The host can set them,
/// too, whatever value a stream waits for; this ends waits when a communicator is aborted.
///
/// A flag has one of four kinds of values: none (0); "slot free" and "slot full", both with one of kStamps
/// stamps, a hash of the operation's tag; and "released", which ends every wait.
///
/// The host enters each call under its number, so that ranks can detect that they called different
/// operations.
///
/// Threads: call share() and attach() before all other functions; those may be called from any thread at any
/// time.
/// Tests: tests/exec/stream_executor_test.cc
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/types.h"
#include "src/device/gpu.h"
#include "src/device/shared_memory.h"

namespace weir::exec::gpu {

class FlagPages {
 public:
  static constexpr uint32_t kStamps = 15;
  static constexpr uint32_t kFlags = 4096;  ///< number of flags of a page
  static constexpr uint32_t kReleased = 0xffffffff;

  static constexpr uint32_t stamp_of(uint64_t tag) {
    return static_cast<uint32_t>((tag ^ tag >> 32) * 0x9e3779b97f4a7c15u >> 33) % kStamps;
  }
  static constexpr uint32_t free_value(uint32_t stamp) { return 1u << stamp; }
  static constexpr uint32_t full_value(uint32_t stamp) { return 1u << (kStamps + stamp); }

  /// Makes the page of this rank. `gpu` must outlive the object. Errors: as device::SharedMemory and
  /// device::Gpu.
  static Result<std::unique_ptr<FlagPages>> create(device::Gpu& gpu, Rank rank, int ranks);
  /// REQUIRES: no stream uses the flags. May wait for the GPU, depending on the driver.
  ~FlagPages();
  FlagPages(const FlagPages&) = delete;
  FlagPages& operator=(const FlagPages&) = delete;

  /// The handle with which other ranks attach; valid while this object lives.
  device::ShareHandle handle() const { return memory_[static_cast<size_t>(rank_)]->handle(); }
  /// Uses the page of another rank of this process, which that rank has pinned already; streams may use it
  /// while `other` lives.
  void share(const FlagPages& other) {
    const auto at = static_cast<size_t>(other.rank_);
    pages_[at] = other.pages_[at];
    memory_[at] = other.memory_[at];
  }
  /// Maps and pins the pages of all others. `handles` is indexed by rank. Errors: those of create().
  Status attach(std::span<const device::ShareHandle> handles);

  Rank rank() const { return rank_; }
  int ranks() const { return static_cast<int>(pages_.size()); }
  /// A flag on the page of `rank`. REQUIRES: index < kFlags.
  device::GpuFlag flag(Rank rank, uint32_t index) const {
    const Page& page = pages_[static_cast<size_t>(rank)];
    return {&page.shared->flags[index], page.device + offsetof(Shared, flags) + index * sizeof(uint32_t)};
  }

  /// A flag that only this rank uses, for the number of its last completed call.
  device::GpuFlag done() const {
    const Page& page = pages_[static_cast<size_t>(rank_)];
    return {&page.shared->done, page.device + offsetof(Shared, done)};
  }

  /// Records that this rank has queued, or is about to queue, the operation with this tag.
  void enter(uint64_t tag);
  /// A rank that has entered a different operation under a number that this rank has entered, and the tag of
  /// that operation; -1: none.
  Rank foreign(uint64_t& tag) const;

  /// Records that this rank has failed: its results, and results computed from them, are invalid.
  void leave();
  /// Another rank that has failed; -1: none.
  Rank left() const;
  bool all_left() const;
  /// Sets all flags of all ranks to "released". Streams that continue set them to other values, so this must
  /// be repeated until all queued operations have ended.
  void release();

 private:
  static constexpr uint32_t kCalls = 256;  ///< number of calls that a page remembers
  struct Shared {
    std::atomic<uint32_t> left;
    alignas(64) std::atomic<uint32_t> done;
    alignas(64) std::atomic<uint64_t> calls[kCalls];  ///< tags of calls, by number
    alignas(64) std::atomic<uint32_t> flags[kFlags];
  };
  struct Page {
    Shared* shared = nullptr;
    uint64_t device = 0;  ///< address on the GPU
  };

  FlagPages(device::Gpu& gpu, Rank rank, int ranks)
      : gpu_(gpu), rank_(rank), memory_(static_cast<size_t>(ranks)), pages_(static_cast<size_t>(ranks)) {}
  Status adopt(Rank rank, device::SharedMemory memory);

  device::Gpu& gpu_;
  const Rank rank_;
  // Indexed by rank.
  std::vector<std::shared_ptr<const device::SharedMemory>> memory_;
  std::vector<Page> pages_;
  std::vector<void*> pinned_;  ///< addresses that this object has pinned
};

}  // namespace weir::exec::gpu
