// SPDX-License-Identifier: Apache-2.0
/// Networks whose sends are matched with receives that were posted: net plugins of NCCL, UCX.
///
/// Order of life: the receiving side listens on a rail; the handle goes to the sending side, by whatever way;
/// there connect() and here accept() are called in turn until both gave a connection; memory is enrolled;
/// requests are posted and tested. Nothing blocks. What was made from a network is destroyed before it.
///
/// Thread safety: each object is used by one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "src/base/bytes.h"
#include "weir/status.h"

namespace weir::drivers {

/// One end of a connection: all its requests are sends, or all receives. Closes on destruction.
class MatchedConnection {
 public:
  virtual ~MatchedConnection() = default;
  /// Once. The memory outlives the connection.
  virtual Status enroll(std::byte* memory, size_t bytes) = 0;
  /// Posts a request for bytes of the enrolled memory; null: not now, call again. Sends match receives in the
  /// order of posting; a receive may be longer than its send.
  virtual Result<void*> post(std::byte* data, size_t bytes) = 0;
  /// Whether a request is done; true once, then it is gone. `bytes` stays where the network does not tell.
  virtual Result<bool> test(void* request, int& bytes) = 0;
  /// Whether all that is done has left this process.
  virtual Result<bool> flushed() = 0;
  /// Requests that may be under way at once.
  virtual unsigned most_requests() const = 0;
};

/// The way to a listener of a peer.
class MatchedConnector {
 public:
  virtual ~MatchedConnector() = default;
  /// Null: call again.
  virtual Result<std::unique_ptr<MatchedConnection>> connect() = 0;
};

class MatchedListener {
 public:
  virtual ~MatchedListener() = default;
  virtual BytesView handle() const = 0;
  /// The connection of the only connector. Null: call again.
  virtual Result<std::unique_ptr<MatchedConnection>> accept() = 0;
};

class MatchedNetwork {
 public:
  virtual ~MatchedNetwork() = default;
  /// At least one: ways out of this host that share nothing. Numbered from 0.
  virtual size_t rails() const = 0;
  /// For sentences: "fake0".
  virtual std::string rail_text(size_t rail) const = 0;
  /// Of one request.
  virtual size_t most_bytes(size_t rail) const = 0;
  virtual Result<std::unique_ptr<MatchedListener>> listen(size_t rail) = 0;
  /// `address`: of the peer, where its handle is not enough.
  virtual Result<std::unique_ptr<MatchedConnector>> connector(size_t rail, BytesView handle,
                                                              BytesView address) = 0;
};

}  // namespace weir::drivers
