// SPDX-License-Identifier: Apache-2.0
/// Memory for slots of channel ends that the host cannot access: memory of a GPU, which network adapters read
/// and write directly (GPUDirect RDMA). It is registered as a whole with a transport (SlotRegistrar); ends
/// may then be opened with slots inside it (LinkSpec::slot_memory).
/// Tests: tests/transports/conformance.cc
#pragma once

#include <cstddef>
#include <string>

#include "src/base/status.h"
#include "src/net/socket.h"

namespace weir {

/// Must stay valid until all transports have released it. Used by one thread at a time.
class SlotMemory {
 public:
  virtual ~SlotMemory() = default;
  /// Whole pages, at the address that the device uses.
  virtual std::byte* begin() const = 0;
  virtual size_t bytes() const = 0;
  /// File descriptor of a dmabuf that covers all of it. An error if the driver provides none; then adapters
  /// can at best register it by address.
  virtual Result<Socket> file() const = 0;
  /// Whether the port of an adapter ("mlx5_0") should use it; else the reason, such as its distance.
  virtual Status allows(const std::string& device) const = 0;
};

}  // namespace weir
