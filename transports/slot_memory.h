// SPDX-License-Identifier: Apache-2.0
/// Memory that the slots of channel ends may lie in though the host cannot touch it: that of a GPU, which
/// network adapters read and write by themselves (GPUDirect RDMA). A transport is lent it whole
/// (Transport::lend), ends are then opened with slots somewhere in it (LinkSpec::lent).
#pragma once

#include <cstddef>
#include <string>

#include "src/net/socket.h"
#include "weir/status.h"

namespace weir {

/// Stays until it is taken back from all transports. Used by one thread at a time.
class SlotMemory {
 public:
  virtual ~SlotMemory() = default;
  /// Whole pages, as the device names them.
  virtual std::byte* begin() const = 0;
  virtual size_t bytes() const = 0;
  /// A descriptor of a dmabuf that is all of it. An error: its driver gives none, and adapters may know it by
  /// its addresses at best.
  virtual Result<Socket> file() const = 0;
  /// Whether the port of an adapter ("mlx5_0") is to use it; else a sentence, as that it is too far away.
  virtual Status allows(const std::string& device) const = 0;
};

}  // namespace weir
