// SPDX-License-Identifier: Apache-2.0
/// Blocks of peers' memory registries (src/device/host_memory.h) that a rank has mapped to read messages
/// where they are.
///
/// A block stays mapped after its owner has freed it, until a later one takes its place or the object ends.
/// Not thread-safe. Makes system calls only for blocks that it has not seen before.
/// Tests: tests/transports/rendezvous_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "src/base/types.h"
#include "src/device/host_memory.h"
#include "transports/memory/remote_memory.h"

namespace weir {

/// Where the bytes of a rendezvous are in their owner. Plain data, for shared memory.
struct RendezvousSource {
  RemoteAddress address = 0;
  device::BlockId block;  ///< in the owner's registry; generation 0: they are in no block
  uint64_t offset = 0;    ///< in the block
  device::ShareHandle handle;
};

class AttachedBlocks {
 public:
  /// The address in this process of the first of `bytes` of `peer`; null if they are in no block, or not
  /// within one that can be mapped; the log says why.
  const std::byte* find(Rank peer, const RendezvousSource& source, size_t bytes);

 private:
  /// Without memory if it could not be mapped.
  struct Attached {
    device::BlockId block;
    device::SharedMemory memory;
  };
  static constexpr size_t kMost = 32;  ///< of each peer

  std::map<Rank, std::array<Attached, kMost>> blocks_;
};

}  // namespace weir
