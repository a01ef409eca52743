// SPDX-License-Identifier: Apache-2.0
/// The connections of a sender of a tcp channel, and how they are opened. For the files of this folder only.
///
/// Not thread-safe.
/// Tests: tests/transports/tcp_failover_test.cc
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "src/net/listener/outgoing_connection.h"
#include "src/net/path_choice.h"
#include "transports/tcp/channel.h"
#include "transports/tcp/control.h"
#include "transports/tcp/wire.h"

namespace weir::tcp {

/// One connection.
struct OutStream {
  std::unique_ptr<OutgoingConnection> opening;  ///< null once the peer's listener has admitted the connection
  PeerSocket socket;                            ///< invalid before
  uint32_t index = 0;                           ///< position among the streams of the channel
  size_t path = 0;
  Bytes greeting;                 ///< unsent bytes of the greeting
  bool ready = false;             ///< connected, and the greeting was sent
  std::deque<FrameHeader> queue;  ///< frames that the kernel has not taken completely
  size_t sent = 0;                ///< bytes of the first frame that the kernel has taken
  Status trouble;                 ///< reason why the stream is unusable; ok if it works
  // With several paths only:
  uint64_t carries = 0;  ///< bytes of frames assigned to it whose messages are not acknowledged
  bool gone = false;     ///< the stream was abandoned; the channel continues without it

  bool usable() const { return !gone && trouble.ok(); }
  void lose(const Status& why) {
    if (trouble.ok()) trouble = why;
  }
  /// Continues opening the connection and sending the greeting; sets `ready`. `shared` then watches the
  /// connection.
  Status greet(Shared& shared, Rank peer);
};

/// Opens the connections of one life of a channel.
class Connector {
 public:
  /// `uses`: null: the kernel chooses the route; otherwise it outlives the connector.
  Connector(const TcpPeer& peer, uint64_t uid, uint32_t streams, const LinkSpec& spec, PathUses* uses);

  OutStream stream(uint32_t index, uint32_t attempt) const;
  ControlConnection control(uint32_t path, uint32_t attempt) const;
  uint32_t streams() const { return greeting_.streams; }
  size_t paths() const { return peer_.paths.size(); }

 private:
  TcpPeer peer_;
  uint64_t uid_;
  LinkSpec spec_;
  PathUses* uses_;
  Greeting greeting_;  // of the first stream
};

}  // namespace weir::tcp
