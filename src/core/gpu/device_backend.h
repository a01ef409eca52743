// SPDX-License-Identifier: Apache-2.0
/// Carries collectives out as kernels on GPUs that reach each other's memory, or by operations of their
/// streams (DeviceCollectives); sends and receives too where the GPUs exchange messages.
/// Tests: tests/core/device_collectives_test.cc
#pragma once

#include <functional>
#include <memory>

#include "src/core/call/backend.h"
#include "src/core/call/lifecycle.h"
#include "src/core/gpu/device_collectives.h"

namespace weir::core {

class DeviceBackend final : public Backend {
 public:
  /// Takes what the GPUs share once nothing uses it any more, and whether their streams are idle.
  using Release = std::function<void(std::unique_ptr<GpuPeerAccess> peer_access, bool idle)>;

  /// `lifecycle` outlives it.
  DeviceBackend(std::unique_ptr<DeviceCollectives> collectives, const Lifecycle& lifecycle, Release release)
      : lifecycle_(lifecycle), release_(std::move(release)), collectives_(std::move(collectives)) {}
  /// Waits a while until its stream is empty.
  ~DeviceBackend() override;

  std::vector<Operation> take(std::vector<Operation>& operations,
                              std::span<const StreamPlace> places) const override;
  Result<std::unique_ptr<Call>> prepare(Batch batch) override;
  Status start(std::span<Call* const> calls) override;
  void abort() override { collectives_->abort(); }
  bool idle() const override { return collectives_->idle(); }
  void wait_idle() override { collectives_->wait_idle(); }
  /// Memory of the GPU that it holds; bytes.
  size_t gpu_bytes() const { return collectives_->gpu_bytes(); }

 private:
  class DeviceCall;

  const Lifecycle& lifecycle_;
  const Release release_;
  std::unique_ptr<DeviceCollectives> collectives_;
};

}  // namespace weir::core
