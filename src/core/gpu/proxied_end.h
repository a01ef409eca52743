// SPDX-License-Identifier: Apache-2.0
/// One end of a ring between hosts, and the transport channel that carries its messages: what a proxy serves.
///
/// Not thread-safe; the kernels at the ring's other side may run meanwhile. Never blocks.
#pragma once

#include <memory>

#include "src/core/channels/routes.h"
#include "src/device/gpu_direct.h"
#include "src/exec/gpu/proxy_rings.h"

namespace weir::core {

class ProxiedEnd {
 public:
  /// Opens the channel; `rings`, the GPU whose they are and the route's transport outlive the end. Errors:
  /// the transport's.
  static Result<std::unique_ptr<ProxiedEnd>> open(Rank self, device::Gpu& gpu,
                                                  const exec::gpu::ProxyRings& rings,
                                                  const exec::gpu::ProxyRings::End& end,
                                                  const Routes& routes);
  virtual ~ProxiedEnd() = default;

  Rank peer() const { return static_cast<Rank>(ring_.peer); }
  /// Moves what can be moved: whether anything was. Errors: those of a broken channel; where kernels
  /// wait for the peer first, perhaps only that it is done.
  Result<bool> carry();
  /// Whether a kernel that uses the ring next waits for the peer first, be it for a message or for room.
  virtual bool awaits_peer() const = 0;
  /// Nothing that a kernel of this rank has sent or taken is still to be told to the peer.
  virtual bool drained() const = 0;

 protected:
  explicit ProxiedEnd(const exec::gpu::Port& ring) : ring_(ring) {}

  /// Of the channel; and carry() once it is.
  virtual Result<bool> ready() = 0;
  virtual Result<bool> move() = 0;

  const exec::gpu::Port ring_;  ///< as the host names it
  uint64_t carried_ = 0;        ///< messages

 private:
  bool ready_ = false;
};

}  // namespace weir::core
