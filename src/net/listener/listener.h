// SPDX-License-Identifier: Apache-2.0
/// The listener of a process: listening TCP sockets, one per interface that is used, and one thread, for
/// every communicator in the process.
///
/// Whoever connects says in a fixed-size hello what for:
///  * a delivery: the socket is kept until somebody in this process collects it by its key (TCP channels).
///  * a message: bytes are kept until somebody collects them by their key (bootstrap exchanges).
///    Neither side must come first, for both. Under one key things come out in the order they came in.
///  * a question: the listener's own thread answers at once through a handler, even while every other
///    thread is busy or stuck ("what are you doing?"), which is how a dead, a stopped and a slow process are
///    told apart.
///
/// Connections that do not bring a right hello (and message or question) within 20 seconds are closed, and
/// so are deliveries and messages of strangers, who do not know the secret half of a scope; the log names
/// them. What nobody collects is bounded: the oldest goes when more than kMostKept wait. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "src/base/bytes.h"
#include "src/base/clock.h"
#include "src/net/ports.h"
#include "src/net/socket.h"
#include "weir/status.h"

namespace weir {

/// Names one expected connection or message: who to whom, in which communicator, for what.
struct DeliveryKey {
  uint64_t scope = 0;    ///< communicator; the upper half is the job key, a secret of its ranks
  uint32_t purpose = 0;  ///< caller-chosen: bootstrap round, channel and stream number ...
  int32_t from = 0;      ///< rank that connects
  int32_t to = 0;        ///< rank that takes the connection
  int64_t life = 0;      ///< caller-chosen: which of those that follow each other under the rest of the key

  auto operator<=>(const DeliveryKey&) const = default;
};

class Listener {
 public:
  static constexpr size_t kMostKept = 16384;
  /// The longest message, question or answer.
  static constexpr uint32_t kMostBytes = 64u << 20;

  /// Answers a question about `scope` with bytes. Runs on the listener's thread: must not block.
  using Handler = std::function<Bytes(uint64_t scope, BytesView question)>;

  virtual ~Listener() = default;
  /// Where others reach this listener: the first of its addresses, for all but rails.
  virtual SocketAddress address() const = 0;
  /// All of them, in the order in which they were asked for.
  virtual const std::vector<SocketAddress>& addresses() const = 0;
  /// The connection delivered under `key`, if it has come. Never blocks.
  virtual std::optional<Socket> collect(const DeliveryKey& key) = 0;
  /// The message that came under `key`, waiting for it as long as `deadline` allows.
  virtual std::optional<Bytes> receive(const DeliveryKey& key, const Deadline& deadline) = 0;
  /// As if a message had come: for ranks of one process.
  virtual void put(const DeliveryKey& key, Bytes message) = 0;
  /// From now on deliveries and messages come in for scopes of the job with this key; before the first call,
  /// for any. Questions are always answered; those that do more than ask name a scope, which only its ranks
  /// know.
  virtual void admit(uint32_t job_key) = 0;
  /// Drops what came for rank `to` of `scope` and was never collected, and whatever still comes for it.
  virtual void forget(uint64_t scope, int32_t to) = 0;

  /// Listens on `address` (port 0: any free one) and starts the thread. Destroying the listener ends the
  /// thread.
  static Result<std::unique_ptr<Listener>> open(const SocketAddress& address, Handler handler);
  /// The same on several addresses, each at a port of the range; their own ports do not matter. REQUIRES:
  /// there is an address.
  static Result<std::unique_ptr<Listener>> open(std::span<const SocketAddress> addresses,
                                                const PortRange& ports, Handler handler);
};

/// The first bytes on a connection that is to be a delivery: for callers that connect without blocking.
Bytes delivery_hello(const DeliveryKey& key);

/// Connects to a listener and delivers the connection under `key`. Does not wait until it is collected.
Result<Socket> deliver(const SocketAddress& listener, const DeliveryKey& key, const Deadline& deadline);

/// Sends a message. Success means that it is on its way, not that it was collected. `meanwhile`, if any, is
/// called about every 20 ms while the listener does not take it; its error ends the attempt and is returned.
Status post(const SocketAddress& listener, const DeliveryKey& key, BytesView message,
            const Deadline& deadline, const std::function<Status()>& meanwhile = {});

/// What became of a question.
struct Answer {
  enum class Kind : uint8_t {
    given,    ///< `bytes` is what the handler said
    refused,  ///< nobody listens there, or the connection broke: the process is gone
    silent,   ///< no answer in time: the process is stopped, or its host unreachable
  };
  Kind kind = Kind::silent;
  Bytes bytes;
  std::string why;  ///< for sentences, when not given
};

/// Asks a listener a question.
Answer ask(const SocketAddress& listener, uint64_t scope, BytesView question, const Deadline& deadline);

/// Asks several listeners the same at once; answers in the order of `listeners`.
std::vector<Answer> ask_all(std::span<const SocketAddress> listeners, uint64_t scope, BytesView question,
                            const Deadline& deadline);

}  // namespace weir
