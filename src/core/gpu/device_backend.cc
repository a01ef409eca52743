// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/device_backend.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::core {

class DeviceBackend::DeviceCall final : public Call {
 public:
  DeviceCall(DeviceBackend& backend, DeviceCollectives::Call call)
      : backend_(backend), call_(std::move(call)) {}
  ~DeviceCall() override {
    if (!started_) collectives().forget(call_);
  }

  Status enter() {
    started_ = true;
    return collectives().enter(call_);
  }
  /// Whether parts are left.
  Result<bool> queue() { return collectives().queue(call_); }
  void give_up(const Status& why) {
    started_ = true;
    collectives().give_up(call_, why);
  }
  bool advance() override { return false; }
  /// On streams the call goes on after the return, and its errors with it.
  Status finish() override {
    WEIR_TRY(collectives().leave(call_));
    const bool waited = std::ranges::any_of(
        call_.places, [](const StreamPlace& place) { return !place.on_gpu && place.host == nullptr; });
    return waited ? backend_.lifecycle_.usable() : Status();
  }

 private:
  DeviceCollectives& collectives() { return *backend_.collectives_; }

  DeviceBackend& backend_;
  DeviceCollectives::Call call_;
  bool started_ = false;
};

DeviceBackend::~DeviceBackend() {
  auto [peer_access, idle] = DeviceCollectives::end(std::move(collectives_));
  release_(std::move(peer_access), idle);
}

std::vector<Operation> DeviceBackend::take(std::vector<Operation>& operations,
                                           std::span<const StreamPlace> /*places*/) const {
  const auto taken = std::stable_partition(
      operations.begin(), operations.end(),
      [this](const Operation& one) { return is_point_to_point(one) && !collectives_->exchanges(); });
  std::vector<Operation> mine(std::make_move_iterator(taken), std::make_move_iterator(operations.end()));
  operations.erase(taken, operations.end());
  return mine;
}

Result<std::unique_ptr<Backend::Call>> DeviceBackend::prepare(Batch batch) {
  auto call = collectives_->prepare(std::move(batch.operations), std::move(batch.places), batch.alone);
  WEIR_TRY(call.status());
  return std::unique_ptr<Call>(std::make_unique<DeviceCall>(*this, std::move(*call)));
}

/// The kernels of all communicators are queued before any stream waits for one: they wait for each other.
Status DeviceBackend::start(std::span<Call* const> calls) {
  Status status;
  for (Call* call : calls)
    if (status.ok()) status = static_cast<DeviceCall*>(call)->enter();
  // In rounds: a driver blocks the thread where too much waits for a rank that the thread has not served yet.
  for (bool more = true; more && status.ok();) {
    more = false;
    for (Call* call : calls) {
      if (!status.ok()) break;
      const auto queued = static_cast<DeviceCall*>(call)->queue();
      status = queued.status();
      more = more || (queued.ok() && *queued);
    }
  }
  if (status.ok()) return {};
  for (Call* call : calls) static_cast<DeviceCall*>(call)->give_up(status);
  return status;
}

}  // namespace weir::core
