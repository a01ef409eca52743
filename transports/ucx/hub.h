// SPDX-License-Identifier: Apache-2.0
/// The UCX worker of a rank; dispatches incoming headers to the ends of channels.
///
/// Ends of channels hold lock() while they use it. The hub has a thread of its own, which makes progress
/// while nobody calls, so that UCX sends the remaining messages.
/// Tests: tests/transports/ucx_test.cc
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "src/drivers/ucx.h"
#include "transports/transport.h"
#include "transports/ucx/wire.h"

namespace weir::ucx {

class Hub {
 public:
  /// Errors: those of drivers::make_ucx_worker().
  static Result<std::unique_ptr<Hub>> open(Rank self);
  ~Hub();

  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  /// An end of a channel with `peer`.
  class End {
   public:
    /// Returns false for a hello that belongs to a later end.
    virtual bool take(const Header& header, BytesView payload) = 0;

   protected:
    ~End() = default;
  };
  /// Adds an end. A receiving end gets the hello that arrived earlier, if there is one.
  void add(bool receives, Rank peer, uint32_t channel, End& end);
  void remove(bool receives, Rank peer, uint32_t channel, const End& end);

  /// Sends a header alone. Failures are not reported here, but by the state of the peer.
  void tell(drivers::UcxPeer& peer, Header header);
  /// Makes progress until `keeper` has nothing in flight, even if nobody else calls.
  void see_to(const std::shared_ptr<drivers::UcxOutgoing>& keeper);
  drivers::UcxWorker& worker() { return *worker_; }

 private:
  using Name = std::pair<Rank, uint32_t>;  // (peer, channel)

  explicit Hub(Rank self) : self_(self) {}
  void arrived(BytesView header, BytesView payload);
  void start_work();
  void work();

  const Rank self_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<drivers::UcxOutgoing>> seen_to_;
  bool ends_ = false;
  bool warned_ = false;  // that the thread cannot be started
  std::thread thread_;   // started by the first see_to()
  std::map<Name, End*> senders_, receivers_;
  std::map<Name, Header> hellos_;  // hellos that no end has taken yet
  std::unique_ptr<drivers::UcxWorker> worker_;
};

/// The context of a channel's ends, which they do not own.
struct ChannelContext {
  Hub* hub = nullptr;
  drivers::UcxPeer* peer = nullptr;
  LiveNetCounters* live_counters = nullptr;
};

Result<std::unique_ptr<Sender>> open_sender(const ChannelContext& context, const LinkSpec& spec);
Result<std::unique_ptr<Receiver>> open_receiver(const ChannelContext& context, const LinkSpec& spec);

}  // namespace weir::ucx
