// SPDX-License-Identifier: Apache-2.0
/// Messages between ranks and their root, one frame each; for the files of this folder only.
///
///     root -> rank    challenge
///     rank -> root    hello, which proves that the rank has the secret of the unique id
///     root -> rank    welcome, which proves the same of the root | refused
///     rank -> root    alive (answers ping), at last done | failed (at once, if the hello says that it
///                     declines)
///     root -> rank    ping (once a second), listeners | failed
///
/// Where there are several roots (shares.h), those behind the first one choose a rank that relays, which also
/// says hello to the first root. What arrives at one end of such a rank leaves at the other:
///
///     root -> rank          relay, if the rank is to relay
///     root -> first root    hellos (of ranks of its share)
///     first root -> root    all listeners (of all ranks, when all have come)
///     root -> rank          released, when all other ranks of the share are done
///
/// Where sockets are encrypted, TLS begins behind the welcome.
/// Neither side believes the other before its proof, and reads no frame longer than kMostStrangeBytes.
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "src/base/printable.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/net/tls/credentials.h"

namespace weir::core::root_wire {

inline constexpr uint64_t kMagic = 0x746f6f72'72696577;
/// Version of all that ranks exchange during set-up; raise it with every change of that.
inline constexpr uint32_t kProtocol = 19;

/// The longest frame of a side that has proven nothing.
inline constexpr uint32_t kMostStrangeBytes = 1024;
/// The most ranks of a communicator, and the most names and listeners that a frame may hold.
inline constexpr int32_t kMostRanks = 1 << 20;

enum class Word : uint8_t {
  hello = 1,
  alive,
  done,
  ping,
  listeners,
  failed,
  challenge,
  welcome,
  refused,
  relay,
  hellos,
  all_listeners,
  released,
};

/// Why a rank says hello to a root.
enum class Purpose : uint8_t {
  joins,
  declines,  ///< it only says next why it cannot join
  relays,    ///< it comes from another root
};

inline Bytes encode_challenge(const Challenge& challenge) {
  return ByteWriter().put(Word::challenge).put(kMagic).put(challenge).take();
}
inline std::optional<Challenge> decode_challenge(BytesView frame) {
  ByteReader in(frame);
  const bool right = in.get<Word>() == Word::challenge && in.get<uint64_t>() == kMagic;
  const auto challenge = in.get<Challenge>();
  if (!right || !in.ok()) return std::nullopt;
  return challenge;
}

/// The first fields, and the last two, stay the same in all versions of the protocol, so that every root can
/// name a rank with another version.
struct Hello {
  uint32_t protocol = kProtocol;
  uint64_t nonce = 0;
  Rank rank = 0;
  int32_t ranks = 0;
  PeerAddress peer;
  TlsSettings::Mode encryption = TlsSettings::Mode::off;  ///< of the rank's sockets
  Purpose purpose = Purpose::joins;
  int32_t root = 0;       ///< place of the rank's root in the list of ids
  int32_t roots = 1;      ///< ids in the list
  uint64_t list = 0;      ///< digest_of() the list; 0: one id
  Challenge challenge{};  ///< of the rank, for the welcome
  Proof proof{};

  Bytes encode() const {
    Bytes out = unproven();
    out.insert(out.end(), proof.begin(), proof.end());
    return out;
  }
  void prove(const Secret& secret, const Challenge& asked) {
    proof = secret.prove(statement(asked, unproven()));
  }
  /// Whether a frame ends with the proof of the bytes before; its content is not understood yet.
  static bool is_proven(BytesView frame, const Secret& secret, const Challenge& asked) {
    if (frame.size() < sizeof(Proof)) return false;
    Proof proof;
    std::memcpy(proof.data(), frame.data() + frame.size() - sizeof proof, sizeof proof);
    return secret.accepts(statement(asked, frame.first(frame.size() - sizeof proof)), proof);
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
    if (hello.protocol == kProtocol) {
      hello.peer.host = in.get<uint64_t>();
      hello.peer.process = in.get<ProcessId>();
      hello.peer.listener = in.get<SocketAddress>();
      hello.peer.own_listener = in.get<SocketAddress>();
      hello.peer.network = in.get<uint64_t>();
      hello.encryption = in.get<TlsSettings::Mode>();
      hello.purpose = in.get<Purpose>();
      hello.root = in.get<int32_t>();
      hello.roots = in.get<int32_t>();
      hello.list = in.get<uint64_t>();
      if (hello.purpose > Purpose::relays) return std::nullopt;
      if (hello.purpose == Purpose::joins && !hello.peer.listener.valid()) return std::nullopt;
    }
    if (!in.ok() || in.remaining() < sizeof(Challenge) + sizeof(Proof)) return std::nullopt;
    ByteReader last(frame.last(sizeof(Challenge) + sizeof(Proof)));
    hello.challenge = last.get<Challenge>();
    hello.proof = last.get<Proof>();
    return hello;
  }

