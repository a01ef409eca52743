// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/pairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/call/signature.h"

namespace weir::core {
namespace {

/// First channel number for pairs, above those of plans' lanes (program.h).
constexpr uint32_t kPairChannel = 1u << 20;

/// Polls for a message before it counts as late. A message in flight arrives within them, sooner than
/// yielding the core would take (docs/performance.md).
constexpr int kLooks = 50;

/// Largest transfer that is read through the kernel if the group only sends: then two copies overlap, and
/// larger ones take less time so (docs/lab/changes.md).
constexpr size_t kMostKernelReadAlone = 1 << 20;

/// Smallest transfer whose bytes would be gone from the caches before somebody reads them.
constexpr size_t kLeastStreamed = size_t{16} << 20;

/// Size of messages by rendezvous: other directions and aborts need not wait for long.
constexpr size_t kRendezvousBytes = 1 << 20;

const Message* look(Receiver& receiver) {
  const Message* message = receiver.peek();
  for (int i = 1; message == nullptr && i < kLooks; ++i) message = receiver.peek();
  return message;
}

}  // namespace

Status Pairs::open(Rank peer, bool sends) {
  const exec::Channel channel{peer, kPairChannel, sends, 1};
  WEIR_TRY(links_.open(channel, links_.sizes().pair));
  auto direction = std::make_unique<Direction>();
  direction->peer = peer;
  direction->sender = links_.sender(channel);
  direction->receiver = links_.receiver(channel);
  entry(peer, sends) = std::move(direction);
  return {};
}

Status Pairs::start(std::span<const Operation> operations, bool check) {
  group_receives_ = std::ranges::any_of(
      operations, [](const Operation& operation) { return std::holds_alternative<RecvOp>(operation); });
  for (const Operation& operation : operations) {
    if (const auto* const send = std::get_if<SendOp>(&operation))  // its buffer is only read
      WEIR_TRY(
          add(send->peer, true, const_cast<void*>(send->input), send->count * size_of(send->type), check));
    else if (const auto* const recv = std::get_if<RecvOp>(&operation))
      WEIR_TRY(add(recv->peer, false, recv->output, recv->count * size_of(recv->type), check));
  }
  return {};
}

/// Queues one transfer in its direction.
Status Pairs::add(Rank peer, bool sends, void* data, size_t bytes, bool check) {
  const std::unique_ptr<Direction>& direction = entry(peer, sends);
  if (direction == nullptr) [[unlikely]]
    WEIR_TRY(open(peer, sends));
  if (direction->queue.empty()) busy_.push_back(direction.get());
  Transfer& transfer = direction->queue.emplace_back();
  transfer.data = static_cast<std::byte*>(data);
  transfer.left = bytes;
  transfer.total = bytes;
  transfer.tag = uint64_t{++direction->begun} << 32 | (check ? pair_signature(bytes) : 0);
  const SlotShape& slots = links_.sizes().pair;
  transfer.may_stay = group_receives_ || bytes > size_t{slots.count} * slots.bytes;
  transfer.kernel_read = group_receives_ || bytes <= kMostKernelReadAlone;
  return {};
}

void Pairs::send_first() {
  for (Direction* const direction : busy_)
    if (direction->sender != nullptr) send(*direction);
}

exec::Progress Pairs::advance() {
  bool moved = false;
  bool receives = false;
  for (size_t i = 0; i < busy_.size();) {
    Direction& direction = *busy_[i];
    moved |= direction.sender != nullptr ? send(direction) : receive(direction);
    if (!error_.ok()) return exec::Progress::failed;
    if (direction.done()) {
      direction.queue.clear();
      direction.next = 0;
      direction.rendezvous = false;
      busy_[i] = busy_.back();
      busy_.pop_back();
      continue;
    }
    // Reports a wait for a message rather than one for a slot.
    if (!receives) waiting_for_ = direction.peer;
    receives |= direction.receiver != nullptr;
    ++i;
  }
  if (busy_.empty()) return exec::Progress::done;
  return moved ? exec::Progress::moved : exec::Progress::blocked;
}

std::vector<Rank> Pairs::awaited() const {
  std::vector<Rank> ranks;
  for (const Direction* direction : busy_) {
    if (direction->receiver != nullptr) ranks.push_back(direction->peer);
  }
  if (ranks.empty()) ranks.push_back(waiting_for_);
  return ranks;
}

bool Pairs::goes_by_rendezvous(const Sender& sender, const Transfer& transfer, size_t bytes) {
  if (!transfer.may_stay) return false;
  const SendMode mode = sender.send_mode({transfer.data, true}, static_cast<uint32_t>(bytes));
  return mode == SendMode::shared_read || (mode == SendMode::kernel_read && transfer.kernel_read);
}

/// Sends messages while slots are free. True if any was sent.
bool Pairs::send(Direction& direction) {
  Sender& sender = *direction.sender;
  bool moved = false;
  while (direction.next < direction.queue.size()) {
    Transfer& transfer = direction.queue[direction.next];
    std::byte* const slot = sender.acquire();
    if (slot == nullptr) break;
    size_t now = std::min(transfer.left, kRendezvousBytes);
    if (goes_by_rendezvous(sender, transfer, now)) {
      sender.publish(transfer.tag, static_cast<uint32_t>(now), {transfer.data, true});
      direction.rendezvous = true;
    } else {
      now = std::min<size_t>(now, links_.sizes().pair.bytes);
      direction.handed_copies.copy(slot, transfer.data, now);
      sender.publish(transfer.tag, static_cast<uint32_t>(now));
    }
    transfer.data += now;
    transfer.left -= now;
    if (transfer.left == 0) ++direction.next;
    moved = true;
  }
  // The receiver may be unable to read a rendezvous; serve() tells of a broken channel.
  if (!moved && direction.rendezvous) static_cast<void>(sender.progress());
  return moved;
}

/// Receives messages that have arrived. True if there was any.
bool Pairs::receive(Direction& direction) {
  bool moved = false;
  while (direction.next < direction.queue.size()) {
    const Message* const message = look(*direction.receiver);
    if (message == nullptr) return moved;
    Transfer& transfer = direction.queue[direction.next];
    const bool rendezvous = message->data == nullptr && message->bytes > 0;
    const size_t now =
        std::min<size_t>(transfer.left, rendezvous ? kRendezvousBytes : links_.sizes().pair.bytes);
    if (message->tag != transfer.tag || message->bytes != now) {
      error_ = mismatch(direction);
      return moved;
    }
    if (rendezvous) {
      if (!direction.receiver->fetch(transfer.data)) return moved;
    } else {
      device::copy(transfer.data, message->data, now,
                   transfer.total >= kLeastStreamed ? device::Traffic::streaming : device::Traffic::cached);
    }
    direction.receiver->release();
    transfer.data += now;
    transfer.left -= now;
    if (transfer.left == 0) ++direction.next;
    moved = true;
    // The peer reads meanwhile what this rank sends, and soon needs more of it.
    if (rendezvous) return moved;
  }
  return moved;
}

void Pairs::recall() {
  for (const Direction* direction : busy_)
    if (direction->sender != nullptr) direction->sender->recall();
}

/// The error if the next message does not belong to the transfer that waits for it.
Status Pairs::mismatch(const Direction& direction) const {
  const Transfer& transfer = direction.queue[direction.next];
  return {
      Code::invalid_usage,
      fmt::format("rank {}'s send to rank {} (number {} between the two) differs in size from the matching "
                  "receive of {} bytes on rank {}",
                  direction.peer, self_, transfer.tag >> 32, transfer.total, self_)};
}

Status Pairs::serve(Rank& peer) {
  for (const Direction* direction : busy_) {
    Status trouble =
        direction->sender != nullptr ? direction->sender->progress() : direction->receiver->progress();
    if (trouble.ok()) continue;
    peer = direction->peer;
    return trouble;
  }
  return {};
}

}  // namespace weir::core
