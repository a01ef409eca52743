// SPDX-License-Identifier: Apache-2.0
/// A channel over connections of a network that matches sends with posted receives (src/drivers/matched.h),
/// with slots enrolled at both ends.
///
/// Thread safety: each end is used by one thread at a time. Nothing blocks.
/// Tests: tests/transports/net_plugin_test.cc
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/drivers/matched.h"
#include "src/net/listener/listener.h"
#include "src/net/socket.h"
#include "transports/transport.h"

namespace weir::matched {

/// A channel end as the engine uses it.
class PolledEnd {
 public:
  virtual ~PolledEnd() = default;
  /// Posts and completes requests without blocking. Returns true if requests are still in flight.
  virtual bool advance() = 0;
  /// Continues the close of an end. Returns true if nothing is in flight any more, or ever will be.
  virtual bool settle() = 0;
};

/// Advances the other ends while one is polled: networks make progress only when they are called, and a rank
/// that waits for one end must not delay the others. Not thread-safe; therefore all ends of a transport are
/// used by one thread at a time.
class MatchedEngine {
 public:
  MatchedEngine() = default;
  MatchedEngine(const MatchedEngine&) = delete;
  /// Abandons closed ends that have not settled after 0.2 s.
  ~MatchedEngine();
  /// Registers a sender until none of its messages is in flight.
  void attend(PolledEnd& sender) { busy_.push_back(&sender); }
  /// Registers a receiver until it is dismissed.
  void keep(PolledEnd& receiver) { receivers_.push_back(&receiver); }
  void dismiss(PolledEnd& end);
  /// Takes over a closed end until it is settled.
  void settle(std::unique_ptr<PolledEnd> end);
  /// Advances all busy senders and one receiver, round-robin, and settles closed ends.
  void serve();

 private:
  void settle_closed();

  std::vector<PolledEnd*> busy_;
  std::vector<PolledEnd*> receivers_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<PolledEnd>> closed_;
};

/// Context of both ends; the objects that the pointers name outlive the ends.
struct ChannelContext {
  std::string_view transport;  ///< name of the transport; static storage
  uint32_t purpose = 0;        ///< purpose of deliveries at listeners, without the channel's number
  drivers::MatchedNetwork* network = nullptr;
  MatchedEngine* engine = nullptr;
  uint64_t uid = 0;  ///< id of the communicator
  SocketAddress peer_listener;
  Credentials credentials{};  ///< of the job, for that listener
  Bytes peer_address;         ///< address of the peer in the network's format; may be empty
  LiveNetCounters* live_counters = nullptr;
};

inline constexpr uint32_t kMostConnections = 8;
inline constexpr uint32_t kMostChannels = 1u << 28;

/// A connection from a local rail to a rail of the receiver.
struct RailPair {
  uint32_t ours = 0;
  uint32_t theirs = 0;
};

/// `pairs`: 1 to kMostConnections.
Result<std::unique_ptr<Sender>> open_matched_sender(const ChannelContext& context,
                                                    std::vector<RailPair> pairs, const LinkSpec& spec);

/// `listener` outlives the end. The sender determines the connections.
Result<std::unique_ptr<Receiver>> open_matched_receiver(const ChannelContext& context, Listener& listener,
                                                        const LinkSpec& spec);

/// Fails for a channel number that is too large, and for messages that are too long for a device.
Status check_channel(const ChannelContext& context, const LinkSpec& spec, const std::string& name);

/// "rank 3 (address 10.0.0.1:99)".
std::string peer_text(const ChannelContext& context, const LinkSpec& spec);

}  // namespace weir::matched
