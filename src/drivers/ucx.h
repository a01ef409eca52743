// SPDX-License-Identifier: Apache-2.0
/// UCX, loaded at run time (libucp.so.0): active messages between workers.
///
/// A UcxWorker sends messages of a header and a payload to other workers, whose address it was told, and
/// hands on what arrives for it. Everything goes on in progress() alone. All messages travel by UCX's eager
/// protocols: the receiver has memory for them. UCX_TLS, UCX_NET_DEVICES and UCX's other variables count.
///
/// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/base/bytes.h"
#include "weir/status.h"

namespace weir::drivers {

/// Another worker, as one reaches it. Owned by the UcxWorker.
class UcxPeer {
 public:
  virtual ~UcxPeer() = default;
  /// Success, or why nothing more can be sent.
  virtual Status state() const = 0;
};

/// What a message is made of until UCX does not need it any more: its owner keeps a pointer here, UCX another
/// one.
struct UcxOutgoing {
  virtual ~UcxOutgoing() = default;
  uint64_t under_way = 0;  ///< messages and flushes that UCX has not ended
  Status trouble;          ///< the first that failed
};

class UcxWorker {
 public:
  /// Called for each message; both views end with the call.
  using Handler = std::function<void(BytesView header, BytesView payload)>;

  virtual ~UcxWorker() = default;
  /// What other workers need to connect(). Some hundred bytes.
  virtual const Bytes& address() const = 0;
  /// The same peer for the same address, until it has failed. Errors: invalid_argument for what is no
  /// address, system_error where no transport of UCX leads there.
  virtual Result<UcxPeer*> connect(BytesView address) = 0;
  /// Begins to send. `header` and `payload` stay as they are until `keeper`, which may own them, has nothing
  /// under way; what fails is said there.
  virtual void send(UcxPeer& peer, BytesView header, BytesView payload,
                    const std::shared_ptr<UcxOutgoing>& keeper) = 0;
  /// Begins to push out what was sent to the peer: when `keeper` has nothing under way it does not depend on
  /// this process any more.
  virtual void flush(UcxPeer& peer, const std::shared_ptr<UcxOutgoing>& keeper) = 0;
  /// Moves what is under way, calls the handler. Not to be called by it.
  virtual void progress() = 0;
};

/// Errors: system_error where the library cannot be loaded or used.
Result<std::unique_ptr<UcxWorker>> make_ucx_worker(UcxWorker::Handler handler);

}  // namespace weir::drivers
