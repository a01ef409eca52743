/// The door of a process: one listening TCP socket and one thread, for every communicator in the process.
///
/// Whoever connects says in a fixed-size hello what for. Two uses:
///  * a delivery: the socket is kept until somebody in this process asks for it by its key (bootstrap
///    exchanges, TCP channels). Neither side must come first.
///  * a question: the door's own thread answers at once through a handler, even while every other thread is
///    busy or stuck ("what are you doing?"), which is how a dead, a stopped and a slow process are told apart.
///
/// Connections that do not begin with a right hello within a second are closed. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/base/bytes.h"
#include "src/base/socket.h"
#include "weir/status.h"

namespace weir {

/// Names one expected connection: who to whom, in which communicator, for what.
struct DeliveryKey {
  uint64_t scope = 0;     ///< communicator
  uint32_t purpose = 0;   ///< caller-chosen: bootstrap round, channel and stream number ...
  int32_t from = 0;       ///< rank that connects
  int32_t to = 0;         ///< rank that takes the connection

  auto operator<=>(const DeliveryKey&) const = default;
};

class Door {
 public:
  /// Answers a question about `scope` with bytes. Runs on the door's thread: must not block.
  using Handler = std::function<Bytes(uint64_t scope, BytesView question)>;

  virtual ~Door() = default;
  /// Where others reach this door.
  virtual SocketAddress address() const = 0;
  /// The connection delivered under `key`, if it has come. Never blocks.
  virtual std::optional<Socket> collect(const DeliveryKey& key) = 0;
  /// Drops what was delivered for `scope` and never collected.
  virtual void forget(uint64_t scope) = 0;

  /// Listens on `address` (port 0: any free one) and starts the thread.
  static Result<std::unique_ptr<Door>> open(const SocketAddress& address, Handler handler);
};

/// Connects to a door and delivers the connection under `key`. Blocks until connected or `timeout_ms`.
Result<Socket> deliver(const SocketAddress& door, const DeliveryKey& key, int timeout_ms);

/// Asks a door a question. Errors: remote_error "refused" when nobody listens there any more (the process is
/// gone), remote_error "silent" when it takes the connection but does not answer within timeout_ms (stopped).
Result<Bytes> ask(const SocketAddress& door, uint64_t scope, BytesView question, int timeout_ms);

}  // namespace weir
