// SPDX-License-Identifier: Apache-2.0
/// The wire format of connections to a listener; for listener.cc and listener_client.cc only.
///
///     connection = hello [body]            delivery: the collector owns the connection
///     question: the listener sends back    uint32 size, answer
/// Tests: tests/net/listener_test.cc
#pragma once

#include "src/net/listener/listener.h"

namespace weir::listener_wire {

inline constexpr uint64_t kMagic = 0x77656972'6c697333;  // "weirlis", and the version

enum class HelloKind : uint32_t { delivery = 1, message = 2, question = 3 };

struct Hello {
  HelloKind kind = HelloKind::delivery;
  uint32_t body = 0;  ///< bytes of the body, which follows the hello
  DeliveryKey key;    ///< key of a delivery or message; of a question only its scope is used

  static constexpr size_t kBytes = 44;

  Bytes encode() const {
    ByteWriter out;
    out.put(kMagic)
        .put(kind)
        .put(body)
        .put(key.scope)
        .put(key.purpose)
        .put(key.from)
        .put(key.to)
        .put(key.life);
    return out.take();
  }
  /// The hello in `bytes`; nullopt if they are not a hello.
  static std::optional<Hello> decode(BytesView bytes) {
    ByteReader in(bytes);
    if (in.get<uint64_t>() != kMagic) return std::nullopt;
    Hello hello;
    hello.kind = in.get<HelloKind>();
    hello.body = in.get<uint32_t>();
    hello.key.scope = in.get<uint64_t>();
    hello.key.purpose = in.get<uint32_t>();
    hello.key.from = in.get<int32_t>();
    hello.key.to = in.get<int32_t>();
    hello.key.life = in.get<int64_t>();
    const bool known = hello.kind >= HelloKind::delivery && hello.kind <= HelloKind::question;
    const bool fits =
        hello.body <= Listener::kMostBytes && (hello.kind != HelloKind::delivery || hello.body == 0);
    if (!in.ok() || !known || !fits) return std::nullopt;
    return hello;
  }
};

}  // namespace weir::listener_wire
