// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/proxied_end.h"

#include <fmt/format.h>

#include <cstring>

namespace weir::core {
namespace {

using exec::gpu::Port;
using exec::gpu::ProxyRings;

/// First channel number of proxies, far above those of other channels (src/exec/program.h,
/// src/core/execution/pairs.cc).
constexpr uint32_t kFirstChannel = 1u << 21;

uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void store(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

/// Moves messages from the ring, into which kernels write, to the channel. With `shares` the ring's slots are
/// the channel's: messages are sent in place, and a slot is free again when the channel reports it.
class Outgoing final : public ProxiedEnd {
 public:
  Outgoing(const Port& ring, std::unique_ptr<Sender> channel, bool shares)
      : ProxiedEnd(ring), channel_(std::move(channel)), shares_(shares) {}

  Result<bool> ready() override { return channel_->ready(); }
  Result<bool> move() override {
    bool moved = false;
    for (; has_room() && carried_ < load(ring_.arrived); moved = true) {
      const size_t slot = carried_ % ring_.count;
      const uint64_t tag = __atomic_load_n(ring_.arrived + 1 + slot, __ATOMIC_RELAXED);
      const uint64_t bytes = __atomic_load_n(ring_.arrived + 1 + ring_.count + slot, __ATOMIC_RELAXED);
      if (bytes > ring_.stride)
        return Status(Code::internal_error,
                      fmt::format("a kernel has put {} bytes into a slot of {} bytes", bytes, ring_.stride));
      ++carried_;
      if (shares_) {
        channel_->publish(tag, static_cast<uint32_t>(bytes));
      } else {
        channel_->publish(tag, static_cast<uint32_t>(bytes), {ring_.slots + slot * ring_.stride});
        store(ring_.taken, carried_);
      }
    }
    if (!moved && (!drained() || awaits_peer())) WEIR_TRY(channel_->progress());
    return moved;
  }
  bool awaits_peer() const override { return shares_ && carried_ - freed_ == ring_.count && drained(); }
  bool drained() const override { return carried_ == load(ring_.arrived) && channel_->flushed(); }

 private:
  /// Whether the channel has a free slot for a message; frees the ring's slots that the channel no longer
  /// uses.
  bool has_room() {
    if (!shares_ && carried_ == load(ring_.arrived)) return false;
    if (channel_->acquire() == nullptr) return false;
    const uint64_t free = shares_ && carried_ >= ring_.count ? carried_ + 1 - ring_.count : 0;
    if (free > freed_) store(ring_.taken, freed_ = free);
    return true;
  }

  const std::unique_ptr<Sender> channel_;
  const bool shares_;
  uint64_t freed_ = 0;  ///< number of shared slots freed
};

/// Moves messages from the channel to the ring, from which kernels read.
class Incoming final : public ProxiedEnd {
 public:
  Incoming(const Port& ring, std::unique_ptr<Receiver> channel)
      : ProxiedEnd(ring), channel_(std::move(channel)) {}

  Result<bool> ready() override { return channel_->ready(); }
  Result<bool> move() override {
    bool moved = false;
    const Message* message = nullptr;
    for (; (message = channel_->peek()) != nullptr; moved = true) {
      if (carried_ - load(ring_.taken) == ring_.count) return moved;
      const size_t slot = carried_ % ring_.count;
      if (message->bytes > 0) std::memcpy(ring_.slots + slot * ring_.stride, message->data, message->bytes);
      __atomic_store_n(ring_.arrived + 1 + slot, message->tag, __ATOMIC_RELAXED);
      store(ring_.arrived, ++carried_);
      channel_->release();
    }
    if (moved) return true;
    const Status served = channel_->progress();
    if (!served.ok() && channel_->peek() == nullptr) return served;
    return false;
  }
  bool awaits_peer() const override { return true; }
  bool drained() const override { return true; }

 private:
  const std::unique_ptr<Receiver> channel_;
};

/// Like Incoming, but the ring's slots are the channel's: adapters write messages into them. The channel gets
/// a slot back when a kernel has taken its message.
class SharedIncoming final : public ProxiedEnd {
 public:
  SharedIncoming(const Port& ring, std::unique_ptr<Receiver> channel, device::GpuDirect& direct)
      : ProxiedEnd(ring), channel_(std::move(channel)), direct_(direct) {}

  Result<bool> ready() override { return channel_->ready(); }
  Result<bool> move() override {
    bool moved = false;
    if (shown_ && load(ring_.taken) == carried_) {
      channel_->release();
      shown_ = false;
      moved = true;
    }
    if (shown_) return moved;
    const Message* const message = channel_->peek();
    if (message == nullptr) {
      const Status served = channel_->progress();
      if (!served.ok() && channel_->peek() == nullptr) return served;
      return moved;
    }
    WEIR_TRY(direct_.settle());
    __atomic_store_n(ring_.arrived + 1 + carried_ % ring_.count, message->tag, __ATOMIC_RELAXED);
    store(ring_.arrived, ++carried_);
    return shown_ = true;
  }
  bool awaits_peer() const override { return true; }
  bool drained() const override { return !shown_ || load(ring_.taken) != carried_; }

 private:
  const std::unique_ptr<Receiver> channel_;
  device::GpuDirect& direct_;
  bool shown_ = false;  ///< kernels can see the channel's oldest message
};

}  // namespace

Result<bool> ProxiedEnd::carry() {
  if (!ready_) {
    const Result<bool> ready = this->ready();
    WEIR_TRY(ready.status());
    ready_ = *ready;
  }
  return ready_ ? move() : Result<bool>(false);
}

Result<std::unique_ptr<ProxiedEnd>> ProxiedEnd::open(Rank self, device::Gpu& gpu, const ProxyRings& rings,
                                                     const ProxyRings::End& end, const Routes& routes) {
  const Route& route = routes.to(end.peer);
  const Port ring = rings.on_host(end);
  const bool shares = rings.is_placed(end);
  const LinkSpec spec{self,
                      end.peer,
                      kFirstChannel + end.ring,
                      ProxyRings::kSlots,
                      static_cast<uint32_t>(rings.slot_bytes()),
                      shares ? ring.slots : nullptr};
  if (end.outgoing) {
    auto channel = route.transport->open_sender(route.address, spec);
    WEIR_TRY(channel.status());
    return std::unique_ptr<ProxiedEnd>(new Outgoing(ring, std::move(*channel), shares));
  }
  auto channel = route.transport->open_receiver(route.address, spec);
  WEIR_TRY(channel.status());
  if (shares)
    return std::unique_ptr<ProxiedEnd>(new SharedIncoming(ring, std::move(*channel), *gpu.direct()));
  return std::unique_ptr<ProxiedEnd>(new Incoming(ring, std::move(*channel)));
}

}  // namespace weir::core
