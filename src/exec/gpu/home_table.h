/// How a home is laid out for the lane kernels: a function of the number of ranks and of the bytes, so both
/// ends of a ring find it alike.
///
///     | words of rings | code | scratch | slots of packets | slots of bandwidth |
///
/// Between any two ranks there are kRings rings each way for each profile, which all plans use in turn:
/// messages are in order along each, whatever plan they belong to, so the counts of both ends go on from plan
/// to plan. Slots, and the words that the other end writes, lie with who reads them.
///
/// Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/exec/gpu/queued.h"

namespace weir::exec::gpu {

/// A run of bytes in a home.
struct Room {
  size_t at = 0;
  size_t bytes = 0;
};

class HomeTable {
 public:
  static constexpr uint32_t kRings = 16;
  static constexpr uint32_t kSlots = 2;
  static constexpr size_t kPacketBytes = 2048;  ///< of data in a message of packets

  /// REQUIRES: bytes >= least_bytes(ranks).
  HomeTable(int ranks, size_t bytes);
  /// With slots of kGrainBytes * kSlots, below which plans do not fit.
  static size_t least_bytes(int ranks);

  /// Most bytes of a message.
  size_t message_bytes(Profile profile) const {
    return profile == Profile::packet ? kPacketBytes : slot_bytes_;
  }
  /// Programs and ports of this rank's plans; what lanes keep for themselves.
  Room code() const { return code_; }
  Room scratch() const { return scratch_; }

  /// One end of ring `ring` between the homes' rank and `peer`.
  Port port(const Homes& homes, Profile profile, Rank peer, bool outgoing, uint32_t ring) const;

 private:
  /// Of rings with one peer, one way round each.
  struct Words;
  size_t words_at(Profile profile, Rank peer, uint32_t ring) const;
  size_t slots_at(Profile profile, Rank peer, uint32_t ring) const;

  int ranks_;
  Room code_;
  Room scratch_;
  size_t packets_at_ = 0;
  size_t slots_at_ = 0;
  size_t slot_bytes_ = 0;
};

}  // namespace weir::exec::gpu
