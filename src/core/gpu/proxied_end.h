// SPDX-License-Identifier: Apache-2.0
/// One end of a ring between hosts, with the transport channel that carries its messages; served by a proxy.
///
/// Not thread-safe, but kernels may use the ring's other side at the same time. Never blocks.
/// Tests: tests/core/proxied_end_test.cc
#pragma once

#include <memory>

#include "src/core/channels/routes.h"
#include "src/device/gpu_direct.h"
#include "src/exec/gpu/proxy_rings.h"

namespace weir::core {

class ProxiedEnd {
 public:
  /// Opens the channel; `rings`, their GPU and the route's transport outlive the end. Errors: the
  /// transport's.
  static Result<std::unique_ptr<ProxiedEnd>> open(Rank self, device::Gpu& gpu,
                                                  const exec::gpu::ProxyRings& rings,
                                                  const exec::gpu::ProxyRings::End& end,
                                                  const Routes& routes);
  virtual ~ProxiedEnd() = default;

  Rank peer() const { return static_cast<Rank>(ring_.peer); }
  /// Moves the messages that can be moved; true if there was any. Errors: those of a broken channel. If
  /// awaits_peer(), the error may only mean that the peer has ended.
  Result<bool> carry();
  /// Whether the next kernel that uses the ring will wait for the peer: for a message, or for a free slot.
  virtual bool awaits_peer() const = 0;
  /// True if the peer has been told of all that this rank's kernels have sent or taken.
  virtual bool drained() const = 0;

 protected:
  explicit ProxiedEnd(const exec::gpu::Port& ring) : ring_(ring) {}

  /// Whether the channel is ready; and carry() once it is.
  virtual Result<bool> ready() = 0;
  virtual Result<bool> move() = 0;

  const exec::gpu::Port ring_;  ///< ring, with addresses of the host
  uint64_t carried_ = 0;        ///< number of messages

 private:
  bool ready_ = false;
};

}  // namespace weir::core
