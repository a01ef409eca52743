// SPDX-License-Identifier: Apache-2.0
/// What the host and the GPUs of all ranks of a communicator share besides segments: a page of flags per
/// rank, in host memory that every process maps and has its driver pin. Streams wait for flags and set them;
/// the host can set them too, whatever the streams wait for, which is how waits end when a communicator is
/// aborted.
///
/// A flag is a word of one of four kinds of value: nothing (0), a slot that is free, a slot that is full,
/// both for one operation in kStamps, and released: whoever waits for anything goes on.
///
/// Calls are entered by the host, by number, so that ranks see that they called different operations.
///
/// Threads: share(), attach() before all else; the rest from any thread at any time.
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
  static constexpr uint32_t kFlags = 4096;  ///< of a page
  static constexpr uint32_t kReleased = 0xffffffff;

  static constexpr uint32_t stamp_of(uint64_t tag) {
    return static_cast<uint32_t>((tag ^ tag >> 32) * 0x9e3779b97f4a7c15u >> 33) % kStamps;
  }
  static constexpr uint32_t free_value(uint32_t stamp) { return 1u << stamp; }
  static constexpr uint32_t full_value(uint32_t stamp) { return 1u << (kStamps + stamp); }

  /// The page of this rank. `gpu` outlives the object. Errors: as device::SharedMemory and device::Gpu.
  static Result<std::unique_ptr<FlagPages>> create(device::Gpu& gpu, Rank rank, int ranks);
  /// REQUIRES: no stream uses the flags. Drivers may wait for the GPU.
  ~FlagPages();
  FlagPages(const FlagPages&) = delete;
  FlagPages& operator=(const FlagPages&) = delete;

  /// What the others attach with: valid while this object lives.
  device::ShareHandle handle() const { return memory_[static_cast<size_t>(rank_)]->handle(); }
  /// Uses the page of another rank of this process as that one has it pinned: streams may use it while the
  /// other lives.
  void share(const FlagPages& other) {
    const auto at = static_cast<size_t>(other.rank_);
    pages_[at] = other.pages_[at];
    memory_[at] = other.memory_[at];
  }
  /// Maps and pins the pages of all others. `handles` are by rank. Errors: likewise.
  Status attach(std::span<const device::ShareHandle> handles);

  Rank rank() const { return rank_; }
  int ranks() const { return static_cast<int>(pages_.size()); }
  /// REQUIRES: index < kFlags.
  device::GpuFlag flag(Rank rank, uint32_t index) const {
    const Page& page = pages_[static_cast<size_t>(rank)];
    return {&page.shared->flags[index], page.device + offsetof(Shared, flags) + index * sizeof(uint32_t)};
  }

  /// Of this rank alone, for the number of the last call that is done.
  device::GpuFlag done() const {
    const Page& page = pages_[static_cast<size_t>(rank_)];
    return {&page.shared->done, page.device + offsetof(Shared, done)};
  }

  /// This rank has queued, or is about to, the operation with this tag.
  void enter(uint64_t tag);
  /// A rank that has entered another operation under a number that this rank entered, with its tag; -1: none.
  Rank foreign(uint64_t& tag) const;

  /// This rank gives up: its results, and those that are made from them, are worth nothing.
  void leave();
  /// A rank that has given up; -1: none, or only this one.
  Rank left() const;
  bool all_left() const;
  /// Sets all flags of all ranks to released. Streams set them to other values as they go on, so this has to
  /// be done again until all that was queued has ended.
  void release();

 private:
  static constexpr uint32_t kCalls = 256;  ///< that are remembered
  struct Shared {
    std::atomic<uint32_t> left;
    alignas(64) std::atomic<uint32_t> done;
    alignas(64) std::atomic<uint64_t> calls[kCalls];  ///< tags, by number
    alignas(64) std::atomic<uint32_t> flags[kFlags];
  };
  struct Page {
    Shared* shared = nullptr;
    uint64_t device = 0;  ///< as the GPU names it
  };

  FlagPages(device::Gpu& gpu, Rank rank, int ranks)
      : gpu_(gpu), rank_(rank), memory_(static_cast<size_t>(ranks)), pages_(static_cast<size_t>(ranks)) {}
  Status adopt(Rank rank, device::SharedMemory memory);

  device::Gpu& gpu_;
  const Rank rank_;
  // By rank.
  std::vector<std::shared_ptr<const device::SharedMemory>> memory_;
  std::vector<Page> pages_;
  std::vector<void*> pinned_;  ///< by this object
};

}  // namespace weir::exec::gpu
