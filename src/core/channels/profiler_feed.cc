// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/profiler_feed.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "algorithms/catalogue/catalogue.h"
#include "src/base/log.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/call/operation_summary.h"
#include "transports/forwarding.h"

namespace weir::core {
namespace {

namespace abi = drivers::profiler_abi;

constexpr int kChannelEvents = abi::kProxy | abi::kStep;

const char* type_name(DataType type) {
  constexpr const char* kNames[kDataTypes] = {
      "ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",   "ncclInt64",      "ncclUint64",
      "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return kNames[static_cast<size_t>(type)];
}

drivers::Profiler::Collective described(const CollectiveOp& operation) {
  drivers::Profiler::Collective one;
  one.function = nccl_name(operation.kind);
  one.type = type_name(operation.type);
  one.input = operation.input;
  one.output = operation.output;
  one.count = operation.count;
  one.root = operation.root;
  one.user_tag = operation.profiler_tag;
  return one;
}

/// REQUIRES: is_pair(operation).
drivers::Profiler::Pair described_pair(const Operation& operation) {
  const auto described = [](const char* function, void* buffer, const auto& pair) {
    drivers::Profiler::Pair one;
    one.function = function;
    one.type = type_name(pair.type);
    one.buffer = buffer;
    one.count = pair.count;
    one.peer = pair.peer;
    return one;
  };
  if (const auto* const send = std::get_if<SendOp>(&operation))
    return described("Send", const_cast<void*>(send->input), *send);
  const auto& receive = std::get<RecvOp>(operation);
  return described("Recv", receive.output, receive);
}

}  // namespace

/// Number of channels in the plugins' tables for each collective; each has 16 ends.
constexpr uint32_t kProfiledChannels = 32;

/// The channel number for plugins, the same at both ends. All-to-all over n ranks has 2 (n - 1) ends of one
/// channel, so the channels of different pairs get different numbers.
int told_channel(const LinkSpec& spec) {
  return static_cast<int>((spec.channel + static_cast<uint32_t>(spec.self + spec.peer)) % kProfiledChannels);
}

/// The reports of a channel end: a proxy event for the task, and in it a step for each message.
class ProfilerFeed::ProfiledEnd {
 public:
  ProfiledEnd(ProfilerFeed& profile, const LinkSpec& spec, bool sends)
      : profile_(profile), spec_(spec), sends_(sends) {}
  virtual ~ProfiledEnd() { std::erase(profile_.busy_, this); }
  ProfiledEnd(const ProfiledEnd&) = delete;

  /// Ends all events of the task.
  void end() {
    for (const Event step : under_way_) profile_.profiler_->end(step);
    under_way_.clear();
    profile_.profiler_->end(proxy_);
    proxy_ = nullptr;
    next_ = 0;
    begun_ = false;
  }

 protected:
  void begin_step() {
    drivers::Profiler& profiler = *profile_.profiler_;
    if (begun_ || profile_.task_.empty() || !profiler.wants(kChannelEvents)) return;
    begun_ = true;
    if (next_ == 0) {
      proxy_ = profiler.proxy(profile_.parent_for(spec_.peer, sends_), told_channel(spec_), spec_.peer,
                              static_cast<int>(spec_.slot_bytes), sends_);
      profiler.state(proxy_, abi::kProxyInProgress);
      profile_.busy_.push_back(this);
    }
    // A message that takes the slot of an older one shows that the older one has been received.
    if (under_way_.size() == spec_.slots) end_oldest();
    under_way_.push_back(profiler.step(proxy_, next_++));
    profiler.state(under_way_.back(), sends_ ? abi::kSendGpuWait : abi::kReceiveWait);
  }
  void move_step(int state, size_t bytes = 0) {
    if (begun_) profile_.profiler_->state(under_way_.back(), state, bytes);
  }
  void leave_step() { begun_ = false; }
  void end_oldest() {
    if (under_way_.empty()) return;
    profile_.profiler_->end(under_way_.front());
    under_way_.pop_front();
  }

 private:
  ProfilerFeed& profile_;
  const LinkSpec spec_;
  const bool sends_;
  Event proxy_ = nullptr;
  int next_ = 0;
  bool begun_ = false;  ///< the last event in flight is of the message being filled or awaited
  std::deque<Event> under_way_;
};

class ProfilerFeed::ProfiledSender final : public ForwardingSender, private ProfiledEnd {
 public:
  ProfiledSender(std::unique_ptr<Sender> inner, ProfilerFeed& profile, const LinkSpec& spec)
      : ForwardingSender(std::move(inner)), ProfiledEnd(profile, spec, true) {}

  std::byte* acquire() override {
    std::byte* const slot = ForwardingSender::acquire();
    if (slot != nullptr) begin_step();
    return slot;
  }
  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    begin_step();
    ForwardingSender::publish(tag, bytes, payload);
    published(bytes);
  }

