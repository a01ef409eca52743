// SPDX-License-Identifier: Apache-2.0
/// Networks that match each send with a posted receive: NCCL net plugins, UCX.
///
/// Order of use: the receiving side listens on a rail and sends the handle to the sending side by any means;
/// the sender calls connect() and the receiver accept() repeatedly until both return a connection; memory is
/// enrolled; requests are posted and tested. No call blocks. Objects made from a network are destroyed before
/// the network.
///
/// Thread safety: each object is used by one thread at a time.
/// Tests: tests/transports/net_plugin_test.cc
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "src/base/bytes.h"
#include "src/base/status.h"

namespace weir::drivers {

/// One end of a connection: all its requests are sends, or all receives. Closes on destruction.
class MatchedConnection {
 public:
  virtual ~MatchedConnection() = default;
  /// Registers the memory from which requests are posted. Call it once; the memory outlives the connection.
  virtual Status enroll(std::byte* memory, size_t bytes) = 0;
  /// Posts a request for bytes of the enrolled memory; null: not possible now, call again. Sends match
  /// receives in the order of posting; a receive may be longer than its send.
  virtual Result<void*> post(std::byte* data, size_t bytes) = 0;
  /// Returns true once when a request is done; the request is then released. Sets `bytes` to the size of the
  /// message, unless the network does not report it.
  virtual Result<bool> test(void* request, int& bytes) = 0;
  /// Returns whether all completed requests have left this process.
  virtual Result<bool> flushed() = 0;
  /// The maximum number of requests in flight.
  virtual unsigned most_requests() const = 0;
};

/// Connects to a listener of a peer.
class MatchedConnector {
 public:
  virtual ~MatchedConnector() = default;
  /// The connection; null: not yet established, call again.
  virtual Result<std::unique_ptr<MatchedConnection>> connect() = 0;
};

class MatchedListener {
 public:
  virtual ~MatchedListener() = default;
  virtual BytesView handle() const = 0;
  /// The connection of the listener's only connector; null: not yet established, call again.
  virtual Result<std::unique_ptr<MatchedConnection>> accept() = 0;
};

class MatchedNetwork {
 public:
  virtual ~MatchedNetwork() = default;
  /// The number of rails, at least one: network ports of this host that share no hardware. Rails are numbered
  /// from 0.
  virtual size_t rails() const = 0;
  /// The name of a rail for messages: "fake0".
  virtual std::string rail_text(size_t rail) const = 0;
  /// The maximum size of one request, in bytes.
  virtual size_t most_bytes(size_t rail) const = 0;
  virtual Result<std::unique_ptr<MatchedListener>> listen(size_t rail) = 0;
  /// `address` is the peer's network address, for networks where the handle is not sufficient.
  virtual Result<std::unique_ptr<MatchedConnector>> connector(size_t rail, BytesView handle,
                                                              BytesView address) = 0;
};

}  // namespace weir::drivers
