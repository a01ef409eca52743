// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/staging_steps.h"

#include <algorithm>

#include "src/base/chunks.h"
#include "src/core/staged/segmentation.h"

namespace weir::core {
namespace {

/// Alignment of the buffers in one slot; bytes.
constexpr size_t kBufferAlignment = 64;

size_t aligned(size_t bytes) { return round_up(bytes, kBufferAlignment); }

/// Copies `bytes` of each block; the blocks lie `to_block` and `from_block` bytes apart.
void copy_blocks(std::vector<StagingStep::Copy>& copies, std::byte* to, size_t to_block,
                 const std::byte* from, size_t from_block, size_t bytes, size_t blocks) {
  if (to_block == bytes && from_block == bytes) return copies.push_back({to, from, bytes * blocks});
  for (size_t block = 0; block < blocks; ++block)
    copies.push_back({to + block * to_block, from + block * from_block, bytes});
}

}  // namespace

/// Makes the steps of one collective, piece by piece.
class StagingSteps::Pieces {
 public:
  Pieces(const CollectiveOp& operation, const Segmentation& segmentation, Rank rank, Away away)
      : operation_(operation),
        segmentation_(segmentation),
        rank_(static_cast<size_t>(rank)),
        element_(size_of(operation.type)) {
    const auto scattered = [&](size_t blocks) { return blocks > 1 && segmentation.pieces > 1; };
    staged_.input = segmentation.input_blocks > 0 && (away.input || scattered(segmentation.input_blocks));
    staged_.output = segmentation.output_blocks > 0 && (away.output || scattered(segmentation.output_blocks));
    staged_.factor = away.factor;
  }

  size_t count() const { return segmentation_.pieces; }
  /// Bytes of a slot; the factor lies behind the buffers.
  size_t bytes() const { return buffer_bytes() + (staged_.factor ? sizeof(device::Scalar) : 0); }

  StagingStep step(size_t piece, std::byte* slot) const {
    const size_t begin = piece * segmentation_.piece_elements;
    const size_t now = std::min(segmentation_.piece_elements, operation_.count - begin) * element_;
    StagingStep step;
    step.begins = piece == 0;
    auto& own = std::get<CollectiveOp>(step.operations.emplace_back(operation_));
    own.count = now / element_;
    const auto* const input = static_cast<const std::byte*>(operation_.input);
    auto* const output = static_cast<std::byte*>(operation_.output);
    const size_t whole = operation_.count * element_;
    if (staged_.input) {
      std::byte* const at = slot + input_at(now);
      copy_blocks(step.in, at, now, input + begin * element_, whole, now, segmentation_.input_blocks);
      own.input = at;
    } else {
      own.input = segmentation_.input_blocks == 0 ? nullptr : input + begin * element_;
    }
    if (staged_.output) {
      std::byte* const at = slot + output_at(now);
      copy_blocks(step.out, output + begin * element_, whole, at, now, now, segmentation_.output_blocks);
      own.output = at;
    } else {
      own.output = segmentation_.output_blocks == 0 ? nullptr : output + begin * element_;
    }
    if (staged_.factor) {
      std::byte* const at = slot + buffer_bytes();
      step.in.push_back({at, operation_.reduction.factor_at, element_});
      own.reduction.factor_at = at;
    }
    return step;
  }

 private:
  size_t buffer_bytes() const {
    const size_t block = segmentation_.piece_elements * element_;
    const size_t input = staged_.input ? segmentation_.input_blocks * block : 0;
    const size_t output = staged_.output ? segmentation_.output_blocks * block : 0;
    return aligned(operation_.kind == Collective::all_to_all ? aligned(input) + output
                                                             : std::max(input, output));
  }
  /// If both buffers are staged, the collective runs in place: the input is a block of the output, or vice
  /// versa.
  size_t input_at(size_t block) const {
    return segmentation_.output_blocks > segmentation_.input_blocks && staged_.output ? rank_ * block : 0;
  }
  size_t output_at(size_t block) const {
    if (!staged_.input) return 0;
    if (operation_.kind == Collective::all_to_all) return aligned(segmentation_.input_blocks * block);
    return segmentation_.input_blocks > segmentation_.output_blocks ? rank_ * block : 0;
  }

  const CollectiveOp& operation_;
  const Segmentation segmentation_;
  const size_t rank_;
  const size_t element_;
  Away staged_;  ///< staged buffers, including those that the host can access, but that are not contiguous
};

StagingSteps::Away StagingSteps::away(const Operation& operation) const {
  if (bytes_of(operation) == 0) return {};
  const auto* const collective = std::get_if<CollectiveOp>(&operation);
  if (collective == nullptr) return {is_away_(input_of(operation)), is_away_(output_of(operation))};
  const Segmentation segmentation = segmentation_of(*collective, rank_, ranks_);
  return {segmentation.input_blocks > 0 && is_away_(collective->input),
          segmentation.output_blocks > 0 && is_away_(collective->output),
          is_away_(collective->reduction.factor_at)};
}

StagingSteps::Capacity StagingSteps::capacity_for(std::span<const Operation> operations) const {
  Capacity capacity;
  for (const Operation& operation : operations) {
    const Away own = away(operation);
    if (const auto* const collective = std::get_if<CollectiveOp>(&operation)) {
      const Pieces pieces(*collective, segmentation_of(*collective, rank_, ranks_), rank_, own);
      capacity.slot = std::max(capacity.slot, pieces.bytes());
    } else if (own.input || own.output) {
      capacity.messages += aligned(bytes_of(operation));
    }
  }
  return capacity;
}

std::vector<StagingStep> StagingSteps::lay_out(std::span<const Operation> operations,
                                               const Staging::Slots& slots, std::byte* messages) const {
  std::vector<StagingStep> steps;
  bool pairs_done = false;
  for (const Operation& operation : operations) {
    if (const auto* const collective = std::get_if<CollectiveOp>(&operation)) {
      const Pieces pieces(*collective, segmentation_of(*collective, rank_, ranks_), rank_, away(operation));
      for (size_t piece = 0; piece < pieces.count(); ++piece)
        steps.push_back(pieces.step(piece, slots.memory[steps.size() % Staging::kSlots]));
    } else if (!pairs_done) {
      pairs_done = true;
      steps.push_back(pairs(operations, messages));
    }
  }
  return steps;
}

/// Makes the step of all sends and receives of the call. Messages are not divided: their parts would wait for
/// each other in the order of this rank's stream, which may differ from the peer's order.
StagingStep StagingSteps::pairs(std::span<const Operation> operations, std::byte* messages) const {
  StagingStep step;
  for (const Operation& operation : operations) {
    if (!is_point_to_point(operation)) continue;
    Operation& own = step.operations.emplace_back(operation);
    const size_t bytes = bytes_of(operation);
    const Away there = away(operation);
    if (!there.input && !there.output) continue;
    if (auto* const send = std::get_if<SendOp>(&own)) {
      step.in.push_back({messages, send->input, bytes});
      send->input = messages;
    } else if (auto* const receive = std::get_if<RecvOp>(&own)) {
      step.out.push_back({receive->output, messages, bytes});
      receive->output = messages;
    }
    messages += aligned(bytes);
  }
  return step;
}

}  // namespace weir::core
