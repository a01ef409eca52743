// SPDX-License-Identifier: Apache-2.0
/// The code of a block of weir_pairs (pairs_launch.h). The first thread is the leader: it finds a lane whose
/// ring has a message or a free slot, writes the addresses to shared memory, and notifies the other end. All
/// threads move the bytes.
///
/// Barriers as in lane.h: one barrier between the leader's words and the bytes, and one between the bytes and
/// what the leader publishes.
/// Tests: tests/exec/gpu_pairs_test.cc
#pragma once

#include "src/exec/gpu/pairs_launch.h"
#include "src/exec/gpu/transfer.h"

namespace weir::exec::gpu {

/// One copy, described by one thread for all threads of a block.
struct PairCopy {
  const std::byte* from;
  std::byte* to;
  uint32_t bytes;
};

/// Copies in the widest units that both addresses allow, and the rest byte by byte.
WEIR_DEVICE void copy_bytes(const PairCopy& copy, const device::Block& block) {
  const uintptr_t addresses = reinterpret_cast<uintptr_t>(copy.from) | reinterpret_cast<uintptr_t>(copy.to);
  const uint32_t widest = addresses % 16 == 0 ? 16 : addresses % 8 == 0 ? 8 : addresses % 4 == 0 ? 4 : 1;
  const uint32_t whole = copy.bytes / widest * widest;
  WEIR_ROLLED
  for (int rest = 0; rest < 2; ++rest) {
    const uint32_t width = rest == 0 ? widest : 1;
    const uint32_t end = rest == 0 ? whole / widest : copy.bytes;
    const auto units = static_cast<uint32_t>(width == 16 ? kGranules / 2 : kGranules);
    WEIR_ROLLED
    for (uint32_t first = (rest == 0 ? 0 : whole) + block.thread; first < end;
         first += block.threads * units) {
      const UnitRange reach{first, block.threads, end};
      uint64_t value[kGranules];
      load_units(copy.from, width, reach, value);
      store_units(copy.to, width, reach, value);
    }
  }
}

class PairsRun {
 public:
  WEIR_DEVICE PairsRun(const PairsLaunch& launch, device::Block& block, PairCopy& shared)
      : launch_(launch), block_(block), copy_(shared), leads_(block.thread == 0), next_(block.index) {}

  WEIR_DEVICE void run() {
    if (launch_.store != nullptr) return store();
    if (block_.index >= lanes()) return;
    if (leads_) begin();
    WEIR_ROLLED
    for (;;) {
      if (block_.any(leads_ && !find())) return;
      device::after_barrier();
      copy_bytes(copy_, block_);
      device::before_barrier();
      (void)block_.any(false);
      if (leads_) publish();
    }
  }

 private:
  /// The lane that the leader examines.
  struct Lane {
    uint32_t index;
    PairDirection direction;
    PairMessage message;
    PairProgress at;
  };
  enum class Found : uint8_t { ready, waits, foreign };

  WEIR_DEVICE void store() const {
    WEIR_ROLLED
    for (uint32_t at = block_.thread * 8; at < launch_.own_bytes; at += block_.threads * 8)
      device::store_as<uint64_t>(launch_.store + at, device::load_as<uint64_t>(launch_.own + at));
  }

  // The functions below are called by the leader only.

  WEIR_DEVICE uint32_t lanes() const { return launch_.directions * launch_.rings; }
  WEIR_DEVICE uint64_t word(uint32_t at) const {
    if (launch_.table != nullptr) return device::load_as<uint64_t>(launch_.table + at);
    return device::load_as<uint64_t>(launch_.own + at);
  }
  WEIR_DEVICE PairDirection direction(uint32_t index) const {
    const uint64_t low = word(index * 16), high = word(index * 16 + 8);
    return {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
            static_cast<uint32_t>(high >> 32)};
  }
  WEIR_DEVICE PairMessage message(uint32_t index) const {
    const uint32_t at = launch_.directions * 16 + index * 24;
    const uint64_t last = word(at + 16);
    return {reinterpret_cast<std::byte*>(word(at)), word(at + 8), static_cast<uint32_t>(last),
            static_cast<uint32_t>(last >> 32)};
  }

  WEIR_DEVICE void begin() const {
    WEIR_ROLLED
    for (uint32_t lane = block_.index; lane < lanes(); lane += launch_.blocks)
      launch_.progress[lane] = {0, lane % launch_.rings};
  }

