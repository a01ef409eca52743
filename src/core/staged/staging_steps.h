// SPDX-License-Identifier: Apache-2.0
/// Divides a call on memory that the host cannot access into steps: one for each piece of a collective, one
/// for all sends and receives. A step copies its inputs to memory that both the GPU and the host can access,
/// is carried out there, and copies its outputs back.
/// Tests: tests/core/staged_test.cc
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
  std::vector<Copy> in;               ///< copies before the operations
  std::vector<Operation> operations;  ///< operations on memory that the host can access
  std::vector<Copy> out;              ///< copies after the operations
  bool begins = true;                 ///< true for a first piece, which may read results of earlier steps
};

/// Makes the steps. Not thread-safe.
class StagingSteps {
 public:
  /// `is_away`: whether the host cannot access memory at an address; false for null.
  StagingSteps(Rank rank, int ranks, std::function<bool(const void*)> is_away)
      : rank_(rank), ranks_(ranks), is_away_(std::move(is_away)) {}

  /// Bytes that the call needs in each slot, and for all its messages.
  struct Capacity {
    size_t slot = 0;
    size_t messages = 0;
  };
  Capacity capacity_for(std::span<const Operation> operations) const;
  /// The steps of a call; step t uses slot t % kSlots. REQUIRES: slots and messages of the size of
  /// capacity_for().
  std::vector<StagingStep> lay_out(std::span<const Operation> operations, const Staging::Slots& slots,
                                   std::byte* messages) const;

 private:
  /// Which buffers of an operation the host cannot access.
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
