// SPDX-License-Identifier: Apache-2.0
/// Rings between this rank and those of other hosts. Each end has its own ring, in pinned memory that its GPU
/// and its host can address. A proxy on the host transfers the messages that a kernel puts into the ring of
/// one end over the network to the ring of the other end (src/core/gpu/proxy.h). Kernels use them like any
/// other rings. Slots may lie in GPU memory instead, if NICs can access it directly.
///
/// Thread-safe, except bind() and place_slots().
/// Tests: tests/exec/gpu_segment_table_test.cc
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
  /// Number of rings between two ranks in one direction. A GPU's share of a network needs no more blocks.
  static constexpr uint32_t kRings = 8;
  /// Number of slots of a ring: more than inside a host, because networks have a higher latency.
  static constexpr uint32_t kSlots = 4;

  /// One end of a ring.
  struct End {
    Rank peer = 0;
    bool outgoing = false;
    uint32_t ring = 0;

    bool operator==(const End&) const = default;
  };

  /// `peers` are the ranks of other hosts. `slot_bytes` must be a multiple of kGrainBytes.
  ProxyRings(std::vector<Rank> peers, size_t slot_bytes);
  size_t peers() const { return peers_.size(); }
  size_t slot_bytes() const { return slot_bytes_; }
  /// bytes(): size of the pinned memory. slots_bytes(): size of the slots of all ends, in pinned or GPU
  /// memory.
  size_t bytes() const;
  size_t slots_bytes() const;
  /// Sets the rings' memory by its addresses on the host and on the GPU. It must be zero, be aligned to 128
  /// bytes and outlive the rings.
  void bind(std::byte* host, std::byte* on_gpu);
  /// Places the slots of all ends with this peer in this direction in GPU memory at `slots`, which must
  /// outlive the rings.
  void place_slots(Rank peer, bool outgoing, std::byte* slots);
  /// Whether the slots are in GPU memory; on_host() then contains their GPU addresses.
  bool is_placed(const End& end) const;

  /// The ports on the host and on the GPU, without Port::done, which the user of the port provides.
  Port on_host(const End& end) const { return port(host_, end); }
  Port on_gpu(const End& end) const { return port(on_gpu_, end); }

  /// Announces that a call will use the end. Repeated calls have no effect.
  void want(const End& end);
  /// The ends that were wanted for the first time since the last call.
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
  std::vector<std::byte*>
      placed_;  ///< beginning of the slots, by peer and direction; null: they follow the words
  std::vector<std::atomic<bool>> wanted_;  ///< whether each end is wanted, by number of the end
  std::mutex mutex_;
  std::vector<End> news_;
};

}  // namespace weir::exec::gpu
