// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/stream_call.h"

#include <algorithm>
#include <cstring>

#include "src/device/granules.h"

namespace weir::exec::gpu {
namespace {

constexpr uint32_t kThreads = 256;
/// Bytes of work per block; a grid has no more blocks than needed, because it shares the GPU.
constexpr size_t kBlockBytes = 32 << 10;
constexpr uint32_t kMostTransferBlocks = 32;

size_t tile_of(const Work& work, const QueuePlan& plan) {
  return std::max(std::min(work.tile_bytes, plan.tile_bytes) / kGrainBytes, size_t{1}) * kGrainBytes;
}

uint64_t factor_of(const Work& work, size_t element) {
  uint64_t scalar = 0;
  std::memcpy(&scalar, work.factor.bits, sizeof(scalar));
  return device::splat(scalar, static_cast<int>(element));
}

}  // namespace

StreamCall::StreamCall(const Dependencies& dependencies)
    : dependencies_(dependencies),
      prepared_(*dependencies.prepared),
      work_(*dependencies.work),
      gpu_(*dependencies.executor->gpu),
      stamp_(FlagPages::stamp_of(work_.tag)),
      element_(size_of(work_.type)),
      division_(
          divide_work(work_.count, prepared_.program.shape.chunks, element_, tile_of(work_, prepared_.plan))),
      factor_(factor_of(work_, element_)),
      done_(prepared_.plan.channels.size()) {}

Result<bool> StreamCall::submit_part() {
  const auto& rounds = prepared_.plan.rounds;
  if (!begun_) {
    WEIR_TRY(grant_first());
    begun_ = true;
    return !rounds.empty() && division_.passes > 0;
  }
  for (const QueuedStep& at : rounds[round_]) WEIR_TRY(submit(at, pass_));
  if (++round_ == rounds.size()) {
    round_ = 0;
    ++pass_;
  }
  return pass_ < division_.passes;
}

/// Says which slots of this rank are free when the call begins.
Status StreamCall::grant_first() {
  const std::vector<QueuedChannel>& channels = prepared_.plan.channels;
  for (size_t c = 0; c < channels.size(); ++c) {
    if (prepared_.program.channels[c].outgoing) continue;
    const uint64_t messages = channels[c].messages * division_.passes;
    for (uint32_t slot = 0; slot < kQueuedSlots && slot < messages; ++slot)
      WEIR_TRY(grant(channels[c], slot));
  }
  return {};
}

Status StreamCall::grant(const QueuedChannel& channel, uint32_t slot) {
  return gpu_.set(flag_of(channel, slot), FlagPages::free_value(stamp_), stream_of(channel.lane));
}

Status StreamCall::submit(const QueuedStep& at, size_t pass) {
  const Step& step = prepared_.program.lanes[at.lane][at.step];
  const device::GpuStream stream = stream_of(at.lane);
  WEIR_TRY(await_places(step, stream));
  if (step.op == Op::move) WEIR_TRY(move(step, pass, stream));
  return give_places(step);
}

/// Makes the stream wait until the messages that the step reads have arrived and the slots that it writes are
/// free.
Status StreamCall::await_places(const Step& step, device::GpuStream stream) {
  for (int s = 0; s < step.sources; ++s) {
    const Place& from = place(step.src[s]);
    if (from.kind != Place::Kind::receive) continue;
    WEIR_TRY(gpu_.await(flag_of(channel(from), slot_of(from)), FlagPages::full_value(stamp_), stream,
                        device::GpuCondition::has_any));
  }
  for (int d = 0; d < step.destinations; ++d) {
    const Place& to = place(step.dst[d]);
    if (to.kind != Place::Kind::send) continue;
    WEIR_TRY(gpu_.await(flag_of(channel(to), slot_of(to)), FlagPages::free_value(stamp_), stream,
                        device::GpuCondition::has_any));
  }
  return {};
}

/// Publishes messages, and releases slots that this call uses again.
Status StreamCall::give_places(const Step& step) {
  for (int d = 0; d < step.destinations; ++d) {
    const Place& to = place(step.dst[d]);
    if (to.kind != Place::Kind::send) continue;
    WEIR_TRY(gpu_.set(flag_of(channel(to), slot_of(to)), FlagPages::full_value(stamp_),
                      stream_of(channel(to).lane)));
    ++done_[to.index];
  }
  for (int s = 0; s < step.sources; ++s) {
    const Place& from = place(step.src[s]);
    if (from.kind != Place::Kind::receive) continue;
    const uint32_t slot = slot_of(from);
    ++done_[from.index];
    const uint64_t messages = channel(from).messages * division_.passes;
    if (uint64_t{done_[from.index]} + kQueuedSlots <= messages) WEIR_TRY(grant(channel(from), slot));
  }
  return {};
}

Status StreamCall::move(const Step& step, size_t pass, device::GpuStream stream) {
  uint64_t offset = 0;
  for (uint32_t i = 0; i < step.chunks; ++i) {
    MoveLaunch launch;
    describe(step, i, pass, offset, launch);
    offset += (launch.transfer.count * element_ + 15) / 16 * 16;
    if (launch.transfer.count > 0) WEIR_TRY(move_chunk(launch, stream));
  }
  return {};
}

Status StreamCall::move_chunk(MoveLaunch& launch, device::GpuStream stream) {
  const LaneTransfer& transfer = launch.transfer;
  const size_t bytes = transfer.count * element_;
  if (transfer.source_count == 1 && transfer.scaled == 0 && !transfer.divides) {
    for (int d = 0; d < transfer.destination_count; ++d) {
      if (transfer.destinations[d] == transfer.sources[0]) continue;
      WEIR_TRY(gpu_.copy(transfer.destinations[d], transfer.sources[0], bytes, stream));
    }
    return {};
  }
  launch.blocks = static_cast<uint32_t>(std::clamp<size_t>(bytes / kBlockBytes, 1, kMostTransferBlocks));
  void* arguments[] = {&launch};
  return gpu_.kernels()->launch({dependencies_.executor->transfer, launch.blocks, kThreads, 0, arguments},
                                stream);
}

/// Describes chunk `i` of a move, at `offset` bytes in messages, as in the lane kernels.
void StreamCall::describe(const Step& step, uint32_t i, size_t pass, uint64_t offset,
                          MoveLaunch& launch) const {
  const Piece piece = division_.piece_of((step.part + i) % division_.chunks, pass);
  launch.element = static_cast<uint32_t>(element_);
  launch.type = work_.type;
  launch.op = work_.op;
  launch.factor = factor_;
  launch.factor_at = work_.factor_at;
  launch.divisor = work_.divisor;
  LaneTransfer& made = launch.transfer;
  made = {};
  made.count = static_cast<uint32_t>(piece.count);
  made.source_count = step.sources;
  made.destination_count = step.destinations;
  made.divides = step.completes && work_.divisor > 1;
  uintptr_t addresses = 0;
  for (int s = 0; s < step.sources; ++s) {
    const Place& from = place(step.src[s]);
    made.sources[s] = address(from, step.chunk + static_cast<uint32_t>(from.bias) + i, piece, offset);
    if (work_.scales && from.kind == Place::Kind::input) made.scaled |= static_cast<uint8_t>(1u << s);
    addresses |= reinterpret_cast<uintptr_t>(made.sources[s]);
  }
  for (int d = 0; d < step.destinations; ++d) {
    const Place& to = place(step.dst[d]);
    made.destinations[d] = address(to, step.chunk + static_cast<uint32_t>(to.bias) + i, piece, offset);
    addresses |= reinterpret_cast<uintptr_t>(made.destinations[d]);
  }
  made.wide = addresses % 16 == 0;
}

/// The address of a piece; the caller must not write to inputs.
std::byte* StreamCall::address(const Place& place, uint32_t chunk, const Piece& piece,
                               uint64_t offset) const {
  const QueuePlan& plan = prepared_.plan;
  const GpuSegments& segments = dependencies_.executor->segments;
  const auto in_segment = [&](Rank rank, size_t at) { return segments.at[static_cast<size_t>(rank)] + at; };
  const auto in_scratch = [&](Rank rank) {
    return in_segment(rank, plan.scratch[static_cast<size_t>(rank)] + chunk * plan.tile_bytes);
  };
  switch (place.kind) {
    case Place::Kind::input:
      return const_cast<std::byte*>(work_.input) + division_.offset_of(chunk, piece) * element_;
    case Place::Kind::output: return work_.output + division_.offset_of(chunk, piece) * element_;
    case Place::Kind::scratch: return in_scratch(segments.rank);
    case Place::Kind::peer_scratch: return in_scratch(static_cast<Rank>(place.index));
    default: break;
  }
  const QueuedChannel& used = channel(place);
  return in_segment(used.receiver, used.offset + slot_of(place) * plan.slot_bytes + offset);
}

}  // namespace weir::exec::gpu
