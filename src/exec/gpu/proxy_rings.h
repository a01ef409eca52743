// SPDX-License-Identifier: Apache-2.0
/// Rings between this rank and those of other hosts. Each end has its own, in pinned memory that its GPU and
/// its host address: what a kernel puts into the ring of one end, a proxy of the host takes over the network
/// to that of the other (src/core/gpu/proxy.h). To a kernel they are rings as any. Slots may lie in memory of
/// the GPU instead, where adapters come to that by themselves.
///
/// Thread-safe but for bind() and place_slots().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "src/exec/gpu/launch.h"

namespace weir::exec::gpu {

class ProxyRings {
 public:
  /// Between two ranks, one way round. A GPU's share of a network needs no more blocks.
  static constexpr uint32_t kRings = 8;
  /// Networks answer late: more than a ring inside a host has.
  static constexpr uint32_t kSlots = 4;

  /// One end of a ring.
  struct End {
    Rank peer = 0;
    bool outgoing = false;
    uint32_t ring = 0;

    bool operator==(const End&) const = default;
  };

  /// `peers`: the ranks of other hosts. `slot_bytes`: a multiple of kGrainBytes.
  ProxyRings(std::vector<Rank> peers, size_t slot_bytes);
  size_t peers() const { return peers_.size(); }
  size_t slot_bytes() const { return slot_bytes_; }
  /// Of pinned memory; of that, or of memory of the GPU, the slots of all ends.
  size_t bytes() const;
  size_t slots_bytes() const;
  /// Zeroes, as the host and as the GPU names them, aligned to 128 bytes; they outlive the rings.
  void bind(std::byte* host, std::byte* on_gpu);
  /// Of all ends with this peer, that way round: they lie in memory of the GPU that begins there, which
  /// outlives the rings.
  void place_slots(Rank peer, bool outgoing, std::byte* slots);
  /// Whether the slots are the GPU's alone, so that on_host() names them as the GPU does.
  bool is_placed(const End& end) const;

  /// Without Port::done, which is for who counts there to keep.
  Port on_host(const End& end) const { return port(host_, end); }
  Port on_gpu(const End& end) const { return port(on_gpu_, end); }

  /// A call will use the end. Once is enough.
  void want(const End& end);
  /// Those that were wanted since the last time.
  std::vector<End> newly_wanted();

 private:
  struct Words;
  size_t way_of(Rank peer, bool outgoing) const;
  size_t number_of(const End& end) const;
  Port port(std::byte* memory, const End& end) const;

  const std::vector<Rank> peers_;
  const size_t slot_bytes_;
  std::byte* host_ = nullptr;
  std::byte* on_gpu_ = nullptr;
  std::vector<std::byte*> placed_;         ///< by way: where all slots begin; null: behind the words
  std::vector<std::atomic<bool>> wanted_;  ///< by number
  std::mutex mutex_;
  std::vector<End> news_;
};

}  // namespace weir::exec::gpu
