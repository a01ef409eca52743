// SPDX-License-Identifier: Apache-2.0
/// UCX, loaded at run time (libucp.so.0): active messages between workers.
///
/// A UcxWorker sends messages, each a header and a payload, to other workers by their addresses, and passes
/// received messages to a handler. All work is done in progress(). All messages use UCX's eager protocols, so
/// the receiver must have memory for them. UCX_TLS, UCX_NET_DEVICES and UCX's other variables apply.
///
/// Not thread-safe: one thread at a time.
/// Tests: tests/transports/ucx_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/base/bytes.h"
#include "src/base/status.h"

namespace weir::drivers {

/// The connection to another worker. Owned by the UcxWorker.
class UcxPeer {
 public:
  virtual ~UcxPeer() = default;
  /// Success, or the reason why no more messages can be sent.
  virtual Status state() const = 0;
};

/// Keeps the memory of messages alive until UCX has completed them: the sender holds one shared pointer to
/// it, UCX another.
struct UcxOutgoing {
  virtual ~UcxOutgoing() = default;
  uint64_t under_way = 0;  ///< number of messages and flushes that UCX has not completed
  Status trouble;          ///< error of the first failed message or flush
};

class UcxWorker {
 public:
  /// Called for each received message; both views are valid only during the call.
  using Handler = std::function<void(BytesView header, BytesView payload)>;

  virtual ~UcxWorker() = default;
  /// The address that other workers pass to connect(). Some hundred bytes.
  virtual const Bytes& address() const = 0;
  /// Connects to a worker; returns the same peer for the same address until that has failed. Errors:
  /// invalid_argument for a malformed address, system_error if no transport of UCX reaches the peer.
  virtual Result<UcxPeer*> connect(BytesView address) = 0;
  /// Begins to send. `header` and `payload` must not change until `keeper`, which may own them, has nothing
  /// in flight; errors are stored in `keeper`.
  virtual void send(UcxPeer& peer, BytesView header, BytesView payload,
                    const std::shared_ptr<UcxOutgoing>& keeper) = 0;
  /// Begins to flush what was sent to the peer: once `keeper` has nothing in flight, delivery does not depend
  /// on this process any more.
  virtual void flush(UcxPeer& peer, const std::shared_ptr<UcxOutgoing>& keeper) = 0;
  /// Advances operations in flight and calls the handler, which must not call this function.
  virtual void progress() = 0;
};

/// Loads UCX and makes a worker. Errors: system_error if the library cannot be loaded or used.
Result<std::unique_ptr<UcxWorker>> make_ucx_worker(UcxWorker::Handler handler);

}  // namespace weir::drivers
