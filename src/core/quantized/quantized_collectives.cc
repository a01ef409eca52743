// SPDX-License-Identifier: Apache-2.0

#include "src/core/quantized/quantized_collectives.h"

#include <algorithm>
#include <span>
#include <utility>

namespace weir::core {
namespace {

using Bytes = BytePool::Bytes;

/// The array of all ranks, divided into one part per rank; the last parts may be shorter or empty.
struct EqualParts {
  size_t count = 0;   ///< elements of all parts
  size_t length = 0;  ///< elements of a part
  size_t bytes = 0;   ///< of an encoded part
  size_t ranks = 0;

  size_t first(size_t rank) const { return std::min(rank * length, count); }
  size_t length_of(size_t rank) const { return first(rank + 1) - first(rank); }
  size_t all_bytes() const { return bytes * ranks; }
};

EqualParts equal_parts(const QuantizedCall& call, size_t count, size_t length, int ranks) {
  return {count, length, encoded_bytes(call.format, length), static_cast<size_t>(ranks)};
}

/// In the order of the stream: after an error of it there is nothing to decode.
template <typename Step>
Status queue(const QuantizedPlace& place, Step step) {
  if (place.stream == nullptr) {
    step();
    return {};
  }
  place.stream->submit([stream = place.stream, step = std::move(step)]() -> Status {
    const Status state = stream->query();
    if (state.ok() || state.code() == Code::in_progress) step();
    return {};
  });
  return {};
}

Status run(const QuantizedPlace& place, Collective kind, const std::byte* input, std::byte* output,
           size_t bytes) {
  const Operation operation =
      CollectiveOp{.kind = kind, .type = DataType::uint8, .input = input, .output = output, .count = bytes};
  return place.communicator->run({&operation, 1}, StreamPlace{place.stream});
}

size_t rank_of(const QuantizedPlace& place) { return static_cast<size_t>(place.communicator->rank()); }

/// Encodes part `rank`, which is at `values`, to its place in `to`.
void encode_part(const QuantizedCall& call, const EqualParts& parts, size_t rank, const float* values,
                 uint32_t random_stream, std::byte* to) {
  std::byte* const part = to + rank * parts.bytes;
  const size_t length = parts.length_of(rank);
  const size_t used = encoded_bytes(call.format, length);
  encode(call.format, {values, length}, {call.seed, random_stream, parts.first(rank)}, part);
  std::fill(part + used, part + parts.bytes, std::byte{0});
}

/// Stage of an all-to-all: every rank gets its part of every rank's array, and adds them in their order.
Status sum_own_part(const QuantizedPlace& place, const QuantizedCall& call, const EqualParts& parts,
                    float* result) {
  const Bytes sent = place.pool->take(parts.all_bytes());
  const Bytes received = place.pool->take(parts.all_bytes());
  const auto random_stream = static_cast<uint32_t>(rank_of(place) + 1);
  WEIR_TRY(queue(place, [=] {
    for (size_t rank = 0; rank < parts.ranks; ++rank)
      encode_part(call, parts, rank, call.input + parts.first(rank), random_stream, sent.get());
  }));
  WEIR_TRY(run(place, Collective::all_to_all, sent.get(), received.get(), parts.bytes));
  const std::span<float> own(result, parts.length_of(rank_of(place)));
  return queue(place, [=] {
    decode(call.format, received.get(), own);
    for (size_t rank = 1; rank < parts.ranks; ++rank)
      decode_add(call.format, received.get() + rank * parts.bytes, own);
    (void)sent;  // until here it was read
  });
}

/// Sends this rank's part, which is at `own_part`, to all ranks.
Status gather_parts(const QuantizedPlace& place, const QuantizedCall& call, const EqualParts& parts,
                    const float* own_part) {
  const Bytes all = place.pool->take(parts.all_bytes());
  const size_t own = rank_of(place);
  WEIR_TRY(queue(place, [=] { encode_part(call, parts, own, own_part, 0, all.get()); }));
  WEIR_TRY(run(place, Collective::all_gather, all.get() + own * parts.bytes, all.get(), parts.bytes));
  return queue(place, [=] {
    for (size_t rank = 0; rank < parts.ranks; ++rank)
      decode(call.format, all.get() + rank * parts.bytes,
             {call.output + parts.first(rank), parts.length_of(rank)});
  });
}

}  // namespace

BytePool::Bytes BytePool::take(size_t bytes) {
  Idle taken{nullptr, bytes};
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(idle_, bytes, &Idle::bytes);
    if (found != idle_.end()) {
      taken = std::move(*found);
      idle_.erase(found);
    }
  }
  if (taken.array == nullptr) taken.array = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::byte* const array = taken.array.release();
  return Bytes(array, [pool = shared_from_this(), bytes](std::byte* used) {
    pool->give({std::unique_ptr<std::byte[]>(used), bytes});
  });
}

void BytePool::give(Idle array) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() == kMostIdle) idle_.erase(idle_.begin());
  idle_.push_back(std::move(array));
}

Status quantized_all_gather(const QuantizedPlace& place, const QuantizedCall& call) {
  const int ranks = place.communicator->size();
  const EqualParts parts = equal_parts(call, call.count * static_cast<size_t>(ranks), call.count, ranks);
  return gather_parts(place, call, parts, call.input);
}

Status quantized_reduce_scatter(const QuantizedPlace& place, const QuantizedCall& call) {
  const int ranks = place.communicator->size();
  const EqualParts parts = equal_parts(call, call.count * static_cast<size_t>(ranks), call.count, ranks);
  return sum_own_part(place, call, parts, call.output);
}

Status quantized_all_reduce(const QuantizedPlace& place, const QuantizedCall& call) {
  const auto ranks = static_cast<size_t>(place.communicator->size());
  const size_t blocks = (call.count + kBlockElements - 1) / kBlockElements;
  const size_t length = (blocks + ranks - 1) / ranks * kBlockElements;
  const EqualParts parts = equal_parts(call, call.count, length, static_cast<int>(ranks));
  float* const own = call.output + parts.first(rank_of(place));
  WEIR_TRY(sum_own_part(place, call, parts, own));
  return gather_parts(place, call, parts, own);
}

}  // namespace weir::core
