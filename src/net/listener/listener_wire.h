// SPDX-License-Identifier: Apache-2.0
/// The wire format of connections to a listener; for the files of this folder only.
///
///     listener -> asker    Opening, with a challenge
///     asker -> listener    Hello, which proves that the asker has the secret of the job
///     listener -> asker    Verdict, which proves the same of the listener
///     asker -> listener    the body that the hello has announced
///     listener -> asker    to a question: uint32 size, answer; over the local socket a LocalAnswer
///     asker -> listener    after a message: a MessageHeader and its body, any number of times
///
/// A delivery has no body: whoever collects it owns the connection behind the verdict. The proof of a hello
/// covers the address at which the asker has connected, so another process cannot pass it on.
/// Tests: tests/net/listener_test.cc, tests/net/strangers_test.cc
#pragma once

#include <optional>

#include "src/net/listener/listener.h"
#include "src/net/secret.h"

namespace weir::listener_wire {

inline constexpr uint64_t kMagic = 0x77656972'6c697334;  // "weirlis", and the version
/// The body of a report question, which strangers may send.
inline constexpr uint32_t kMostReportBytes = 256;
/// Bytes of a body or answer for which room is made before they have arrived.
inline constexpr size_t kChunk = 64 << 10;

/// What a listener says first.
struct Opening {
  Challenge challenge{};

  static constexpr size_t kBytes = 24;

  Bytes encode() const { return ByteWriter().put(kMagic).put(challenge).take(); }
  static std::optional<Opening> decode(BytesView bytes) {
    ByteReader in(bytes);
    if (in.get<uint64_t>() != kMagic) return std::nullopt;
    const Opening opening{in.get<Challenge>()};
    if (!in.ok()) return std::nullopt;
    return opening;
  }
};

enum class HelloKind : uint32_t { delivery = 1, message = 2, question = 3, report = 4 };

constexpr uint32_t most_body(HelloKind kind) {
  if (kind == HelloKind::delivery) return 0;
  return kind == HelloKind::report ? kMostReportBytes : Listener::kMostBytes;
}

/// The fields that a hello and the header of a further message share.
inline void put_purpose(ByteWriter& out, HelloKind kind, uint32_t body, const DeliveryKey& key) {
  out.put(kind).put(body);
  out.put(key.scope).put(key.purpose).put(key.from).put(key.to).put(key.life);
}
/// Returns whether the bytes are such fields with possible values.
inline bool get_purpose(ByteReader& in, HelloKind& kind, uint32_t& body, DeliveryKey& key) {
  kind = in.get<HelloKind>();
  body = in.get<uint32_t>();
  key.scope = in.get<uint64_t>();
  key.purpose = in.get<uint32_t>();
  key.from = in.get<int32_t>();
  key.to = in.get<int32_t>();
  key.life = in.get<int64_t>();
  return in.ok() && kind >= HelloKind::delivery && kind <= HelloKind::report && body <= most_body(kind);
}

inline uint32_t job_key_of(const DeliveryKey& key) { return static_cast<uint32_t>(key.scope >> 32); }

struct Hello {
  HelloKind kind = HelloKind::delivery;
  uint32_t body = 0;      ///< bytes of the body, which follows the verdict
  DeliveryKey key;        ///< of a delivery or message; of a question or report only its scope is used
  Challenge challenge{};  ///< of the asker, for the verdict
  Proof proof{};          ///< zeroes: the asker has no secret

  static constexpr size_t kBytes = 76;

  Bytes encode() const {
    Bytes out = unproven();
    out.insert(out.end(), proof.begin(), proof.end());
    return out;
  }
  /// The hello in `bytes`; nullopt if they are not a hello.
  static std::optional<Hello> decode(BytesView bytes) {
    ByteReader in(bytes);
    if (in.get<uint64_t>() != kMagic) return std::nullopt;
    Hello hello;
    const bool possible = get_purpose(in, hello.kind, hello.body, hello.key);
    hello.challenge = in.get<Challenge>();
    hello.proof = in.get<Proof>();
    if (!possible || !in.ok()) return std::nullopt;
    return hello;
  }

