// SPDX-License-Identifier: Apache-2.0
/// What a call does on memory that the host does not reach: a step for each piece of a collective, one for
/// all sends and receives. Its inputs are copied to memory that both the GPU and the host reach, it is
/// carried out there, its outputs are copied back.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "src/core/call/operation.h"
#include "src/core/staged/staging.h"

namespace weir::core {

struct StagingStep {
  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
  };
  std::vector<Copy> in;               ///< before
  std::vector<Operation> operations;  ///< on memory that the host reaches
  std::vector<Copy> out;              ///< after
  bool begins = true;                 ///< not a further piece: may read what steps before it have written
};

/// Lays steps out. Not thread-safe.
class StagingSteps {
 public:
  /// `is_away`: the host does not reach memory at this address; null is not.
  StagingSteps(Rank rank, int ranks, std::function<bool(const void*)> is_away)
      : rank_(rank), ranks_(ranks), is_away_(std::move(is_away)) {}

  /// Bytes that the call needs of each slot, and for all its messages.
  struct Capacity {
    size_t slot = 0;
    size_t messages = 0;
  };
  Capacity room_for(std::span<const Operation> operations) const;
  /// StagingStep t goes through slot t % kSlots. REQUIRES: that room.
  std::vector<StagingStep> lay_out(std::span<const Operation> operations, const Staging::Slots& slots,
                                   std::byte* messages) const;

 private:
  /// Which buffers of an operation the host does not reach.
  struct Away {
    bool input = false;
    bool output = false;
    bool factor = false;
  };
  class Pieces;

  Away away(const Operation& operation) const;
  StagingStep pairs(std::span<const Operation> operations, std::byte* messages) const;

  const Rank rank_;
  const int ranks_;
  const std::function<bool(const void*)> is_away_;
};

}  // namespace weir::core
