// SPDX-License-Identifier: Apache-2.0
/// How the programs of a plan are queued on streams: in which order, and where their messages lie in
/// segments. Each rank computes this by itself, with the same result on all ranks.
///
/// Order. A waiting stream may block all operations that the same process submits later, because streams
/// share hardware queues that are served in the order of submission. A driver also blocks the thread that
/// submits to a stream on which too much is pending. So a rank submits its steps in rounds, those of one
/// simulated run of all programs together: a step waits only for steps of earlier rounds, of any rank. Every
/// message of a pass is received in that pass, so passes can be submitted one after the other. A thread that
/// submits each round for all its ranks before the next round cannot block itself: what is pending waits only
/// for what was submitted before, even if a stream takes a single pending operation.
///
/// Layout. A segment has two slots for each message channel that ends there, then scratch. Each plan has its
/// own layout of slots and flags: a sender writes only to slots that the receiver has marked as free in this
/// call.
/// Tests: tests/exec/stream_executor_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/exec/program.h"

namespace weir::exec::gpu {

/// Slots of a channel. With one slot, programs that send before they receive would deadlock.
inline constexpr uint32_t kQueuedSlots = 2;
/// Maximum size of a message: larger messages save few operations, and delay the receiver of the first one.
inline constexpr size_t kQueuedMessageBytes = 1 << 20;

/// One step of the order. A wait for several messages has one entry per message.
struct QueuedStep {
  uint32_t lane = 0;
  uint32_t step = 0;
};

/// One end of a channel.
struct QueuedChannel {
  Rank receiver = 0;      ///< the rank whose segment and page contain the channel
  uint32_t flag = 0;      ///< index of the first of kQueuedSlots flags
  size_t offset = 0;      ///< offset of the first slot in the receiver's segment
  uint32_t lane = 0;      ///< lane of this rank that uses the channel
  uint32_t messages = 0;  ///< number of messages in a pass
};

/// The operations that one rank queues.
struct QueuePlan {
  std::vector<std::vector<QueuedStep>> rounds;  ///< steps of a pass; on all ranks as many rounds, some empty
  std::vector<QueuedChannel> channels;          ///< channels, indexed as Program::channels
  size_t tile_bytes = 0;                        ///< capacity for a tile in bytes, a multiple of kGrainBytes
  size_t slot_bytes = 0;
  std::vector<size_t> scratch;  ///< offset of scratch in the segment, by rank
};

/// Makes the queue plan of `rank` for segments of `segment_bytes` and pages of `flags` flags. REQUIRES:
/// `programs` are those of all ranks, by rank. Errors: invalid_argument if segments or pages are too small,
/// or if the programs deadlock with kQueuedSlots slots. Pure.
Result<QueuePlan> plan_queue(std::span<const Program> programs, Rank rank, size_t segment_bytes,
                             uint32_t flags);

}  // namespace weir::exec::gpu
