// SPDX-License-Identifier: Apache-2.0
/// Messages between ranks and their root, one frame each; for root.cc and bootstrap.cc only.
///
///     rank -> root    hello, then alive (answers ping), at last done | failed
///     root -> rank    ping (at once after the hello, then once a second), listeners | failed
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/printable.h"
#include "src/core/diagnosis/watchdog.h"

namespace weir::core::root_wire {

inline constexpr uint64_t kMagic = 0x746f6f72'72696577;
/// Version of all that ranks exchange during set-up; raise it with every change of that.
inline constexpr uint32_t kProtocol = 7;

enum class Word : uint8_t { hello = 1, alive, done, ping, listeners, failed };

/// The first fields stay the same in all versions of the protocol, so that every root can name a rank with
/// another version.
struct Hello {
  uint32_t protocol = kProtocol;
  uint64_t nonce = 0;
  Rank rank = 0;
  int32_t ranks = 0;
  PeerAddress peer;

  Bytes encode() const {
    ByteWriter out;
    out.put(Word::hello).put(kMagic).put(protocol).put(nonce).put(rank).put(ranks);
    out.put(peer.pid).put_string(peer.hostname).put(peer.host).put(peer.listener);
    return out.take();
  }
  static std::optional<Hello> decode(BytesView frame) {
    ByteReader in(frame);
    if (in.get<Word>() != Word::hello || in.get<uint64_t>() != kMagic) return std::nullopt;
    Hello hello;
    hello.protocol = in.get<uint32_t>();
    hello.nonce = in.get<uint64_t>();
    hello.rank = in.get<Rank>();
    hello.ranks = in.get<int32_t>();
    hello.peer.pid = in.get<int32_t>();
    hello.peer.hostname = printable(in.get_string(), kMostPrintedName);
    if (!in.ok()) return std::nullopt;
    if (hello.protocol != kProtocol) return hello;
    hello.peer.host = in.get<uint64_t>();
    hello.peer.listener = in.get<SocketAddress>();
    if (!in.ok() || !hello.peer.listener.valid()) return std::nullopt;
    return hello;
  }
};

/// Sent when all ranks have joined: the listeners of the ranks 1, 2, 4, ... below this one (modulo the number
/// of ranks).
struct Listeners {
  uint64_t uid = 0;
  std::vector<SocketAddress> below;

  Bytes encode() const {
    ByteWriter out;
    out.put(Word::listeners).put(uid).put(static_cast<uint32_t>(below.size()));
    for (const SocketAddress& listener : below) out.put(listener);
    return out.take();
  }
  static std::optional<Listeners> decode(BytesView frame) {
    ByteReader in(frame);
    if (in.get<Word>() != Word::listeners) return std::nullopt;
    Listeners listeners;
    listeners.uid = in.get<uint64_t>();
    const size_t count = in.count(sizeof(SocketAddress));
    for (size_t i = 0; i < count; ++i) listeners.below.push_back(in.get<SocketAddress>());
    if (!in.ok()) return std::nullopt;
    return listeners;
  }
};

inline Bytes say(Word word) { return ByteWriter().put(word).take(); }
inline Word word_of(BytesView frame) { return ByteReader(frame).get<Word>(); }

inline Bytes encode_failed(const Status& status) {
  return ByteWriter()
      .put(Word::failed)
      .put(static_cast<int32_t>(status.code()))
      .put_string(status.message())
      .take();
}
inline Status decode_failed(BytesView frame) {
  ByteReader in(frame);
  in.get<Word>();
  const auto code = in.get<int32_t>();
  const bool known = code > 0 && code <= static_cast<int32_t>(Code::remote_error);
  return Status(known ? static_cast<Code>(code) : Code::remote_error, printable(in.get_string()));
}

/// Longest silence of a side before it counts as stopped; each sends about once a second (see ping_ms).
inline int64_t silence_ms(const Timeouts& timeouts) { return timeouts.peer_ms * 4 / 5; }
inline int64_t ping_ms(const Timeouts& timeouts) { return std::min<int64_t>(1000, timeouts.peer_ms / 5); }

}  // namespace weir::core::root_wire
