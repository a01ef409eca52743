// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "transports/link_check.h"
#include "transports/matched/channel.h"
#include "transports/matched/end.h"
#include "transports/matched/wire.h"

namespace weir::matched {
namespace {

using drivers::MatchedConnection;
using drivers::MatchedListener;

/// One connection and its messages: every `connections`-th message of the channel, in order.
struct InRail {
  std::unique_ptr<MatchedListener> listener;
  std::unique_ptr<MatchedConnection> connection;
  std::deque<void*> requests;  // posted receives; the oldest is for message `done`
  uint64_t done = 0;           // next message that has not arrived
};

/// The complete end. It outlives the channel's Receiver until everything is settled with the sender.
class Incoming final : public End {
 public:
  Incoming(const ChannelContext& context, Listener& listener, const LinkSpec& spec)
      : End(context, spec, incoming_name(spec)), listener_(listener) {}

  const Message* peek() {
    if (held_) return &message_;
    if (!has_come(taken_)) serve();
    wanting_ = taken_ >= coming_ || !has_come(taken_);
    if (wanting_) return nullptr;
    MessageHead head;
    std::memcpy(&head, slot(taken_), sizeof(head));
    message_ = {head.tag, head.bytes, slot(taken_) + sizeof(head)};
    held_ = true;
    return &message_;
  }

  void release() {
    held_ = false;
    ++taken_;
    context_.live_counters->received(message_.bytes);
    serve();
  }

  Status progress() {
    if (!ready_) return ready().status();
    // Serve this connection first: messages that the sender sent before it closed are then found by serve().
    serve_connection();
    serve();
    const bool all = taken_ >= coming_;
    if (!wanting_ || (!all && has_come(taken_))) return {};
    if (error_.ok() && (all || (!connection_.ended().empty() && coming_ == kUnknown))) {
      error_ = Status(Code::remote_error,
                      fmt::format("{} ended {} after {} messages: {}", peer_, name_, taken_,
                                  all ? "the sender closed the channel" : connection_.ended()));
    }
    return error_;
  }

  /// Called when the Receiver is destroyed. Returns false if nothing remains to be settled.
  bool leave() {
    if (!ready_ || !error_.ok()) return false;
    send_fin();
    return true;
  }

  bool advance() override {
    serve();
    return true;
  }

  /// True once all posted receives were matched, by empty messages if necessary.
  bool settle() override {
    serve_connection();
    serve();
    if (!error_.ok()) return true;
    if (!connection_.ended().empty() && coming_ == kUnknown) return true;
    return std::ranges::all_of(rails_, [](const InRail& rail) { return rail.requests.empty(); });
  }

 private:
  static constexpr uint64_t kUnknown = UINT64_MAX;

  bool has_come(uint64_t message) const { return ready_ && message < rails_[message % rails_.size()].done; }

  /// Collects the sender's connection from the listener. A connection that ended before the channel worked
  /// belongs to an earlier life of the channel.
  Status set_up() override {
    if (!connection_.open() || !connection_.ended().empty()) {
      auto socket = listener_.collect(delivery_key(context_, spec_.peer, spec_.self, spec_.channel));
      if (!socket.has_value()) return {};
      connection_ = SetupConnection(std::move(*socket));
      rails_.clear();
    }
    connection_.serve();
    if (rails_.empty()) {
      const auto offer = connection_.take(FrameKind::offer);
      if (!offer) return {};
      WEIR_TRY(answer(*offer));
      connection_.serve();
    }
    if (!connection_.ended().empty()) return {};
    bool all = true;
    for (InRail& rail : rails_) {
      if (!rail.connection) WEIR_TRY(accept(rail));
      all = all && rail.connection != nullptr;
    }
    ready_ = all && connection_.take(FrameKind::go).has_value();
    serve();
    return error_;
  }

  Status answer(const Bytes& payload) {
    ByteReader reader(payload);
    const auto offer = reader.get<Offer>();
    Answer answer{spec_.slots, spec_.slot_bytes, offer.connections};
    ByteWriter told;
    if (reader.ok() && (offer.slots != spec_.slots || offer.slot_bytes != spec_.slot_bytes)) {
      connection_.put(FrameKind::answer, told.put(answer).take());
      connection_.serve();
      return different_shapes(name_, spec_, offer.slots, offer.slot_bytes);
    }
    std::vector<uint32_t> rails;
    for (uint32_t i = 0; i < offer.connections && i < kMostConnections; ++i)
      rails.push_back(reader.get<uint32_t>());
    if (!reader.ok() || reader.remaining() > 0 || rails.empty() ||
        std::ranges::any_of(rails, [&](uint32_t rail) { return rail >= context_.network->rails(); })) {
      return Status(Code::remote_error, fmt::format("{} started {} with an invalid offer", peer_, name_));
    }
    told.put(answer);
    for (size_t i = 0; i < rails.size(); ++i) {
      auto listener = context_.network->listen(rails[i]);
      if (!listener.ok()) return at_peer(listener.status());
      told.put_bytes((*listener)->handle());
      rails_.push_back({.listener = std::move(*listener), .connection = nullptr, .requests = {}, .done = i});
    }
    connection_.put(FrameKind::answer, told.take());
    return {};
  }

