// SPDX-License-Identifier: Apache-2.0
/// A process whose memory peers on its host read where it is, through the kernel (remote_memory.h).
///
/// Thread-safe.
/// Tests: tests/transports/memory_owner_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "transports/memory/remote_memory.h"

namespace weir {

/// Plain data, for shared memory.
struct MemoryOwner {
  int64_t pid = 0;
  uint64_t pid_namespace = 0;
  RemoteAddress token_address = 0;  ///< where `token` is, which shows that `pid` is still that process
  uint64_t token = 0;

  /// This process.
  static MemoryOwner self();
};

/// Copies bytes of the owner's memory. False if they cannot be read: another pid namespace, the kernel
/// forbids it, the process is gone, or has nothing there; the log says which.
bool read_memory(const MemoryOwner& owner, RemoteAddress from, std::byte* to, size_t bytes);

}  // namespace weir
