// SPDX-License-Identifier: Apache-2.0
/// The buffers of an operation that the ranks of an island read and write where they are: in allocations that
/// all can map (allocations.h), or by rendezvous, through the kernel (transports/memory/memory_owner.h).
///
/// Each rank posts its buffers in the first stage of an operation, and learns those of all ranks after it.
/// Not thread-safe. Makes system calls only to map an allocation at its first use, and to read by rendezvous.
/// Tests: tests/exec/shm_collectives_test.cc
#pragma once

#include <vector>

#include "src/base/status.h"
#include "src/exec/allocations.h"
#include "src/exec/exchange_area.h"

namespace weir::exec {

class PostedBuffers {
 public:
  /// The own buffers of an operation.
  struct Own {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    size_t input_bytes = 0;
    size_t output_bytes = 0;  ///< 0: the output is not posted
    bool may_map = false;     ///< peers may use mapped allocations
    bool rendezvous = false;  ///< peers may read the input by rendezvous, if it is in no allocation
  };

  /// `areas` are indexed by rank. `allocations` outlives the object.
  PostedBuffers(Rank self, const std::vector<ExchangeArea>& areas, Allocations& allocations);

  /// Looks the own buffers up, unless they are those of the last operation.
  void look_up(const Own& own);
  /// The next operation differs in more than its buffers.
  void forget() { looked_up_input_ = nullptr; }
  /// Whether the own input need not be copied for the others.
  bool has_input() const { return own_.input.slot >= 0 || own_.address != 0; }
  /// Fills the own line of the first stage.
  void post(StageEntry& line) const { line.buffers = own_; }
  /// Reads the lines of all ranks of the first stage, numbered `stage`.
  Status learn(uint64_t stage);

  /// Whether some rank, or every rank, has posted its input.
  bool any() const { return any_; }
  bool all() const { return all_; }
  /// Whether every rank has posted an output in an allocation.
  bool all_outputs() const { return all_outputs_; }
  /// Addresses in this process, of ranks other than this one; null: not mapped.
  const std::byte* input(Rank rank) const { return of_[static_cast<size_t>(rank)].input; }
  std::byte* output(Rank rank) const { return of_[static_cast<size_t>(rank)].output; }
  /// Whether `rank`, perhaps this one, has posted its input for rendezvous; the same for others, whose inputs
  /// this one has to read; and whether any has.
  bool is_rendezvous(Rank rank) const { return of_[static_cast<size_t>(rank)].posted.address != 0; }
  bool is_read(Rank rank) const { return rank != self_ && is_rendezvous(rank); }
  bool any_rendezvous() const { return any_rendezvous_; }
  /// Copies bytes of such an input. False if they cannot be read.
  bool read(Rank rank, size_t offset, std::byte* to, size_t bytes);
  /// Whether some could not since look_up().
  bool unread() const { return unread_; }

 private:
  struct Known {
    BufferPositions posted;
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
  };
  Status map(Rank rank, const BufferPositions& posted);

  const Rank self_;
  const std::vector<ExchangeArea> areas_;
  Allocations& allocations_;
  BufferPositions own_;
  const std::byte* looked_up_input_ = nullptr;  ///< buffer described by own_.input; null: none yet
  const std::byte* looked_up_output_ = nullptr;
  uint64_t version_ = 0;  ///< version of the allocations then
  std::vector<Known> of_;
  bool any_ = false;
  bool all_ = false;
  bool all_outputs_ = false;
  bool any_rendezvous_ = false;
  bool unread_ = false;
};

}  // namespace weir::exec
