// SPDX-License-Identifier: Apache-2.0
/// Moves the data of one piece of a chunk, from up to four sources to up to four destinations, with all
/// threads of a block. Messages of the packet protocol are read and written as packets.
/// Tests: tests/exec/gpu_lane_test.cc
#pragma once

#include "src/device/block.h"
#include "src/device/granules.h"
#include "src/exec/gpu/launch.h"

namespace weir::exec::gpu {

/// One transfer, described by one thread for all threads of a block.
struct LaneTransfer {
  const std::byte* sources[kFanIn];
  std::byte* destinations[kFanOut];
  uint32_t source_flags[kFanIn];     ///< expected flags of sources in packets
  uint32_t source_channels[kFanIn];  ///< channels of sources in packets, for the block's note
  uint32_t destination_flags[kFanOut];
  uint32_t count;  ///< number of elements; pieces are far below 4 GiB
  uint8_t source_count;
  uint8_t destination_count;
  uint8_t scaled;        ///< one bit per source: multiply it by the factor
  uint8_t from_packets;  ///< one bit per source: it is in packets
  uint8_t to_packets;    ///< one bit per destination: it is in packets
  bool divides;
  bool wide;  ///< whether all addresses are aligned to 16 bytes
};

/// Number of granules that a thread holds in registers: 64 bytes in four loads of 16 bytes, or eight elements
/// that are not aligned to 16 bytes.
inline constexpr int kGranules = 8;

/// The units of one thread: from unit `first` on, each `step` units after the previous one, below `end`.
struct UnitRange {
  uint32_t first;
  uint32_t step;
  uint32_t end;
};

template <typename T>
WEIR_DEVICE void load_elements(const std::byte* from, const UnitRange& reach,
                               uint64_t (&granules)[kGranules]) {
  WEIR_UNROLLED
  for (int k = 0; k < kGranules; ++k) {
    const uint32_t at = reach.first + k * reach.step;
    granules[k] = at < reach.end ? device::load_as<T>(from + uint64_t{at} * sizeof(T)) : 0;
  }
}

template <typename T>
WEIR_DEVICE void store_elements(std::byte* to, const UnitRange& reach,
                                const uint64_t (&granules)[kGranules]) {
  WEIR_UNROLLED
  for (int k = 0; k < kGranules; ++k) {
    const uint32_t at = reach.first + k * reach.step;
    if (at < reach.end) device::store_as<T>(to + uint64_t{at} * sizeof(T), granules[k]);
  }
}

/// Loads units of `width` bytes: 16, or one element.
WEIR_DEVICE void load_units(const std::byte* from, uint32_t width, const UnitRange& reach,
                            uint64_t (&granules)[kGranules]) {
  switch (width) {
    case 1: return load_elements<uint8_t>(from, reach, granules);
    case 2: return load_elements<uint16_t>(from, reach, granules);
    case 4: return load_elements<uint32_t>(from, reach, granules);
    case 8: return load_elements<uint64_t>(from, reach, granules);
    default: break;
  }
  WEIR_UNROLLED
  for (int k = 0; k < kGranules / 2; ++k) {
    const uint32_t at = reach.first + k * reach.step;
    device::Wide value{0, 0};
    if (at < reach.end) value = device::load_wide(from + uint64_t{at} * 16);
    granules[2 * k] = value.low;
    granules[2 * k + 1] = value.high;
  }
}

WEIR_DEVICE void store_units(std::byte* to, uint32_t width, const UnitRange& reach,
                             const uint64_t (&granules)[kGranules]) {
  switch (width) {
    case 1: return store_elements<uint8_t>(to, reach, granules);
    case 2: return store_elements<uint16_t>(to, reach, granules);
    case 4: return store_elements<uint32_t>(to, reach, granules);
    case 8: return store_elements<uint64_t>(to, reach, granules);
    default: break;
  }
  WEIR_UNROLLED
  for (int k = 0; k < kGranules / 2; ++k) {
    const uint32_t at = reach.first + k * reach.step;
    if (at < reach.end) device::store_wide(to + uint64_t{at} * 16, {granules[2 * k], granules[2 * k + 1]});
  }
}

/// The scalar, repeated to fill 8 bytes. Here and below `Operation` is Launch or MoveLaunch.
template <typename Operation>
WEIR_DEVICE uint64_t factor_of(const Operation& launch) {
  if (launch.factor_at == nullptr) return launch.factor;
  switch (launch.element) {
    case 1: return device::load_as<uint8_t>(launch.factor_at) * 0x0101010101010101u;
    case 2: return device::load_as<uint16_t>(launch.factor_at) * 0x0001000100010001u;
    case 4: return device::load_as<uint32_t>(launch.factor_at) * 0x0000000100000001u;
    default: return device::load_as<uint64_t>(launch.factor_at);
  }
}

template <typename Operation, int kCount>
WEIR_DEVICE void scale(const Operation& launch, uint64_t (&granules)[kCount]) {
  uint64_t factors[kCount];
  const uint64_t factor = factor_of(launch);
  WEIR_UNROLLED
  for (int k = 0; k < kCount; ++k) factors[k] = factor;
  device::multiply(launch.type, granules, factors);
}

/// Moves a piece whose sources and destinations are all in plain memory: in units of 16 bytes as far as
/// possible, then by elements.
template <typename Operation>
WEIR_DEVICE void transfer_memory(const Operation& launch, const LaneTransfer& transfer,
                                 const device::Block& block) {
  const uint32_t element = launch.element;
  const uint32_t bytes = transfer.count * element;
  const uint32_t wide_bytes = transfer.wide ? bytes / 16 * 16 : 0;
  WEIR_ROLLED
  for (int by_element = 0; by_element < 2; ++by_element) {
    const uint32_t width = by_element == 0 ? 16 : element;
    const uint32_t begin = by_element == 0 ? 0 : wide_bytes / element;
    const uint32_t end = by_element == 0 ? wide_bytes / 16 : transfer.count;
    const uint32_t batch = block.threads * static_cast<uint32_t>(by_element == 0 ? kGranules / 2 : kGranules);
    WEIR_ROLLED
    for (uint32_t first = begin + block.thread; first < end; first += batch) {
      const UnitRange reach{first, block.threads, end};
      uint64_t value[kGranules];
      uint64_t other[kGranules];
      WEIR_ROLLED
      for (int s = 0; s < transfer.source_count; ++s) {
        load_units(transfer.sources[s], width, reach, other);
        if ((transfer.scaled >> s & 1) != 0) scale(launch, other);
        if (s == 0) {
          WEIR_UNROLLED
          for (int k = 0; k < kGranules; ++k) value[k] = other[k];
        } else {
          device::combine(launch.type, launch.op, value, other);
        }
      }
      if (transfer.divides) device::divide(launch.type, value, launch.divisor);
      WEIR_ROLLED
      for (int d = 0; d < transfer.destination_count; ++d) {
        store_units(transfer.destinations[d], width, reach, value);
      }
    }
  }
}

/// Loads a granule's elements from plain memory, up to `end` bytes.
WEIR_DEVICE uint64_t load_granule(const std::byte* from, uint32_t at, uint32_t end, uint32_t element) {
  if (element == 8 || (at + 8 <= end && reinterpret_cast<uintptr_t>(from) % 8 == 0)) {
    return device::load_as<uint64_t>(from + at);
  }
  uint64_t granule = 0;
  WEIR_ROLLED
  for (uint32_t k = 0; k < 8 && at + k < end; k += element) {
    const std::byte* const place = from + at + k;
    const uint64_t value = element == 1   ? device::load_as<uint8_t>(place)
                           : element == 2 ? device::load_as<uint16_t>(place)
                                          : device::load_as<uint32_t>(place);
    granule |= value << (8 * k);
  }
  return granule;
}

WEIR_DEVICE void store_granule(std::byte* to, uint32_t at, uint32_t end, uint32_t element, uint64_t granule) {
  if (element == 8 || (at + 8 <= end && reinterpret_cast<uintptr_t>(to) % 8 == 0)) {
    return device::store_as<uint64_t>(to + at, granule);
  }
  WEIR_ROLLED
  for (uint32_t k = 0; k < 8 && at + k < end; k += element) {
    std::byte* const place = to + at + k;
    const uint64_t value = granule >> (8 * k);
    if (element == 1) device::store_as<uint8_t>(place, value);
    if (element == 2) device::store_as<uint16_t>(place, value);
    if (element == 4) device::store_as<uint32_t>(place, value);
  }
}

/// Stores 8 bytes in a slot: each half of 4 bytes together with the message's flag.
WEIR_DEVICE void store_packet(std::byte* slot, uint64_t granule, uint32_t flag) {
  const uint64_t high = uint64_t{flag} << 32;
  device::store_pair_relaxed(reinterpret_cast<device::Wide*>(slot),
                             {high | (granule & 0xffffffffu), high | (granule >> 32)});
}

/// Returns whether the packet has arrived, and its 8 bytes in `granule`.
WEIR_DEVICE bool try_packet(const std::byte* slot, uint32_t flag, uint64_t& granule) {
  const device::Wide pair = device::load_pair_relaxed(reinterpret_cast<const device::Wide*>(slot));
  if (pair.low >> 32 != flag || pair.high >> 32 != flag) return false;
  granule = (pair.low & 0xffffffffu) | pair.high << 32;
  return true;
}

/// Called between polls; returns whether to continue polling. After a while it writes the awaited rank to the
/// block's note.
WEIR_DEVICE bool may_wait(const Launch& launch, const device::Block& block, uint32_t looks,
                          uint32_t channel) {
  constexpr uint32_t kLong = 1u << 16;
  if (looks % 32 != 31) return true;
  if (looks % kLong == kLong - 1) {
    const Port& port = launch.ports[uint64_t{block.index % launch.shards} * launch.channels + channel];
    device::store_relaxed(&launch.notes[block.index].waiting, uint64_t{port.peer} + 1);
  }
  device::pause();
  return device::load_relaxed(launch.abort) == 0;
}

/// Moves a piece with at least one source or destination in packets. Returns false if the launch was aborted
/// while this thread waited.
WEIR_DEVICE bool transfer_packets(const Launch& launch, const LaneTransfer& transfer,
                                  const device::Block& block) {
  const uint32_t element = launch.element;
  const uint32_t bytes = transfer.count * element;
  WEIR_ROLLED
  for (uint32_t at = block.thread * 8; at < bytes; at += block.threads * 8) {
    uint64_t value[1] = {};
    WEIR_ROLLED
    for (int s = 0; s < transfer.source_count; ++s) {
      uint64_t other[1] = {};
      if ((transfer.from_packets >> s & 1) != 0) {
        for (uint32_t looks = 0;
             !try_packet(transfer.sources[s] + uint64_t{at} * 2, transfer.source_flags[s], other[0]);
             ++looks) {
          if (!may_wait(launch, block, looks, transfer.source_channels[s])) return false;
        }
      } else {
        other[0] = load_granule(transfer.sources[s], at, bytes, element);
      }
      if ((transfer.scaled >> s & 1) != 0) scale(launch, other);
      if (s == 0) {
        value[0] = other[0];
      } else {
        device::combine(launch.type, launch.op, value, other);
      }
    }
    if (transfer.divides) device::divide(launch.type, value, launch.divisor);
    WEIR_ROLLED
    for (int d = 0; d < transfer.destination_count; ++d) {
      if ((transfer.to_packets >> d & 1) != 0) {
        store_packet(transfer.destinations[d] + uint64_t{at} * 2, value[0], transfer.destination_flags[d]);
      } else {
        store_granule(transfer.destinations[d], at, bytes, element, value[0]);
      }
    }
  }
  return true;
}

}  // namespace weir::exec::gpu