 private:
  void published(uint32_t bytes) {
    move_step(abi::kSendPeerWait);  // ends at once: a slot is available only if the peer has a free one
    move_step(abi::kSendWait, bytes);
    leave_step();
  }
};

class ProfilerFeed::ProfiledReceiver final : public ForwardingReceiver, private ProfiledEnd {
 public:
  ProfiledReceiver(std::unique_ptr<Receiver> inner, ProfilerFeed& profile, const LinkSpec& spec)
      : ForwardingReceiver(std::move(inner)), ProfiledEnd(profile, spec, false) {}

  const Message* peek() override {
    begin_step();
    const Message* const message = ForwardingReceiver::peek();
    if (message != nullptr && !seen_) {
      seen_ = true;
      move_step(abi::kReceiveFlushWait, message->bytes);
      move_step(abi::kReceiveGpuWait);
    }
    return message;
  }
  void release() override {
    ForwardingReceiver::release();
    seen_ = false;
    end_oldest();
    leave_step();
  }

 private:
  bool seen_ = false;
};

std::unique_ptr<ProfilerFeed> ProfilerFeed::of(const Options& options, const Bootstrap& bootstrap,
                                               const std::string& name) {
  std::set<uint64_t> hosts;
  for (const PeerAddress& peer : bootstrap.peers()) hosts.insert(peer.host);
  auto profiler = drivers::Profiler::load({.plugin = options.profiler_plugin,
                                           .net_plugins = options.net_plugins,
                                           .communicator = bootstrap.uid(),
                                           .name = name,
                                           .nodes = static_cast<int>(hosts.size()),
                                           .ranks = bootstrap.size(),
                                           .rank = bootstrap.rank()});
  if (!profiler.ok()) {
    WEIR_WARN("{}; nothing is profiled", profiler.status().message());
    return nullptr;
  }
  return *profiler != nullptr ? std::make_unique<ProfilerFeed>(std::move(*profiler)) : nullptr;
}

void ProfilerFeed::begin_group(std::span<const Operation> operations) {
  if (!started_) return;
  operations_ = operations;
  calls_.clear();
  group_call_ = profiler_->group_call(1);
  for (const Operation& operation : operations) {
    if (const auto* const collective = std::get_if<CollectiveOp>(&operation))
      calls_.push_back(profiler_->collective_call(described(*collective), group_call_));
    else
      calls_.push_back(is_pair(operation) ? profiler_->pair_call(described_pair(operation), group_call_)
                                          : nullptr);
  }
  group_ = profiler_->group();
}

void ProfilerFeed::end_group() {
  end_task();
  profiler_->end(std::exchange(group_, nullptr));
  for (const Event call : calls_) profiler_->end(call);
  calls_.clear();
  profiler_->end(std::exchange(group_call_, nullptr));
  operations_ = {};
}

void ProfilerFeed::begin_collective(size_t index, uint64_t sequence, std::string_view algorithm,
                                    size_t channels) {
  if (operations_.empty()) return;
  const auto& operation = std::get<CollectiveOp>(operations_[index]);
  const algorithms::Entry* const entry = algorithms::find(algorithm, operation.kind);
  drivers::Profiler::Collective one = described(operation);
  one.sequence = sequence;
  one.algorithm = entry != nullptr ? entry->algorithm.data() : "exchange";
  one.protocol = entry != nullptr ? "SIMPLE" : "LL";
  one.channels = static_cast<uint8_t>(std::min<size_t>(channels, UINT8_MAX));
  task_.push_back({index, profiler_->collective(one, calls_[index], group_)});
}

void ProfilerFeed::begin_pairs() {
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (is_pair(operations_[i]))
      task_.push_back({i, profiler_->pair(described_pair(operations_[i]), calls_[i], group_)});
  }
}

/// Steps end before their proxies, and proxies before their collective or pair.
void ProfilerFeed::end_task() {
  for (ProfiledEnd* const end : busy_) end->end();
  busy_.clear();
  for (const auto& [index, event] : task_) {
    profiler_->end(event);
    profiler_->end(std::exchange(calls_[index], nullptr));
  }
  task_.clear();
}

/// The parent event of a channel's events: for several sends to one rank, the first send's.
ProfilerFeed::Event ProfilerFeed::parent_for(Rank peer, bool sends) const {
  const auto found = std::ranges::find_if(task_, [&](const Begun& begun) {
    const Operation& operation = operations_[begun.index];
    return !is_pair(operation) ||
           (peer_of(operation) == peer && std::holds_alternative<SendOp>(operation) == sends);
  });
  return found != task_.end() ? found->event : nullptr;
}

std::unique_ptr<Sender> ProfilerFeed::profiled(std::unique_ptr<Sender> inner, const LinkSpec& spec) {
  return std::make_unique<ProfiledSender>(std::move(inner), *this, spec);
}

std::unique_ptr<Receiver> ProfilerFeed::profiled(std::unique_ptr<Receiver> inner, const LinkSpec& spec) {
  return std::make_unique<ProfiledReceiver>(std::move(inner), *this, spec);
}

}  // namespace weir::core
