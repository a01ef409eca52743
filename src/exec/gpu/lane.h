// SPDX-License-Identifier: Apache-2.0
/// The lane interpreter of kernels, the counterpart of Run (src/exec/lane.h) on the host: one block per lane
/// and shard. The first thread of a block is the leader: it waits for messages and free slots, writes the
/// addresses to shared memory, and notifies the other end. All threads move the bytes.
///
/// Barriers: every move has one barrier between the leader's words and the bytes, and one between the bytes
/// and what the leader publishes; a leader that leaves informs the others at the next barrier. So everything
/// that a block wrote is ordered before the number (bandwidth) or the header (packet, Launch::ordered) that
/// the leader stores with release order.
///
/// A packet's flag is the low half of its message's number. A word that 2^31 messages have not written could
/// contain a flag that is valid again, so a whole slot is rewritten once in 2^31 messages.
/// Tests: tests/exec/gpu_lane_test.cc
#pragma once

#include "src/exec/gpu/transfer.h"

namespace weir::exec::gpu {

template <RingProtocol kProtocol>
class LaneRun {
 public:
  WEIR_DEVICE LaneRun(const Launch& launch, device::Block& block, LaneTransfer& shared)
      : launch_(launch),
        block_(block),
        transfer_(shared),
        leads_(block.thread == 0),
        shard_(block.index % launch.shards),
        ports_(launch.ports + uint64_t{shard_} * launch.channels) {}

  WEIR_DEVICE void run() {
    const LaneSteps lane = launch_.lanes[block_.index / launch_.shards];
    // If the call was aborted, as in a graph that outlives its communicator, buffers may not exist any more.
    if (direct() && leads_) left_ = device::load_relaxed(launch_.abort) != 0;
    WEIR_ROLLED
    for (uint64_t pass = shard_; pass < launch_.division.passes; pass += launch_.shards) {
      WEIR_ROLLED
      for (uint32_t at = 0; at < lane.count; ++at) {
        const Step& step = launch_.steps[lane.first + at];
        if (step.op == Op::move) {
          if (!move(step, pass)) return;
        } else if (leads_ && !left_ &&
                   is_due(step, pass == shard_, launch_.division.passes - pass <= launch_.shards)) {
          left_ = step.op == Op::signal ? !signal(ports_[index_of(step.dst[0])], index_of(step.dst[0]))
                                        : !wait(step);
        }
      }
    }
  }

 private:
  static constexpr bool kPackets = kProtocol == RingProtocol::packet;

  WEIR_DEVICE uint32_t index_of(uint16_t place) const { return launch_.places[place].index; }

  /// Whether messages also order accesses to other memory.
  WEIR_DEVICE bool orders() const { return !kPackets || launch_.ordered; }

  /// Whether ranks use each other's buffers; signals then contain the buffers' addresses.
  WEIR_DEVICE bool direct() const { return !kPackets && launch_.buffers != nullptr; }
  WEIR_DEVICE BuffersOfRank& buffers_of(uint32_t rank) const {
    return launch_.buffers[uint64_t{block_.index} * launch_.ranks + rank];
  }
  /// Writes the buffers' addresses to the slot of a signal, which is otherwise unused.
  WEIR_DEVICE void tell_buffers(const Port& port) const {
    auto* const words = reinterpret_cast<uint64_t*>(slot_of(port));
    device::store_relaxed(words, reinterpret_cast<uintptr_t>(launch_.input));
    device::store_relaxed(words + 1, reinterpret_cast<uintptr_t>(launch_.output));
  }
  WEIR_DEVICE void hear_buffers(const Port& port) const {
    const auto* const words = reinterpret_cast<const uint64_t*>(slot_of(port));
    BuffersOfRank& heard = buffers_of(port.peer);
    heard.input = reinterpret_cast<const std::byte*>(device::load_relaxed(words));
    heard.output = reinterpret_cast<std::byte*>(device::load_relaxed(words + 1));
  }

  /// Runs one move; all threads call it. Returns false if the block must leave.
  WEIR_DEVICE bool move(const Step& step, uint64_t pass) {
    if (leads_ && !left_) left_ = !open(step);
    uint64_t offset = 0;
    WEIR_ROLLED
    for (uint32_t i = 0; i < step.chunks; ++i) {
      if (leads_ && !left_) describe(step, i, pass, offset);
      if (block_.any(left_)) return false;
      if (orders()) device::after_barrier();
      if constexpr (kPackets) {
        left_ = !transfer_packets(launch_, transfer_, block_);
      } else {
        transfer_memory(launch_, transfer_, block_);
      }
      if (orders()) device::before_barrier();
      if (block_.any(left_)) return false;
    }
    if (leads_) left_ = !close(step, offset);
    return true;
  }

