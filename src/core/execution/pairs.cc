// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/core/call/signature.h"

namespace weir::core {
namespace {

/// First channel number for pairs, above those of plans' lanes (program.h).
constexpr uint32_t kPairChannel = 1u << 20;
/// For the answers to what comes through the other.
constexpr uint32_t kAnswerChannel = kPairChannel + 1;

exec::Channel data_channel(Rank peer, bool sends) { return {peer, kPairChannel, sends, 1}; }
exec::Channel answer_channel(Rank peer, bool sends) { return {peer, kAnswerChannel, sends, 0}; }

/// Smallest transfer that is offered: for smaller ones two copies take less time than a system call and an
/// answer, for which ranks that share a core take turns once more (docs/lab/changes.md).
constexpr size_t kOfferBytes = 16 << 10;
constexpr size_t kOfferBytesCrowded = 64 << 10;
/// Read at a time, so that other directions and aborts need not wait for long.
constexpr size_t kFetchBytes = 1 << 20;
/// In tags of offers; transfers are not that many.
constexpr uint64_t kOffer = uint64_t{1} << 63;

/// Polls for a message before it counts as late. A message in flight arrives within them, sooner than
/// yielding the core would take (docs/performance.md).
constexpr int kLooks = 50;

const Message* look(Receiver& receiver) {
  const Message* message = receiver.peek();
  for (int i = 1; message == nullptr && i < kLooks; ++i) message = receiver.peek();
  return message;
}

}  // namespace

Pairs::Pairs(Rank self, int ranks, bool crowded, Links& links)
    : self_(self),
      offer_bytes_(crowded ? kOfferBytesCrowded : kOfferBytes),
      links_(links),
      directions_(2 * static_cast<size_t>(ranks)) {}

Status Pairs::open(Rank peer, bool sends) {
  const exec::Channel channel = data_channel(peer, sends);
  WEIR_TRY(links_.open(channel, links_.sizes().pair_bytes));
  auto direction = std::make_unique<Direction>();
  direction->peer = peer;
  direction->sender = links_.sender(channel);
  direction->receiver = links_.receiver(channel);
  if (sends && links_.shares_memory(peer)) {
    const exec::Channel back = answer_channel(peer, false);
    WEIR_TRY(links_.open(back, 0));
    direction->answers = links_.receiver(back);
  }
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
  transfer.tag = (uint64_t{++direction->begun} << 32 & ~kOffer) | (check ? pair_signature(bytes) : 0);
  const bool waits = group_receives_ || bytes > size_t{links_.sizes().slots} * links_.sizes().pair_bytes;
  transfer.offers =
      sends && waits && bytes >= offer_bytes_ && direction->answers != nullptr && direction->is_read;
  return {};
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

/// Sends messages while slots are free. True if any was sent.
bool Pairs::send(Direction& direction) {
  bool moved = false;
  while (direction.next < direction.queue.size()) {
    Transfer& transfer = direction.queue[direction.next];
    if (transfer.offers) {
      if (!(transfer.offered ? hear_answer(direction, transfer) : offer(direction, transfer))) return moved;
      moved = true;
      continue;
    }
    std::byte* const slot = direction.sender->acquire();
    if (slot == nullptr) return moved;
    const size_t now = std::min<size_t>(transfer.left, links_.sizes().pair_bytes);
    device::copy(slot, transfer.data, now, device::Traffic::handed);
    direction.sender->publish(transfer.tag, static_cast<uint32_t>(now));
    transfer.data += now;
    transfer.left -= now;
    if (transfer.left == 0) ++direction.next;
    moved = true;
  }
  return moved;
}

/// False if no slot is free.
bool Pairs::offer(Direction& direction, Transfer& transfer) {
  std::byte* const slot = direction.sender->acquire();
  if (slot == nullptr) return false;
  const Offer offer = rendezvous_.offer(transfer.data, transfer.total);
  std::memcpy(slot, &offer, sizeof offer);
  direction.sender->publish(transfer.tag | kOffer, sizeof offer);
  transfer.offered = true;
  return true;
}

/// False if there is none yet.
bool Pairs::hear_answer(Direction& direction, Transfer& transfer) {
  const Message* const message = look(*direction.answers);
  if (message == nullptr) return false;
  const auto answer = static_cast<FetchResult>(message->tag);
  direction.answers->release();
  if (answer == FetchResult::taken) {
    links_.carried(data_channel(direction.peer, true), transfer.total);
    ++direction.next;
  } else {
    transfer.offers = false;
    direction.is_read = answer != FetchResult::never;
  }
  return true;
}

/// Receives messages that have arrived. True if there was any.
bool Pairs::receive(Direction& direction) {
  bool moved = false;
  while (direction.next < direction.queue.size()) {
    const Message* const message = look(*direction.receiver);
    if (message == nullptr) return moved;
    Transfer& transfer = direction.queue[direction.next];
    if (message->tag == (transfer.tag | kOffer) && links_.shares_memory(direction.peer))
      return take_offer(direction, transfer, *message) || moved;
    const size_t now = std::min<size_t>(transfer.left, links_.sizes().pair_bytes);
    if (message->tag != transfer.tag || message->bytes != now) {
      error_ = mismatch(direction);
      return moved;
    }
    device::copy(transfer.data, message->data, now);
    direction.receiver->release();
    transfer.data += now;
    transfer.left -= now;
    if (transfer.left == 0) ++direction.next;
    moved = true;
  }
  return moved;
}

/// Whether an answer can be sent: its channel is opened for the first one, as its other end is there by then.
bool Pairs::can_answer(Direction& direction) {
  if (direction.answering == nullptr) {
    const exec::Channel back = answer_channel(direction.peer, true);
    error_ = links_.open(back, 0);
    if (!error_.ok()) return false;
    direction.answering = links_.sender(back);
  }
  const Result<bool> ready = direction.answering->ready();
  error_ = ready.status();
  return ready.ok() && *ready && direction.answering->acquire() != nullptr;
}

/// Reads offered data in part, or answers. False if that has to wait, or failed.
bool Pairs::take_offer(Direction& direction, Transfer& transfer, const Message& message) {
  Offer offer;
  if (message.bytes == sizeof offer) std::memcpy(&offer, message.data, sizeof offer);
  if (offer.bytes != transfer.total) {
    error_ = mismatch(direction);
    return false;
  }
  if (!can_answer(direction)) return false;
  const size_t now = std::min(transfer.left, kFetchBytes);
  const FetchResult answer = rendezvous_.fetch(offer, transfer.total - transfer.left, transfer.data, now);
  if (answer == FetchResult::taken) {
    transfer.data += now;
    transfer.left -= now;
    if (transfer.left > 0) return true;
    links_.carried(data_channel(direction.peer, false), transfer.total);
    ++direction.next;
  } else {  // all of it comes through the slots
    transfer.data -= transfer.total - transfer.left;
    transfer.left = transfer.total;
  }
  direction.answering->publish(static_cast<uint64_t>(answer), 0);
  direction.receiver->release();
  return true;
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
    const auto progress = [&](auto* end) {
      Status trouble = end == nullptr ? Status() : end->progress();
      if (!trouble.ok()) peer = direction->peer;
      return trouble;
    };
    WEIR_TRY(progress(direction->sender));
    WEIR_TRY(progress(direction->answers));
    WEIR_TRY(progress(direction->receiver));
    WEIR_TRY(progress(direction->answering));
  }
  return {};
}

}  // namespace weir::core
