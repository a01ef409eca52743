// SPDX-License-Identifier: Apache-2.0

#include "tests/transports/link.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "src/base/time_slice.h"

namespace weir::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTimeout = std::chrono::seconds(30);

uint64_t mix(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdu;
  value ^= value >> 29;
  value *= 0xc4ceb9fe1a85ec53u;
  return value ^ (value >> 32);
}

uint64_t tag_of(uint64_t stream, uint64_t index, uint32_t bytes) {
  return mix(stream << 48 ^ index << 20 ^ bytes);
}

void require(const Status& status, const char* what) {
  if (!status.ok()) throw CannotGoOn(std::string(what) + ": " + status.message());
}

template <typename End>
bool is_ready(End& end) {
  const Result<bool> ready = end.ready();
  require(ready.status(), "ready");
  return ready.value();
}

template <typename End, typename Look>
Status trouble(End& end, int timeout_ms, Look look) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (Clock::now() < deadline) {
    look();
    if (Status status = end.progress(); !status.ok()) return status;
    sched_yield();
  }
  return {};
}

template <typename End>
Status refusal(End& end, int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  Result<bool> ready = false;
  while (Clock::now() < deadline && ready.ok()) {
    ready = end.ready();
    sched_yield();
  }
  return ready.status();
}

/// What a message of a stream consists of, word by word.
class Words {
 public:
  Words(uint64_t stream, uint64_t index) : word_(mix(stream * 0x9E3779B97F4A7C15u + index + 1)) {}
  uint64_t next() { return std::exchange(word_, word_ * 6364136223846793005u + 1442695040888963407u); }

 private:
  uint64_t word_;
};

}  // namespace

LinkSpec spec_for(const Peer& peer, uint32_t number, uint32_t slots, uint32_t slot_bytes) {
  return {peer.rank(), peer.other(), number, slots, slot_bytes};
}

Link::Link(const Setup& setup, Peer& peer) : node_(setup.make(peer.rank())) {
  ShortTimeSlice().ask();  // or each yield beside others' work would last for one of their slices
  if (node_.transport == nullptr) throw CannotGoOn("the transport could not be made");
  address_ = node_.transport->address();
  peer_address_ = peer.swap(address_);
}

std::unique_ptr<Sender> Link::sender(const LinkSpec& spec) {
  auto opened = transport().open_sender(peer_address_, spec);
  require(opened.status(), "open_sender");
  return std::move(*opened);
}

std::unique_ptr<Receiver> Link::receiver(const LinkSpec& spec) {
  auto opened = transport().open_receiver(peer_address_, spec);
  require(opened.status(), "open_receiver");
  return std::move(*opened);
}

void eventually(const char* what, const std::function<bool()>& look) {
  const auto deadline = Clock::now() + kTimeout;
  while (!look()) {
    if (Clock::now() > deadline) throw CannotGoOn(std::string("waited in vain: ") + what);
    sched_yield();
  }
}

void await_ready(Sender& sender) { await_ready({&sender}, {}); }

void await_ready(Receiver& receiver) { await_ready({}, {&receiver}); }

void await_ready(const std::vector<Sender*>& senders, const std::vector<Receiver*>& receivers) {
  eventually("all ends ready", [&] {
    bool all = true;
    for (Sender* sender : senders) all &= is_ready(*sender);
    for (Receiver* receiver : receivers) all &= is_ready(*receiver);
    return all;
  });
}

bool serve(Sender& sender) {
  require(sender.progress(), "progress");
  return true;
}

bool serve(Receiver& receiver) {
  require(receiver.progress(), "progress");
  return true;
}

void fill(std::byte* data, uint32_t bytes, uint64_t stream, uint64_t index) {
  Words words(stream, index);
  const uint32_t whole = bytes & ~7u;
  for (uint32_t at = 0; at < whole; at += 8) {
    const uint64_t word = words.next();
    std::memcpy(data + at, &word, sizeof(word));
  }
  if (whole == bytes) return;
  const uint64_t last = words.next();
  std::memcpy(data + whole, &last, bytes - whole);
}

bool holds(const std::byte* data, uint32_t bytes, uint64_t stream, uint64_t index) {
  Words words(stream, index);
  const uint32_t whole = bytes & ~7u;
  for (uint32_t at = 0; at < whole; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data + at, sizeof(word));
    if (word != words.next()) return false;
  }
  if (whole == bytes) return true;
  const uint64_t last = words.next();
  return std::memcmp(data + whole, &last, bytes - whole) == 0;
}

namespace {

std::byte* await_slot(Sender& sender) {
  std::byte* slot = nullptr;
  eventually("a free slot", [&] {
    slot = sender.acquire();
    return slot != nullptr || !serve(sender);
  });
  return slot;
}

}  // namespace

void send_from_memory(Sender& sender, uint64_t stream, uint64_t index, uint32_t bytes) {
  std::vector<std::byte> memory((bytes + 7) / 8 * 8);
  fill(memory.data(), bytes, stream, index);
  await_slot(sender);
  sender.publish(tag_of(stream, index, bytes), bytes, {memory.data()});
  std::ranges::fill(memory, std::byte{0xee});
}

void send(Sender& sender, uint64_t stream, uint64_t index, uint32_t bytes) {
  fill(await_slot(sender), bytes, stream, index);
  sender.publish(tag_of(stream, index, bytes), bytes);
}

void receive(Receiver& receiver, uint64_t stream, uint64_t index, uint32_t bytes) {
  const Message* message = nullptr;
  eventually("a message", [&] {
    message = receiver.peek();
    return message != nullptr || !serve(receiver);
  });
  EXPECT_EQ(message->tag, tag_of(stream, index, bytes)) << "stream " << stream << " message " << index;
  EXPECT_EQ(message->bytes, bytes) << "stream " << stream << " message " << index;
  EXPECT_TRUE(message->bytes != bytes || holds(message->data, bytes, stream, index))
      << "stream " << stream << " message " << index << " of " << bytes << " bytes was changed";
  receiver.release();
}

void flush(Sender& sender) {
  eventually("flushed", [&] { return serve(sender) && sender.flushed(); });
}

Status await_trouble(Receiver& receiver, int timeout_ms) {
  return trouble(receiver, timeout_ms, [&] { static_cast<void>(receiver.peek()); });
}

Status await_trouble(Sender& sender, int timeout_ms) {
  return trouble(sender, timeout_ms, [&] { static_cast<void>(sender.acquire()); });
}

Status await_refusal(Receiver& receiver, int timeout_ms) { return refusal(receiver, timeout_ms); }

Status await_refusal(Sender& sender, int timeout_ms) { return refusal(sender, timeout_ms); }

}  // namespace weir::testing