  /// Waits until all slots are free and all messages have arrived, except packets, whose arrival the reading
  /// threads check.
  WEIR_DEVICE bool open(const Step& step) {
    WEIR_ROLLED
    for (int d = 0; d < step.destinations; ++d) {
      const Place& place = launch_.places[step.dst[d]];
      if (place.kind != Place::Kind::send) continue;
      const Port& port = ports_[place.index];
      if (!slot_free(port, place.index)) return false;
      if constexpr (kPackets) {
        refresh(port);
        if (!launch_.ordered) write_header(port, false);
      }
    }
    WEIR_ROLLED
    for (int s = 0; s < step.sources; ++s) {
      const Place& place = launch_.places[step.src[s]];
      if (place.kind != Place::Kind::receive || (kPackets && launch_.ordered)) continue;
      if (!arrived(ports_[place.index], place.index)) return false;
    }
    return true;
  }

  /// Called after the bytes are moved, `bytes` per message: publishes messages and releases slots.
  WEIR_DEVICE bool close(const Step& step, uint64_t bytes) {
    if (kPackets && launch_.ordered) {
      WEIR_ROLLED
      for (int s = 0; s < step.sources; ++s) {
        const Place& place = launch_.places[step.src[s]];
        if (place.kind == Place::Kind::receive && !arrived(ports_[place.index], place.index)) return false;
      }
    }
    WEIR_ROLLED
    for (int d = 0; d < step.destinations; ++d) {
      const Place& place = launch_.places[step.dst[d]];
      if (place.kind == Place::Kind::send) publish(ports_[place.index], launch_.ordered, bytes);
    }
    WEIR_ROLLED
    for (int s = 0; s < step.sources; ++s) {
      const Place& place = launch_.places[step.src[s]];
      if (place.kind == Place::Kind::receive) release(ports_[place.index]);
    }
    return true;
  }

  WEIR_DEVICE bool signal(const Port& port, uint32_t channel) {
    if (!slot_free(port, channel)) return false;
    if (direct()) tell_buffers(port);
    publish(port, true, 0);
    return true;
  }

  WEIR_DEVICE bool wait(const Step& step) {
    const uint32_t channel = index_of(step.src[0]);
    WEIR_ROLLED
    for (uint32_t n = 0; n < step.chunks; ++n) {
      if (!arrived(ports_[channel], channel)) return false;
      if (direct()) hear_buffers(ports_[channel]);
      release(ports_[channel]);
    }
    return true;
  }

  /// Describes chunk `i` of a move to the threads, at `offset` bytes in messages, and advances the offset.
  WEIR_DEVICE void describe(const Step& step, uint32_t i, uint64_t pass, uint64_t& offset) {
    const Division& division = launch_.division;
    const Piece piece = division.piece_of((step.part + i) % division.chunks, pass);
    const uint32_t element = launch_.element;
    LaneTransfer& made = transfer_;
    made.count = static_cast<uint32_t>(piece.count);
    made.source_count = step.sources;
    made.destination_count = 0;
    made.scaled = made.from_packets = made.to_packets = 0;
    made.divides = step.completes && launch_.divisor > 1;
    uint64_t addresses = 0;
    WEIR_ROLLED
    for (int s = 0; s < step.sources; ++s) {
      const Place& place = launch_.places[step.src[s]];
      made.sources[s] = source(place, step.chunk + place.bias + i, piece, offset, element);
      if (launch_.scales && (place.kind == Place::Kind::input || place.kind == Place::Kind::peer_input))
        made.scaled |= 1u << s;
      if (kPackets && place.kind == Place::Kind::receive) {
        made.from_packets |= 1u << s;
        made.source_flags[s] = flag_of(ports_[place.index]);
        made.source_channels[s] = place.index;
      }
      addresses |= reinterpret_cast<uintptr_t>(made.sources[s]);
    }
    const bool unchanged = step.sources == 1 && made.scaled == 0 && !made.divides;
    WEIR_ROLLED
    for (int d = 0; d < step.destinations; ++d) {
      const Place& place = launch_.places[step.dst[d]];
      std::byte* const to = destination(place, step.chunk + place.bias + i, piece, offset, element);
      if (unchanged && to == made.sources[0]) continue;
      const int at = made.destination_count++;
      made.destinations[at] = to;
      if (kPackets && place.kind == Place::Kind::send) {
        made.to_packets |= 1u << at;
        made.destination_flags[at] = flag_of(ports_[place.index]);
      }
      addresses |= reinterpret_cast<uintptr_t>(to);
    }
    made.wide = addresses % 16 == 0;
    offset += (piece.count * element + 15) / 16 * 16;
  }

