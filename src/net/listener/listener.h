// SPDX-License-Identifier: Apache-2.0
/// The listener of a process: listening TCP sockets, one per interface in use, and one thread that serves all
/// communicators of the process.
///
/// Each connection begins with a fixed-size hello that states its purpose:
///  * a delivery: the socket is kept until a thread of this process collects it by its key (TCP channels).
///  * a message: the bytes are kept until a thread collects them by their key (bootstrap exchanges).
///    Deliveries and messages may arrive before or after the collecting call; those with equal keys are
///    collected in the order of arrival.
///  * a question about the state of this process: the listener's own thread answers it at once through a
///    handler, even while every other thread is busy or blocked. This distinguishes dead, stopped and slow
///    processes.
///
/// Connections that do not send a valid hello (and message or question) within 20 seconds are closed. So are
/// deliveries and messages whose scope does not contain an admitted job key; the log names them. When more
/// than kMostKept deliveries and messages wait, the oldest is dropped. Thread-safe.
/// Tests: tests/net/listener_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "src/base/bytes.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/net/ports.h"
#include "src/net/socket.h"

namespace weir {

/// Identifies one expected connection or message: communicator, purpose, sender and receiver.
struct DeliveryKey {
  uint64_t scope = 0;    ///< the communicator; the upper half is the job key, which only its ranks know
  uint32_t purpose = 0;  ///< chosen by the caller: bootstrap round, channel and stream number ...
  int32_t from = 0;      ///< rank that connects
  int32_t to = 0;        ///< rank that takes the connection
  int64_t life = 0;      ///< chosen by the caller: tells successive uses of an otherwise equal key apart

  auto operator<=>(const DeliveryKey&) const = default;
};

class Listener {
 public:
  static constexpr size_t kMostKept = 16384;
  /// The largest size of a message, question or answer, in bytes.
  static constexpr uint32_t kMostBytes = 64u << 20;

  /// Answers a question about `scope` with bytes. Runs on the listener's thread: must not block.
  using Handler = std::function<Bytes(uint64_t scope, BytesView question)>;

  virtual ~Listener() = default;
  /// The address at which other processes reach this listener: the first of addresses(), used for everything
  /// but rails.
  virtual SocketAddress address() const = 0;
  /// All addresses of this listener, in the order in which they were passed to open().
  virtual const std::vector<SocketAddress>& addresses() const = 0;
  /// The connection delivered under `key`, if it has arrived. Never blocks.
  virtual std::optional<Socket> collect(const DeliveryKey& key) = 0;
  /// Waits until `deadline` for the message under `key`; nullopt if none has arrived by then.
  virtual std::optional<Bytes> receive(const DeliveryKey& key, const Deadline& deadline) = 0;
  /// Stores a message as if it had arrived over a connection; for ranks of the same process.
  virtual void put(const DeliveryKey& key, Bytes message) = 0;
  /// Accepts deliveries and messages for scopes with this job key from now on; before the first call all
  /// scopes are accepted. Questions are always answered; those that change state must name a scope, which
  /// only its ranks know.
  virtual void admit(uint32_t job_key) = 0;
  /// Drops uncollected and future deliveries and messages for rank `to` of `scope`.
  virtual void forget(uint64_t scope, int32_t to) = 0;

  /// Listens on `address` (port 0: any free port) and starts the thread. Destroying the listener ends the
  /// thread.
  static Result<std::unique_ptr<Listener>> open(const SocketAddress& address, Handler handler);
  /// Listens on several addresses, each at a port of `ports`; the ports of the addresses are ignored.
  /// REQUIRES: `addresses` is not empty.
  static Result<std::unique_ptr<Listener>> open(std::span<const SocketAddress> addresses,
                                                const PortRange& ports, Handler handler);
};

/// The first bytes to send on a connection that becomes a delivery; for callers that connect without
/// blocking.
Bytes delivery_hello(const DeliveryKey& key);

/// Connects to a listener and delivers the connection under `key`. Does not wait until the peer collects it.
Result<Socket> deliver(const SocketAddress& listener, const DeliveryKey& key, const Deadline& deadline);

/// Sends a message. Success means that it was sent, not that it was collected. `meanwhile`, if any, is called
/// about every 20 ms while the listener does not accept it; an error of `meanwhile` ends the attempt and is
/// returned.
Status post(const SocketAddress& listener, const DeliveryKey& key, BytesView message,
            const Deadline& deadline, const std::function<Status()>& meanwhile = {});

/// The result of a question.
struct Answer {
  enum class Kind : uint8_t {
    given,    ///< `bytes` is the handler's answer
    refused,  ///< the connection was refused or broke: the process is gone
    silent,   ///< no answer in time: the process is stopped, or its host is unreachable
    unasked,  ///< this process could not ask: it has no descriptors or memory left
  };
  Kind kind = Kind::silent;
  Bytes bytes;
  std::string why;  ///< the reason, for error messages, unless `kind` is `given`
};

/// Sends a question to a listener and waits for the answer.
Answer ask(const SocketAddress& listener, uint64_t scope, BytesView question, const Deadline& deadline);

/// Sends the same question to several listeners in parallel; returns the answers in the order of `listeners`.
std::vector<Answer> ask_all(std::span<const SocketAddress> listeners, uint64_t scope, BytesView question,
                            const Deadline& deadline);

}  // namespace weir
