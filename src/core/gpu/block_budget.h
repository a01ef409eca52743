// SPDX-License-Identifier: Apache-2.0
/// The blocks of kernels that wait for other ranks, shared out among the communicators of this process. The
/// blocks of all calls that run at the same time must fit on their GPU together: ranks may begin the calls of
/// two communicators in different orders, and a block that finds no room never begins if those that run wait
/// for it.
///
/// A communicator gets a share when it is created and keeps it until it ends, so that the shares of all that
/// exist fit. Each gets a part of what is left, so that many fit; the first ones get most.
///
/// Thread-safe.
/// Tests: tests/core/block_budget_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace weir::core {

class BlockBudget {
 public:
  /// Fewest blocks with which a rank takes part: the plans of the library have up to two lanes.
  static constexpr uint32_t kLeast = 2;
  /// Most blocks of a rank, as many as NCCL has channels.
  static constexpr uint32_t kMost = 64;

  /// What a communicator asks for on one GPU. All its ranks there ask for the same.
  struct Claim {
    uint64_t uid = 0;       ///< the communicator
    int gpu = 0;            ///< number of the GPU in this process
    uint32_t capacity = 0;  ///< blocks that the GPU runs at once
    uint32_t ranks = 1;     ///< ranks of the communicator on this GPU
    bool alone = false;     ///< all its ranks are on this GPU
    uint32_t least = 1;     ///< minimum and maximum per rank, as far as there are so many
    uint32_t most = kMost;
  };

  /// A rank's part of what its communicator has; given back at its end. The budget outlives it.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), key_(other.key_), blocks_(other.blocks_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(key_, other.key_);
      std::swap(blocks_, other.blocks_);
      return *this;
    }
    ~Share() { give_back(); }

    /// Blocks of this rank; 0: there were none left.
    uint32_t blocks() const { return blocks_; }
    /// Gives back what is above `blocks` per rank. All ranks of a communicator agree on the number.
    void keep(uint32_t blocks);
    void give_back();

   private:
    friend class BlockBudget;
    using Key = std::pair<int, uint64_t>;

    BlockBudget* budget_ = nullptr;
    Key key_;
    uint32_t blocks_ = 0;
  };

  /// The share of one rank. The first rank of a communicator on a GPU takes for all of them: up to a quarter
  /// of the blocks that are left, or half of them for ranks that are `alone` and share one memory.
  Share take(const Claim& claim);

 private:
  /// What a communicator has on a GPU.
  struct Taken {
    uint32_t blocks = 0;  ///< of each rank
    uint32_t ranks = 0;
    uint32_t holders = 0;  ///< ranks of this process that have not given back their share
  };

  uint32_t left(const Claim& claim) const;

  std::mutex mutex_;
  std::map<Share::Key, Taken> taken_;
};

}  // namespace weir::core