  WEIR_DEVICE const std::byte* source(const Place& place, uint32_t chunk, const Piece& piece, uint64_t offset,
                                      uint32_t element) const {
    switch (place.kind) {
      case Place::Kind::input: return launch_.input + launch_.division.offset_of(chunk, piece) * element;
      case Place::Kind::output: return launch_.output + launch_.division.offset_of(chunk, piece) * element;
      case Place::Kind::scratch: return launch_.scratch + in_scratch(chunk);
      case Place::Kind::peer_scratch: return launch_.peer_scratch[place.index] + in_scratch(chunk);
      case Place::Kind::peer_input:
        return buffers_of(place.index).input + launch_.division.offset_of(chunk, piece) * element;
      case Place::Kind::peer_output:
        return buffers_of(place.index).output + launch_.division.offset_of(chunk, piece) * element;
      default: return payload(ports_[place.index], offset);
    }
  }
  WEIR_DEVICE std::byte* destination(const Place& place, uint32_t chunk, const Piece& piece, uint64_t offset,
                                     uint32_t element) const {
    switch (place.kind) {
      case Place::Kind::output: return launch_.output + launch_.division.offset_of(chunk, piece) * element;
      case Place::Kind::scratch: return launch_.scratch + in_scratch(chunk);
      case Place::Kind::peer_output:
        return buffers_of(place.index).output + launch_.division.offset_of(chunk, piece) * element;
      default: return payload(ports_[place.index], offset);
    }
  }
  WEIR_DEVICE uint64_t in_scratch(uint32_t chunk) const {
    return shard_ * launch_.scratch_bytes + chunk * launch_.tile_bytes;
  }

  // Rings; used by the leader only.

  WEIR_DEVICE std::byte* slot_of(const Port& port) const {
    return port.slots + *port.done % port.count * port.stride;
  }
  WEIR_DEVICE std::byte* payload(const Port& port, uint64_t offset) const {
    return slot_of(port) + (kPackets ? 16 + 2 * offset : offset);
  }
  WEIR_DEVICE uint32_t flag_of(const Port& port) const { return static_cast<uint32_t>(*port.done + 1); }

  WEIR_DEVICE bool await(const uint64_t* word, uint64_t least, uint32_t channel) const {
    for (uint32_t looks = 0; device::load_acquire(word) < least; ++looks) {
      if (!may_wait(launch_, block_, looks, channel)) return false;
    }
    return true;
  }

  WEIR_DEVICE bool slot_free(const Port& port, uint32_t channel) const {
    const uint64_t done = *port.done;
    return done < port.count || await(port.taken, done + 1 - port.count, channel);
  }

  /// Whether the oldest message has arrived and belongs to this operation.
  WEIR_DEVICE bool arrived(const Port& port, uint32_t channel) const {
    uint64_t tag = 0;
    if constexpr (kPackets) {
      const uint32_t flag = flag_of(port);
      const auto* const last = reinterpret_cast<const uint64_t*>(slot_of(port)) + 1;
      for (uint32_t looks = 0;
           device::load_acquire(last) >> 32 != flag || !try_packet(slot_of(port), flag, tag); ++looks) {
        if (!may_wait(launch_, block_, looks, channel)) return false;
      }
    } else {
      const uint64_t done = *port.done;
      if (!await(port.arrived, done + 1, channel)) return false;
      tag = device::load_relaxed(port.arrived + 1 + done % port.count);
    }
    if (tag == launch_.tag) return true;
    Note& note = launch_.notes[block_.index];
    device::store_relaxed(&note.tag, tag);
    device::store_relaxed(&note.expected, launch_.tag);
    device::store_release(&note.foreign, uint64_t{port.peer} + 1);
    return false;
  }

  /// `releases`: a reader that sees the header also sees everything that the block wrote before.
  WEIR_DEVICE void write_header(const Port& port, bool releases) const {
    const uint64_t high = uint64_t{flag_of(port)} << 32;
    auto* const words = reinterpret_cast<uint64_t*>(slot_of(port));
    device::store_relaxed(words, high | (launch_.tag & 0xffffffffu));
    const uint64_t last = high | (launch_.tag >> 32);
    if (releases) {
      device::store_release(words + 1, last);
    } else {
      device::store_relaxed(words + 1, last);
    }
  }

  WEIR_DEVICE void publish(const Port& port, bool releases, uint64_t bytes) const {
    const uint64_t done = *port.done;
    if constexpr (kPackets) {
      if (releases) write_header(port, true);
    } else {
      uint64_t* const slot = port.arrived + 1 + done % port.count;
      device::store_relaxed(slot, launch_.tag);
      device::store_relaxed(slot + port.count, bytes);
      device::store_release(port.arrived, done + 1);
    }
    *port.done = done + 1;
  }

  WEIR_DEVICE void release(const Port& port) const {
    const uint64_t done = *port.done + 1;
    *port.done = done;
    if (!orders()) {
      device::store_relaxed(port.taken, done);
    } else {
      device::store_release(port.taken, done);
    }
  }

  /// Once in 2^31 messages, before a message is written, writes packets to all words of its slot, with a flag
  /// that no message uses.
  WEIR_DEVICE void refresh(const Port& port) const {
    const uint32_t flag = flag_of(port);
    if (((flag ^ kRefreshed) & 0x7fffffffu) >= port.count) return;
    for (uint32_t at = 16; at < port.stride; at += 16) store_packet(slot_of(port) + at, 0, flag - 1);
  }
  static constexpr uint32_t kRefreshed = 1u << 30;

  const Launch& launch_;
  device::Block& block_;
  LaneTransfer& transfer_;
  const bool leads_;
  bool left_ = false;
  const uint32_t shard_;
  const Port* const ports_;
};

}  // namespace weir::exec::gpu
