// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/window.h"

#include <fmt/format.h>

#include <cstring>

#include "src/base/printable.h"

namespace weir::core {
namespace {

/// First byte of a delivery's message; no other message to the listener begins with it
/// (activity_registry.cc).
constexpr uint8_t kWindowQuestion = 0x20;

Status not_yet() { return {Code::in_progress, "the rank has not registered the window yet"}; }

}  // namespace

uint32_t WindowSpace::add(void* data, size_t bytes, bool writable) {
  std::lock_guard lock(mutex_);
  windows_.push_back({static_cast<std::byte*>(data), bytes, writable, false});
  return static_cast<uint32_t>(windows_.size() - 1);
}

void WindowSpace::remove(uint32_t number) {
  std::lock_guard lock(mutex_);
  windows_[number].removed = true;
}

Delivered WindowSpace::write(const Delivery& delivery) const {
  if (delivery.window >= windows_.size()) return not_yet();
  const Window& window = windows_[delivery.window];
  if (window.removed)
    return {Code::invalid_usage, fmt::format("its window number {} was deregistered", delivery.window)};
  if (!window.writable)
    return {Code::invalid_usage, fmt::format("its window number {} is not host memory", delivery.window)};
  if (delivery.offset > window.bytes || delivery.bytes.size() > window.bytes - delivery.offset)
    return {Code::invalid_argument,
            fmt::format("its window number {} has {} bytes, too few for {} bytes at offset {}",
                        delivery.window, window.bytes, delivery.bytes.size(), delivery.offset)};
  std::memmove(window.data + delivery.offset, delivery.bytes.data(), delivery.bytes.size());
  return {};
}

Delivered WindowSpace::take(const Delivery& delivery) {
  std::lock_guard lock(mutex_);
  if (!open_) return not_yet();
  if (!delivery.bytes.empty()) WEIR_TRY(write(delivery));
  if (!delivery.signal) return {};
  ++signals_[*delivery.signal];
  if (bell_ != nullptr) bell_->ring();
  return {};
}

bool WindowSpace::consume(const SignalKey& key, uint64_t count) {
  std::lock_guard lock(mutex_);
  const auto found = signals_.find(key);
  const uint64_t come = found == signals_.end() ? 0 : found->second;
  if (come < count) return false;
  if (count == 0) return true;
  found->second -= count;
  if (found->second == 0) signals_.erase(found);
  return true;
}

void WindowSpace::open(Doorbell* bell) {
  std::lock_guard lock(mutex_);
  open_ = true;
  bell_ = bell;
}

void WindowSpace::close() {
  std::lock_guard lock(mutex_);
  open_ = false;
  bell_ = nullptr;
}

WindowRegistry::Registration::Registration(WindowRegistry& windows, uint64_t uid, Rank rank,
                                           std::shared_ptr<WindowSpace> space, Doorbell* bell)
    : windows_(windows), uid_(uid), rank_(rank), space_(std::move(space)) {
  space_->open(bell);
  std::lock_guard lock(windows_.mutex_);
  windows_.spaces_[{uid_, rank_}] = space_;
}

WindowRegistry::Registration::~Registration() {
  {
    std::lock_guard lock(windows_.mutex_);
    windows_.spaces_.erase({uid_, rank_});
  }
  space_->close();
}

std::shared_ptr<WindowSpace> WindowRegistry::find(uint64_t uid, Rank rank) const {
  std::lock_guard lock(mutex_);
  const auto found = spaces_.find({uid, rank});
  return found == spaces_.end() ? nullptr : found->second;
}

Delivered WindowRegistry::deliver(uint64_t uid, Rank to, const Delivery& delivery) {
  const std::shared_ptr<WindowSpace> space = find(uid, to);
  return space == nullptr ? not_yet() : space->take(delivery);
}

bool WindowRegistry::is_meant(BytesView question) {
  return !question.empty() && question[0] == std::byte{kWindowQuestion};
}

Bytes WindowRegistry::question(Rank to, const Delivery& delivery) {
  ByteWriter out;
  out.put(kWindowQuestion).put(to).put(delivery.window).put(delivery.offset);
  out.put(delivery.signal.has_value()).put(delivery.signal.value_or(SignalKey{}));
  out.put_bytes(delivery.bytes);
  return out.take();
}

Bytes WindowRegistry::answer(uint64_t uid, BytesView question) {
  ByteReader in(question);
  in.get<uint8_t>();
  const auto to = in.get<Rank>();
  Delivery delivery;
  delivery.window = in.get<uint32_t>();
  delivery.offset = in.get<uint64_t>();
  const bool signals = in.get<uint8_t>() != 0;
  const auto key = in.get<SignalKey>();
  const auto bytes = in.get<uint32_t>();
  if (!in.ok() || in.remaining() != bytes) return {};
  delivery.bytes = question.last(bytes);
  if (signals) delivery.signal = key;
  const Delivered delivered = deliver(uid, to, delivery);
  return ByteWriter().put(static_cast<int32_t>(delivered.code())).put_string(delivered.message()).take();
}

std::optional<Delivered> WindowRegistry::read_answer(BytesView answer) {
  ByteReader in(answer);
  const auto code = in.get<int32_t>();
  const std::string message = printable(in.get_string());
  if (!in.ok()) return std::nullopt;
  switch (static_cast<Code>(code)) {
    case Code::success: return Delivered();
    case Code::in_progress:
    case Code::invalid_argument:
    case Code::invalid_usage: return Delivered(static_cast<Code>(code), message);
    default: return std::nullopt;
  }
}

}  // namespace weir::core
