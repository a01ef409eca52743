#include "src/core/staged_collective.h"

#include <algorithm>

namespace weir::core {
namespace {

/// Between the two buffers of an all-to-all, which is never in place.
constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

OutOfReach staged_of(const Cut& cut, OutOfReach away) {
  const auto scattered = [&](size_t blocks) { return blocks > 1 && cut.pieces > 1; };
  return {cut.input_blocks > 0 && (away.input || scattered(cut.input_blocks)),
          cut.output_blocks > 0 && (away.output || scattered(cut.output_blocks))};
}

/// Copies `count` elements of each block; the blocks lie `from_count` and `to_count` elements apart.
Status copy_blocks(CopyQueue& queue, std::byte* to, size_t to_block, const std::byte* from, size_t from_block,
                   size_t bytes, size_t blocks) {
  if (to_block == bytes && from_block == bytes) return queue.copy(to, from, bytes * blocks);
  for (size_t block = 0; block < blocks; ++block)
    WEIR_TRY(queue.copy(to + block * to_block, from + block * from_block, bytes));
  return {};
}

}  // namespace

StagedCollective::StagedCollective(const Operation& operation, const Cut& cut, Rank rank, OutOfReach away,
                                   const Staging::Slots& slots, CopyQueue& in, CopyQueue& out)
    : operation_(operation),
      cut_(cut),
      rank_(static_cast<size_t>(rank)),
      element_(size_of(operation.type)),
      staged_(staged_of(cut, away)),
      slots_(slots),
      in_(in),
      out_(out) {}

size_t StagedCollective::bytes_needed(const Operation& operation, const Cut& cut, OutOfReach away) {
  const OutOfReach staged = staged_of(cut, away);
  const size_t block = cut.step * size_of(operation.type);
  const size_t input = staged.input ? cut.input_blocks * block : 0;
  const size_t output = staged.output ? cut.output_blocks * block : 0;
  return operation.kind == Collective::all_to_all ? aligned(input) + output : std::max(input, output);
}

StagedCollective::Span StagedCollective::span_of(size_t piece) const {
  const size_t begin = piece * cut_.step;
  return {begin, std::min(cut_.step, operation_.count - begin)};
}

/// Where the collective is called in place if both buffers are staged: the input is a block of the output, or
/// the other way round.
std::byte* StagedCollective::input_at(size_t piece) const {
  std::byte* const slot = slots_.memory[piece % Staging::kSlots];
  const bool inside = cut_.output_blocks > cut_.input_blocks && staged_.output;
  return inside ? slot + rank_ * span_of(piece).count * element_ : slot;
}

std::byte* StagedCollective::output_at(size_t piece) const {
  std::byte* const slot = slots_.memory[piece % Staging::kSlots];
  const size_t block = span_of(piece).count * element_;
  if (!staged_.input) return slot;
  if (operation_.kind == Collective::all_to_all) return slot + aligned(cut_.input_blocks * block);
  return cut_.input_blocks > cut_.output_blocks ? slot + rank_ * block : slot;
}

Status StagedCollective::fill(size_t piece) {
  const size_t slot = piece % Staging::kSlots;
  WEIR_TRY(out_.wait(drained_[slot]));
  if (!staged_.input) return {};
  const Span span = span_of(piece);
  const auto* const from = static_cast<const std::byte*>(operation_.input) + span.begin * element_;
  WEIR_TRY(copy_blocks(in_, input_at(piece), span.count * element_, from, operation_.count * element_,
                       span.count * element_, cut_.input_blocks));
  filled_[slot] = in_.mark();
  return {};
}

Result<Operation> StagedCollective::ready(size_t piece) {
  WEIR_TRY(in_.wait(filled_[piece % Staging::kSlots]));
  const Span span = span_of(piece);
  const size_t at = span.begin * element_;
  Operation own = operation_;
  own.count = span.count;
  own.input = staged_.input            ? input_at(piece)
              : cut_.input_blocks == 0 ? nullptr
                                       : static_cast<const std::byte*>(operation_.input) + at;
  own.output = staged_.output            ? output_at(piece)
               : cut_.output_blocks == 0 ? nullptr
                                         : static_cast<std::byte*>(operation_.output) + at;
  return own;
}

void StagedCollective::drain(size_t piece) {
  if (!staged_.output) return;
  const Span span = span_of(piece);
  auto* const to = static_cast<std::byte*>(operation_.output) + span.begin * element_;
  if (!copy_blocks(out_, to, operation_.count * element_, output_at(piece), span.count * element_,
                   span.count * element_, cut_.output_blocks)
           .ok())
    return;
  drained_[piece % Staging::kSlots] = out_.mark();
}

}  // namespace weir::core
