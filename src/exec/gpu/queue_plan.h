// SPDX-License-Identifier: Apache-2.0
/// How the programs of a plan are queued on streams: in which order, and where their messages lie in
/// segments. The same on all ranks, who all work it out by themselves.
///
/// Order. A stream that waits may hold up all that the same process submits later, since streams share
/// hardware queues that are served in the order of submission. So a rank submits its steps in an order in
/// which they could be carried out one after the other: the order in which one run of all programs together
/// comes to them. Every message of a pass is taken in that pass, so passes follow each other in that order,
/// and whatever a step waits for was submitted before what the same process submits after the step.
///
/// Places. A segment has two slots for each message channel that ends there, then scratch. Slots and flags
/// are laid out anew for each plan: a sender writes only where the receiver has said, in this call, that a
/// slot is free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/exec/program.h"
#include "weir/status.h"

namespace weir::exec::gpu {

/// Slots of a channel. With one, programs that send before they receive would not end.
inline constexpr uint32_t kQueuedSlots = 2;
/// A message is not longer: larger ones save few operations, and hold up who waits for the first.
inline constexpr size_t kQueuedMessageBytes = 1 << 20;

/// One step of the order; of a wait for several messages each one by itself.
struct QueuedStep {
  uint32_t lane = 0;
  uint32_t step = 0;
};

/// One end of a channel.
struct QueuedChannel {
  Rank receiver = 0;      ///< whose segment and page it is
  uint32_t flag = 0;      ///< the first of kQueuedSlots
  size_t offset = 0;      ///< in the receiver's segment, of the first slot
  uint32_t lane = 0;      ///< of this rank, that uses it
  uint32_t messages = 0;  ///< in a pass
};

/// What one rank queues.
struct QueuePlan {
  std::vector<QueuedStep> order;        ///< of a pass
  std::vector<QueuedChannel> channels;  ///< as Program::channels
  size_t tile_bytes = 0;                ///< there is room for, a multiple of kGrainBytes
  size_t slot_bytes = 0;
  std::vector<size_t> scratch;  ///< by rank: where it begins in the segment
};

/// For `rank`, of segments of `segment_bytes` and pages of `flags` flags. REQUIRES: programs of all ranks, by
/// rank. Errors: invalid_argument if there is no room, or if the programs do not end with so many slots.
/// Pure.
Result<QueuePlan> plan_queue(std::span<const Program> programs, Rank rank, size_t segment_bytes,
                             uint32_t flags);

}  // namespace weir::exec::gpu
