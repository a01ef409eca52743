// SPDX-License-Identifier: Apache-2.0
/// A channel over connections of a network that matches sends with posted receives (src/drivers/matched.h),
/// with slots enrolled at both ends.
///
/// Thread safety: each end is used by one thread at a time. Nothing blocks.
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

/// A channel end, as the engine sees it.
class PolledEnd {
 public:
  virtual ~PolledEnd() = default;
  /// Posts and completes what can be now. True: more is under way.
  virtual bool advance() = 0;
  /// After the end was closed: does its part of that. True: nothing is under way any more, or never will be.
  virtual bool settle() = 0;
};

/// What goes on beside the end that is asked: networks make progress only when they are called, and a rank
/// that waits for one end must not keep the others back. Not thread-safe: so all ends of a transport are used
/// by one thread at a time.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  /// Gives up on closed ends that have not settled after 0.2 s.
  ~Engine();
  /// A sender with messages under way, until they are not.
  void attend(PolledEnd& sender) { busy_.push_back(&sender); }
  /// A receiver, until it is dismissed.
  void keep(PolledEnd& receiver) { receivers_.push_back(&receiver); }
  void dismiss(PolledEnd& end);
  /// An end that was closed.
  void settle(std::unique_ptr<PolledEnd> end);
  /// Advances all busy senders, one receiver, in turn, and settles closed ends.
  void serve();

 private:
  void settle_closed();

  std::vector<PolledEnd*> busy_;
  std::vector<PolledEnd*> receivers_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<PolledEnd>> closed_;
};

/// What both ends need; pointers outlive the ends.
struct ChannelContext {
  std::string_view transport;  ///< its name; lives for ever
  uint32_t purpose = 0;        ///< of deliveries at listeners, without the channel's number
  drivers::MatchedNetwork* network = nullptr;
  Engine* engine = nullptr;
  uint64_t uid = 0;  ///< of the communicator
  SocketAddress peer_listener;
  Bytes peer_address;  ///< as the network has it; may be empty
  LiveNetCounters* live_counters = nullptr;
};

inline constexpr uint32_t kMostConnections = 8;
inline constexpr uint32_t kMostChannels = 1u << 28;

/// A connection goes from a rail of ours to one of the receiver.
struct RailPair {
  uint32_t ours = 0;
  uint32_t theirs = 0;
};

/// `pairs`: 1 to kMostConnections.
Result<std::unique_ptr<Sender>> open_matched_sender(const ChannelContext& context,
                                                    std::vector<RailPair> pairs, const LinkSpec& spec);

/// `listener` outlives the end. The sender decides about connections.
Result<std::unique_ptr<Receiver>> open_matched_receiver(const ChannelContext& context, Listener& listener,
                                                        const LinkSpec& spec);

/// Refuses channels that cannot be named, or whose messages are too long for a device.
Status check_channel(const ChannelContext& context, const LinkSpec& spec, const std::string& name);

/// "rank 3 (address 10.0.0.1:99)".
std::string peer_text(const ChannelContext& context, const LinkSpec& spec);

}  // namespace weir::matched