  Status accept(InRail& rail) {
    auto connection = rail.listener->accept();
    if (!connection.ok()) return at_peer(connection.status());
    if (*connection == nullptr) return {};
    rail.connection = std::move(*connection);
    return at_peer(rail.connection->enroll(slots_[0], slots_.bytes()));
  }

  /// Checks whether the sender has closed.
  void serve_connection() {
    connection_.serve();
    if (coming_ != kUnknown) return;
    const auto payload = connection_.take(FrameKind::fin);
    if (!payload) return;
    const auto leaving = ByteReader(*payload).get<Leaving>();
    if (payload->size() != sizeof(leaving)) {
      error_ = unknown_fin();
      return;
    }
    coming_ = leaving.messages;
  }

  void send_fin() {
    if (!staying_) connection_.put(FrameKind::fin, raw(Staying{taken_, posted_}));
    staying_ = true;
    connection_.serve();
  }

  /// Takes arrived messages and posts receives for free slots. After the sender has closed, tells it the
  /// number of posted receives once that is as large as the number of messages sent, since a network may
  /// buffer more than there are slots.
  void serve() {
    if (!ready_ || !error_.ok()) return;
    for (InRail& rail : rails_) {
      if (error_.ok()) error_ = complete(rail);
    }
    while (error_.ok() && !staying_ && posted_ < std::min(coming_, taken_ + spec_.slots)) {
      InRail& rail = rails_[posted_ % rails_.size()];
      if (rail.requests.size() >= rail.connection->most_requests()) return;
      const Result<void*> request =
          rail.connection->post(slot(posted_), sizeof(MessageHead) + spec_.slot_bytes);
      error_ = at_peer(request.status());
      if (!error_.ok() || *request == nullptr) return;
      rail.requests.push_back(*request);
      ++posted_;
    }
    if (posted_ >= coming_) send_fin();
  }

  Status complete(InRail& rail) {
    while (!rail.requests.empty()) {
      int bytes = -1;
      const Result<bool> done = rail.connection->test(rail.requests.front(), bytes);
      if (!done.ok()) return at_peer(done.status());
      if (!*done) break;
      rail.requests.pop_front();
      WEIR_TRY(check(rail.done, bytes));
      rail.done += rails_.size();
    }
    return {};
  }

  /// `bytes` as reported by the plugin, -1 if it reports none.
  Status check(uint64_t message, int bytes) const {
    MessageHead head;
    std::memcpy(&head, slot(message), sizeof(head));
    const bool whole = bytes < 0 || static_cast<size_t>(bytes) == sizeof(head) + head.bytes;
    if (head.magic == MessageHead().magic && head.sequence == message && head.bytes <= spec_.slot_bytes &&
        whole)
      return {};
    return Status(
        Code::remote_error,
        fmt::format(
            "{} delivered message {} of {} bytes, in a request of {} bytes; expected message {} of at most "
            "{} bytes",
            name_, head.sequence, head.bytes, bytes, message, spec_.slot_bytes));
  }

  Listener& listener_;
  std::vector<InRail> rails_;
  uint64_t taken_ = 0;
  uint64_t posted_ = 0;         // number of receives posted since the channel began
  uint64_t coming_ = kUnknown;  // total number of messages, once the sender has announced it
  bool staying_ = false;  // the sender was told the number of posted receives, so that no more are posted
  Message message_;
  bool held_ = false;  // message_ is the oldest message
};

class MatchedReceiver final : public Receiver {
 public:
  MatchedReceiver(MatchedEngine& engine, std::unique_ptr<Incoming> end) : end_(engine, std::move(end)) {
    engine.keep(*end_);
  }
  Result<bool> ready() override { return end_.ready(); }
  const Message* peek() override { return end_->peek(); }
  void release() override { end_->release(); }
  Status progress() override { return end_.progress(); }

 private:
  Handle<Incoming> end_;
};

}  // namespace

Result<std::unique_ptr<Receiver>> open_matched_receiver(const ChannelContext& context, Listener& listener,
                                                        const LinkSpec& spec) {
  WEIR_TRY(check_channel(context, spec, incoming_name(spec)));
  context.engine->serve();
  auto end = std::make_unique<Incoming>(context, listener, spec);
  return std::unique_ptr<Receiver>(std::make_unique<MatchedReceiver>(*context.engine, std::move(end)));
}

}  // namespace weir::matched
