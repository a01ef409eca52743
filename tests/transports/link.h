// SPDX-License-Identifier: Apache-2.0
/// One rank of a pair with its transport connected to the other rank, and the sending and receiving of test
/// messages.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tests/transports/conformance.h"

namespace weir::testing {

/// A spec for channel `number` from the point of view of `peer`.
LinkSpec spec_for(const Peer& peer, uint32_t number, uint32_t slots = 4, uint32_t slot_bytes = 4096);

class Link {
 public:
  /// Makes the node and swaps transport addresses.
  Link(const Setup& setup, Peer& peer);

  Transport& transport() { return *node_.transport; }
  const Bytes& address() const { return address_; }  ///< of this rank
  const Bytes& peer_address() const { return peer_address_; }

  std::unique_ptr<Sender> sender(const LinkSpec& spec);
  std::unique_ptr<Receiver> receiver(const LinkSpec& spec);

 private:
  Node node_;
  Bytes address_;
  Bytes peer_address_;
};

/// Calls `look` until it is true; throws CannotGoOn after a while.
void eventually(const char* what, const std::function<bool()>& look);

/// Serves a channel's ends until ready. Both ranks of the channel must call.
void await_ready(Sender& sender);
void await_ready(Receiver& receiver);
/// Several ends of one rank: polled in turn, so that no end waits for one that is not polled.
void await_ready(const std::vector<Sender*>& senders, const std::vector<Receiver*>& receivers);
inline void await_ready(Sender& sender, Receiver& receiver) { await_ready({&sender}, {&receiver}); }

/// progress() of a channel that must not fail; true.
bool serve(Sender& sender);
bool serve(Receiver& receiver);

/// The bytes of message `index` of test stream `stream`.
void fill(std::byte* data, uint32_t bytes, uint64_t stream, uint64_t index);
bool holds(const std::byte* data, uint32_t bytes, uint64_t stream, uint64_t index);

/// Sends message `index` when there is room. The tag tells stream, index and size.
void send(Sender& sender, uint64_t stream, uint64_t index, uint32_t bytes);
/// The same from memory that is used for something else at once.
void send_from_memory(Sender& sender, uint64_t stream, uint64_t index, uint32_t bytes);
/// Takes the next message and checks all about it.
void receive(Receiver& receiver, uint64_t stream, uint64_t index, uint32_t bytes);
/// Waits until all that was sent is out of this process.
void flush(Sender& sender);

/// The error of an end that waits for what will not come, or success when none came in `timeout_ms`.
Status await_trouble(Receiver& receiver, int timeout_ms);
Status await_trouble(Sender& sender, int timeout_ms);

/// The error of an end that is polled for readiness, or success when none came in `timeout_ms`.
Status await_refusal(Receiver& receiver, int timeout_ms);
Status await_refusal(Sender& sender, int timeout_ms);

}  // namespace weir::testing
