// SPDX-License-Identifier: Apache-2.0
/// The ring all-reduce of float32 sums, written by hand, in place of weir_lanes_bandwidth: with the same
/// launch, lanes, shards, rings and messages, so that both can be compared, but without reading steps, with
/// counters in registers and all choices made by the compiler. It checks no tags.
///
/// Action t of a rank, t from 0 to 2n-2, receives the message of round t-1 and sends that of round t, on lane
/// t mod 2 (algorithms/catalogue/ring_set.cc). Buffers are aligned to 16 bytes.
#include "src/device/block.h"
#include "src/exec/gpu/launch.h"

#if defined(__CUDACC__)
#define WEIR_KERNEL extern "C" __global__ __launch_bounds__(512, 1) void
#define WEIR_ARGUMENT __grid_constant__
#elif defined(__HIP__)
#define WEIR_KERNEL extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256))) void
#define WEIR_ARGUMENT
#else
#define WEIR_KERNEL extern "C" __attribute__((visibility("default"))) void
#endif

namespace {

using weir::device::Block;
using weir::device::Wide;
using weir::exec::Piece;
using weir::exec::Place;
using weir::exec::Step;
using weir::exec::gpu::Launch;
using weir::exec::gpu::Port;

/// One end of a ring.
struct End {
  const Port* port = nullptr;
  uint64_t done = 0;

  WEIR_DEVICE void start(const Port* at) {
    port = at;
    done = *at->done;
  }
  WEIR_DEVICE std::byte* slot() const { return port->slots + done % port->count * port->stride; }
};

WEIR_DEVICE uint64_t add(uint64_t a, uint64_t b) {
  float left[2], right[2];
  __builtin_memcpy(left, &a, 8);
  __builtin_memcpy(right, &b, 8);
  left[0] += right[0];
  left[1] += right[1];
  __builtin_memcpy(&a, left, 8);
  return a;
}

/// Called by all threads: copies one piece from `from`, adds `with` if it is not null, and stores to `first`
/// and `second` if these are not null.
template <bool kAdds, bool kStores, bool kSends>
WEIR_DEVICE void move(const Block& block, uint32_t count, const std::byte* from, const std::byte* with,
                      std::byte* output, std::byte* slot) {
  constexpr uint32_t kAtOnce = 4;
  const uint32_t wide = count / 4;
  for (uint32_t first = block.thread; first < wide; first += kAtOnce * block.threads) {
    Wide value[kAtOnce], other[kAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const uint32_t at = first + k * block.threads;
      if (at >= wide) break;
      value[k] = weir::device::load_wide(from + size_t{at} * 16);
      if constexpr (kAdds) other[k] = weir::device::load_wide(with + size_t{at} * 16);
    }
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const uint32_t at = first + k * block.threads;
      if (at >= wide) break;
      if constexpr (kAdds) value[k] = {add(value[k].low, other[k].low), add(value[k].high, other[k].high)};
      if constexpr (kStores) weir::device::store_wide(output + size_t{at} * 16, value[k]);
      if constexpr (kSends) weir::device::store_wide(slot + size_t{at} * 16, value[k]);
    }
  }
  for (uint32_t at = wide * 4 + block.thread; at < count; at += block.threads) {
    float value;
    __builtin_memcpy(&value, from + size_t{at} * 4, 4);
    if constexpr (kAdds) {
      float other;
      __builtin_memcpy(&other, with + size_t{at} * 4, 4);
      value += other;
    }
    if constexpr (kStores) __builtin_memcpy(output + size_t{at} * 4, &value, 4);
    if constexpr (kSends) __builtin_memcpy(slot + size_t{at} * 4, &value, 4);
  }
}

WEIR_DEVICE bool await(const Launch& launch, const uint64_t* word, uint64_t least) {
  for (uint32_t looks = 1; weir::device::load_acquire(word) < least; ++looks) {
    if (looks % 32 != 0) continue;
    if (weir::device::load_relaxed(launch.abort) != 0) return false;
    weir::device::pause();
  }
  return true;
}

/// The lane's first place of a kind, as a ring.
WEIR_DEVICE const Port* port_of(const Launch& launch, const uint16_t* places, int count, Place::Kind kind,
                                const Port* ports) {
  for (int i = 0; i < count; ++i) {
    const Place& place = launch.places[places[i]];
    if (place.kind == kind) return ports + place.index;
  }
  return nullptr;
}

WEIR_DEVICE void run_ring(const Launch& launch, uint32_t host_block) {
  WEIR_SHARED weir::device::BarrierWords words;
  Block block = Block::current(host_block, words);
  const uint32_t lane = block.index / launch.shards, shard = block.index % launch.shards;
  const Port* const ports = launch.ports + uint64_t{shard} * launch.channels;
  const Step* const steps = launch.steps + launch.lanes[lane].first;
  const uint32_t ranks = launch.division.chunks, last = 2 * ranks - 2;
  const Step& receiving = steps[1 - lane];
  End in, out;
  in.start(port_of(launch, receiving.src, receiving.sources, Place::Kind::receive, ports));
  out.start(port_of(launch, steps[0].dst, steps[0].destinations, Place::Kind::send, ports));
  const uint32_t begin = steps[0].part;

  for (uint64_t pass = shard; pass < launch.division.passes; pass += launch.shards) {
    uint32_t chunk = begin;
    for (uint32_t action = lane; action <= last; action += 2) {
      const bool receives = action > 0, sends = action < last;
      bool leaves = false;
      if (block.thread == 0) {
        if (sends && out.done >= out.port->count)
          leaves = !await(launch, out.port->taken, out.done + 1 - out.port->count);
        if (receives && !leaves) leaves = !await(launch, in.port->arrived, in.done + 1);
      }
      if (block.any(leaves)) return;
      weir::device::after_barrier();
      const Piece piece = launch.division.piece_of(chunk, pass);
      const auto count = static_cast<uint32_t>(piece.count);
      const std::byte* const own = launch.input + piece.first * 4;
      std::byte* const output = launch.output + piece.first * 4;
      if (!receives)
        move<false, false, true>(block, count, own, nullptr, nullptr, out.slot());
      else if (action < ranks - 1)
        move<true, false, true>(block, count, in.slot(), own, nullptr, out.slot());
      else if (action == ranks - 1)
        move<true, true, true>(block, count, in.slot(), own, output, out.slot());
      else if (sends)
        move<false, true, true>(block, count, in.slot(), nullptr, output, out.slot());
      else
        move<false, true, false>(block, count, in.slot(), nullptr, output, nullptr);
      weir::device::before_barrier();
      block.any(false);
      out.done += sends;
      in.done += receives;
      if (block.thread == 0) {
        if (sends) weir::device::store_release(out.port->arrived, out.done);
        if (receives) weir::device::store_release(in.port->taken, in.done);
      }
      chunk = (chunk + 2 * ranks - 2) % ranks;
    }
  }
  if (block.thread != 0) return;
  *in.port->done = in.done;
  *out.port->done = out.done;
}

}  // namespace

#if defined(__CUDACC__) || defined(__HIP__)
WEIR_KERNEL weir_ring_by_hand(const WEIR_ARGUMENT Launch launch) { run_ring(launch, 0); }
#else
WEIR_KERNEL weir_ring_by_hand(const Launch* launch, uint32_t block, uint32_t) { run_ring(*launch, block); }
extern "C" {
extern __attribute__((visibility("default"))) const size_t weir_ring_by_hand_argument_bytes = sizeof(Launch);
}
#endif