  uint32_t job_key() const { return job_key_of(key); }
  void prove(const Secret& secret, const Challenge& asked, const SocketAddress& listener) {
    proof = secret.prove(statement(asked, listener));
  }
  bool is_proven(const Secret& secret, const Challenge& asked, const SocketAddress& listener) const {
    return secret.accepts(statement(asked, listener), proof);
  }

 private:
  Bytes unproven() const {
    ByteWriter out;
    out.put(kMagic);
    put_purpose(out, kind, body, key);
    return out.put(challenge).take();
  }
  /// What the proof is a hash of. The scope of an IPv6 address differs between hosts.
  Bytes statement(const Challenge& asked, const SocketAddress& listener) const {
    ByteWriter out;
    out.put_string("weir: hello to a listener").put(asked).put_bytes(unproven());
    out.put(listener.port()).put_bytes(listener.ip());
    return out.take();
  }
};

/// What precedes each further message on a connection that has been admitted for one. It needs no proof,
/// since the connection has shown one; its scope is of the same job.
struct MessageHeader {
  uint32_t body = 0;
  DeliveryKey key;

  static constexpr size_t kBytes = 36;

  Bytes encode() const {
    ByteWriter out;
    put_purpose(out, HelloKind::message, body, key);
    return out.take();
  }
  static std::optional<MessageHeader> decode(BytesView bytes) {
    ByteReader in(bytes);
    MessageHeader header;
    HelloKind kind{};
    if (!get_purpose(in, kind, header.body, header.key) || kind != HelloKind::message) return std::nullopt;
    return header;
  }
};

enum class Decision : uint32_t {
  admitted = 1,
  refused,    ///< the listener has no such job, or its secret is another one
  forbidden,  ///< its reports are not for this asker
};

struct Verdict {
  Decision decision = Decision::refused;
  Proof proof{};  ///< zeroes where the asker has proven nothing

  static constexpr size_t kBytes = 28;

  static Verdict admitted(const Secret& secret, const Hello& hello) {
    return {Decision::admitted, secret.prove(statement(hello))};
  }
  bool is_proven(const Secret& secret, const Hello& hello) const {
    return secret.accepts(statement(hello), proof);
  }
  Bytes encode() const { return ByteWriter().put(kMagic).put(decision).put(proof).take(); }
  static std::optional<Verdict> decode(BytesView bytes) {
    ByteReader in(bytes);
    if (in.get<uint64_t>() != kMagic) return std::nullopt;
    Verdict verdict;
    verdict.decision = in.get<Decision>();
    verdict.proof = in.get<Proof>();
    if (!in.ok()) return std::nullopt;
    return verdict;
  }

 private:
  /// The proof of the hello covers the challenges of both sides.
  static Bytes statement(const Hello& hello) {
    return ByteWriter()
        .put_string("weir: verdict of a listener")
        .put(hello.challenge)
        .put(hello.proof)
        .take();
  }
};

/// The answer to a question for reports over the local socket.
struct LocalAnswer {
  std::vector<ReportAccess> access;
  Bytes bytes;

  Bytes encode() const {
    ByteWriter out;
    out.put(static_cast<uint32_t>(access.size()));
    for (const ReportAccess& one : access) out.put(one.job_key).put(one.secret.value_or(Secret()).bytes());
    return out.put_bytes(bytes).take();
  }
  static std::optional<LocalAnswer> decode(BytesView bytes) {
    constexpr size_t kAccessBytes = sizeof(uint32_t) + Secret::kBytes;
    ByteReader in(bytes);
    LocalAnswer answer;
    for (size_t left = in.count(kAccessBytes); left > 0; --left) {
      const auto job_key = in.get<uint32_t>();
      answer.access.push_back({job_key, Secret(in.get<std::array<std::byte, Secret::kBytes>>())});
    }
    answer.bytes = in.get_bytes();
    if (!in.ok()) return std::nullopt;
    return answer;
  }
};

}  // namespace weir::listener_wire