  /// Reads the next piece of a lane. Returns false if the lane is done.
  WEIR_DEVICE bool read(uint32_t index) {
    lane_.index = index;
    lane_.direction = direction(index / launch_.rings);
    lane_.at = launch_.progress[index];
    const uint32_t ring = index % launch_.rings;
    WEIR_ROLLED
    for (; lane_.at.message < lane_.direction.count; lane_.at = {lane_.at.message + 1, ring}) {
      lane_.message = message(lane_.direction.first + lane_.at.message);
      if (ring >= lane_.message.rings) continue;
      if (lane_.at.piece == 0 || uint64_t{lane_.at.piece} * lane_.message.piece < lane_.message.bytes)
        return true;
    }
    launch_.progress[index] = lane_.at;
    return false;
  }

  /// Waits until a lane can make progress, and describes the copy. Returns false if the block leaves.
  WEIR_DEVICE bool find() {
    WEIR_ROLLED
    for (uint32_t looks = 0;; ++looks) {
      bool open = false, for_message = false;
      uint32_t peer = 0;
      const uint32_t first = next_;
      WEIR_ROLLED
      do {
        const uint32_t index = next_;
        next_ = index + launch_.blocks < lanes() ? index + launch_.blocks : block_.index;
        if (!read(index)) continue;
        const Port& port = launch_.ports[lane_.direction.port + index % launch_.rings];
        const Found found = look(port);
        if (found == Found::ready) return true;
        if (found == Found::foreign) return false;
        // Report a missing message rather than a missing slot.
        if (!open || (!for_message && lane_.direction.sends == 0)) peer = port.peer;
        for_message |= lane_.direction.sends == 0;
        open = true;
      } while (next_ != first);
      if (!open || !may_wait(looks, peer)) return false;
    }
  }

  WEIR_DEVICE Found look(const Port& port) {
    const uint64_t done = *port.done;
    std::byte* const slot = port.slots + done % port.count * port.stride;
    const uint64_t offset = uint64_t{lane_.at.piece} * lane_.message.piece;
    std::byte* const data = lane_.message.data + offset;
    const uint64_t left = lane_.message.bytes - offset;
    copy_.bytes = left < lane_.message.piece ? static_cast<uint32_t>(left) : lane_.message.piece;
    if (lane_.direction.sends != 0) {
      if (done >= port.count && device::load_acquire(port.taken) < done + 1 - port.count) return Found::waits;
      copy_.from = data;
      copy_.to = slot;
      return Found::ready;
    }
    if (device::load_acquire(port.arrived) < done + 1) return Found::waits;
    copy_.from = slot;
    copy_.to = data;
    const uint64_t tag = device::load_relaxed(port.arrived + 1 + done % port.count);
    if (tag == pair_tag(lane_.message.bytes)) return Found::ready;
    Note& note = launch_.notes[block_.index];
    device::store_relaxed(&note.tag, tag);
    device::store_relaxed(&note.expected, pair_tag(lane_.message.bytes));
    device::store_release(&note.foreign, uint64_t{port.peer} + 1);
    return Found::foreign;
  }

  WEIR_DEVICE void publish() const {
    const Port& port = launch_.ports[lane_.direction.port + lane_.index % launch_.rings];
    const uint64_t done = *port.done;
    *port.done = done + 1;
    if (lane_.direction.sends != 0) {
      uint64_t* const slot = port.arrived + 1 + done % port.count;
      device::store_relaxed(slot, pair_tag(lane_.message.bytes));
      device::store_relaxed(slot + port.count, uint64_t{copy_.bytes});
      device::store_release(port.arrived, done + 1);
    } else {
      device::store_release(port.taken, done + 1);
    }
    launch_.progress[lane_.index] = {lane_.at.message, lane_.at.piece + lane_.message.rings};
  }

  /// As may_wait() of lanes (transfer.h).
  WEIR_DEVICE bool may_wait(uint32_t looks, uint32_t peer) const {
    constexpr uint32_t kLong = 1u << 16;
    if (looks % 32 != 31) return true;
    if (looks % kLong == kLong - 1)
      device::store_relaxed(&launch_.notes[block_.index].waiting, uint64_t{peer} + 1);
    device::pause();
    return device::load_relaxed(launch_.abort) == 0;
  }

  const PairsLaunch& launch_;
  device::Block& block_;
  PairCopy& copy_;
  const bool leads_;
  uint32_t next_;  ///< the lane to examine next
  Lane lane_{};
};

}  // namespace weir::exec::gpu
