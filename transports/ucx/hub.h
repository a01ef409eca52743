// SPDX-License-Identifier: Apache-2.0
/// The worker of a rank, and which end of a channel what arrives is for.
///
/// Ends of channels hold lock() while they work with it. Beside their thread there is one of the hub's own:
/// what UCX still has of messages that were sent goes out also while nobody calls.
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
  /// Errors: of drivers::make_ucx_worker().
  static Result<std::unique_ptr<Hub>> open(Rank self);
  ~Hub();

  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  /// An end of a channel with `peer`.
  class End {
   public:
    /// False: a hello that is for a later end.
    virtual bool take(const Header& header, BytesView payload) = 0;

   protected:
    ~End() = default;
  };
  /// A receiving end gets the hello that has come before it, if one has.
  void add(bool receives, Rank peer, uint32_t channel, End& end);
  void remove(bool receives, Rank peer, uint32_t channel, const End& end);

  /// Sends a header alone. Nobody hears if it fails: then the peer's state says so.
  void tell(drivers::UcxPeer& peer, Header header);
  /// Goes on until `keeper` has nothing under way, whoever else calls.
  void see_to(const std::shared_ptr<drivers::UcxOutgoing>& keeper);
  drivers::UcxWorker& worker() { return *worker_; }

 private:
  using Name = std::pair<Rank, uint32_t>;  // peer, channel

  explicit Hub(Rank self) : self_(self) {}
  void arrived(BytesView header, BytesView payload);
  void work();

  const Rank self_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<drivers::UcxOutgoing>> seen_to_;
  bool ends_ = false;
  std::thread thread_;  // from the first see_to() on
  std::map<Name, End*> senders_, receivers_;
  std::map<Name, Header> hellos_;  // that no end has taken
  std::unique_ptr<drivers::UcxWorker> worker_;
};

/// What the ends of a channel work with, and do not own.
struct ChannelContext {
  Hub* hub = nullptr;
  drivers::UcxPeer* peer = nullptr;
  LiveNetCounters* live_counters = nullptr;
};

Result<std::unique_ptr<Sender>> open_sender(const ChannelContext& context, const LinkSpec& spec);
Result<std::unique_ptr<Receiver>> open_receiver(const ChannelContext& context, const LinkSpec& spec);

}  // namespace weir::ucx