 private:
  static Bytes statement(const Challenge& asked, BytesView unproven) {
    return ByteWriter().put_string("weir: hello to a root").put(asked).put_bytes(unproven).take();
  }
  Bytes unproven() const {
    ByteWriter out;
    out.put(Word::hello).put(kMagic).put(protocol).put(nonce).put(rank).put(ranks);
    out.put(peer.pid)
        .put_string(peer.hostname)
        .put(peer.host)
        .put(peer.process)
        .put(peer.listener)
        .put(peer.own_listener)
        .put(peer.network)
        .put(encryption)
        .put(purpose)
        .put(root)
        .put(roots)
        .put(list);
    out.put(challenge);
    return out.take();
  }
};

/// The proof of the hello covers the challenges of both sides. TLS begins behind the welcome if both sides
/// encrypt in the same way; otherwise the root goes on to say that they do not.
struct Welcome {
  TlsSettings::Mode encryption = TlsSettings::Mode::off;  ///< of the root's sockets
  uint64_t host = 0;                                      ///< host_identity() of the root
  ProcessId process;                                      ///< of the root
  Proof proof{};

  static Welcome to(const Hello& hello, const Credentials& credentials, uint64_t host) {
    Welcome welcome{credentials.mode(), host, own_process_id(), {}};
    welcome.proof = credentials.secret.prove(welcome.statement(hello));
    return welcome;
  }
  bool is_proven(const Hello& hello, const Secret& secret) const {
    return secret.accepts(statement(hello), proof);
  }
  Bytes encode() const {
    return ByteWriter().put(Word::welcome).put(encryption).put(host).put(process).put(proof).take();
  }
  static std::optional<Welcome> decode(BytesView frame) {
    ByteReader in(frame);
    const bool right = in.get<Word>() == Word::welcome;
    Welcome welcome;
    welcome.encryption = in.get<TlsSettings::Mode>();
    welcome.host = in.get<uint64_t>();
    welcome.process = in.get<ProcessId>();
    welcome.proof = in.get<Proof>();
    if (!right || !in.ok()) return std::nullopt;
    return welcome;
  }

 private:
  Bytes statement(const Hello& hello) const {
    ByteWriter out;
    out.put_string("weir: welcome of a root").put(encryption).put(host).put(process);
    out.put(hello.challenge).put(hello.proof);
    return out.take();
  }
};

/// Sent when all ranks have joined: the listeners of the ranks 1, 2, 4, ... below this one (modulo the number
/// of ranks).
struct Listeners {
  uint64_t uid = 0;
  /// As in PeerAddress.
  struct Entry {
    SocketAddress listener;
    SocketAddress own;
    uint64_t network = 0;

    bool operator==(const Entry&) const = default;
    static Entry of(const PeerAddress& peer) { return {peer.listener, peer.own_listener, peer.network}; }
  };
  std::vector<Entry> below;

  Bytes encode() const {
    ByteWriter out;
    out.put(Word::listeners).put(uid).put(static_cast<uint32_t>(below.size()));
    for (const Entry& entry : below) out.put(entry);
    return out.take();
  }
  static std::optional<Listeners> decode(BytesView frame) {
    ByteReader in(frame);
    if (in.get<Word>() != Word::listeners) return std::nullopt;
    Listeners listeners;
    listeners.uid = in.get<uint64_t>();
    const size_t count = in.count(sizeof(Entry));
    for (size_t i = 0; i < count; ++i) listeners.below.push_back(in.get<Entry>());
    if (!in.ok()) return std::nullopt;
    return listeners;
  }
};

/// Hellos of ranks of a share.
struct Hellos {
  std::vector<Hello> hellos;

  /// The most in one frame, all of them with long names of hosts.
  static constexpr size_t kMost = 1024;

  Bytes encode() const {
    ByteWriter out;
    out.put(Word::hellos).put(static_cast<uint32_t>(hellos.size()));
    for (const Hello& hello : hellos) out.put_bytes(hello.encode());
    return out.take();
  }
  static std::optional<Hellos> decode(BytesView frame) {
    ByteReader in(frame);
    if (in.get<Word>() != Word::hellos) return std::nullopt;
    Hellos some;
    const size_t count = in.count(sizeof(uint32_t));
    for (size_t i = 0; i < count; ++i) {
      auto hello = Hello::decode(in.get_bytes());
      if (!hello) return std::nullopt;
      some.hellos.push_back(std::move(*hello));
    }
    if (!in.ok()) return std::nullopt;
    return some;
  }
};

/// The listeners of all ranks, in the order of ranks; in several frames if they are many.
struct AllListeners {
  uint64_t uid = 0;
  std::vector<Listeners::Entry> listeners;

  /// The most in one frame.
  static constexpr size_t kMost = 4 * 1024;

  Bytes encode() const {
    ByteWriter out;
    out.put(Word::all_listeners).put(uid).put(static_cast<uint32_t>(listeners.size()));
    for (const Listeners::Entry& entry : listeners) out.put(entry);
    return out.take();
  }
  static std::optional<AllListeners> decode(BytesView frame) {
    ByteReader in(frame);
    if (in.get<Word>() != Word::all_listeners) return std::nullopt;
    AllListeners all;
    all.uid = in.get<uint64_t>();
    const size_t count = in.count(sizeof(Listeners::Entry));
    for (size_t i = 0; i < count; ++i) all.listeners.push_back(in.get<Listeners::Entry>());
    if (!in.ok() || all.uid == 0) return std::nullopt;
    return all;
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

/// Longest silence of a side before it counts as stopped, on a host where nothing shows that it runs; each
/// sends about once a second (see ping_ms).
inline int64_t silence_ms(const Timeouts& timeouts) { return timeouts.peer_ms * 4 / 5; }
inline int64_t ping_ms(const Timeouts& timeouts) { return std::min<int64_t>(1000, timeouts.peer_ms / 5); }

}  // namespace weir::core::root_wire
