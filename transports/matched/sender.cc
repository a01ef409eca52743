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
using drivers::MatchedConnector;

/// One connection and its messages: every `connections`-th message of the channel, in order.
struct OutRail {
  std::unique_ptr<MatchedConnector> connector;
  std::unique_ptr<MatchedConnection> connection;
  std::deque<void*> requests;  // posted sends; the oldest is message `done`
  uint64_t done = 0;           // next message that is not complete
  uint64_t next = 0;           // next message to post
};

/// The complete end. It outlives the channel's Sender until everything is settled with the receiver.
class Outgoing final : public End {
 public:
  Outgoing(const ChannelContext& context, std::vector<RailPair> pairs, const LinkSpec& spec)
      : End(context, spec, outgoing_name(spec)), pairs_(std::move(pairs)) {}

  std::byte* acquire() {
    if (ready_ && published_ - free_ >= spec_.slots) serve();
    wanting_ = !ready_ || peer_left_ || published_ - free_ >= spec_.slots;
    return wanting_ ? nullptr : slot(published_) + sizeof(MessageHead);
  }

  void publish(uint64_t tag, uint32_t bytes) {
    if (peer_left_) {
      ++lost_;
      return;
    }
    append(tag, bytes);
    context_.live_counters->sent(bytes);
    flushed_ = false;
    if (!advance() || attended_) return;
    context_.engine->attend(*this);
    attended_ = true;
  }

  Status progress() {
    if (!ready_) return ready().status();
    serve_connection();
    serve();
    const uint64_t left = peer_left_ ? lost_ + (own_ - std::min(own_, taken_)) : published_ - free_;
    if (left == 0 && !wanting_) return {};
    if (error_.ok() && (peer_left_ || !connection_.ended().empty())) {
      error_ = Status(Code::remote_error,
                      fmt::format("{} ended {} with {} messages not received: {}", peer_, name_, left,
                                  peer_left_ ? "the receiver closed the channel" : connection_.ended()));
    }
    return error_;
  }

  bool flushed() const { return flushed_ && lost_ == 0; }

  /// Called when the Sender is destroyed. Returns false if nothing remains to be settled.
  bool leave() {
    if (!ready_ || !error_.ok()) return false;
    connection_.put(FrameKind::fin, raw(Leaving{published_}));
    return true;
  }

  bool advance() override {
    serve();
    const bool busy = error_.ok() && !flushed_;
    attended_ = attended_ && busy;
    return busy;
  }

  /// True once all receives that the receiver has posted were matched.
  bool settle() override {
    serve_connection();
    serve();
    if (!error_.ok()) return true;
    if (!connection_.ended().empty() && !peer_left_) return true;
    return peer_left_ && free_ >= posted_there_ && (flushed_ || free_ < published_);
  }

 private:
  /// Connects to the listener on the first call, not before, because a listener soon drops connections that
  /// send nothing.
  Status set_up() override {
    if (!connection_.open()) {
      connection_ = SetupConnection(OutgoingConnection(
          context_.peer_listener, delivery_key(context_, spec_.self, spec_.peer, spec_.channel),
          context_.credentials));
      ByteWriter offer;
      offer.put(Offer{spec_.slots, spec_.slot_bytes, static_cast<uint32_t>(pairs_.size())});
      for (const RailPair& pair : pairs_) offer.put(pair.theirs);
      connection_.put(FrameKind::offer, offer.take());
    }
    connection_.serve();
    if (rails_.empty()) {
      if (const auto payload = connection_.take(FrameKind::answer)) WEIR_TRY(accept(*payload));
    }
    if (!rails_.empty()) WEIR_TRY(connect());
    connection_.serve();
    if (!connection_.ended().empty()) {
      return Status(Code::remote_error,
                    fmt::format("{} cannot be opened at {}: {}", name_, peer_, connection_.ended()));
    }
    ready_ = connected_ && connection_.sent();
    return {};
  }

  Status accept(const Bytes& payload) {
    ByteReader reader(payload);
    const auto answer = reader.get<Answer>();
    if (reader.ok() && (answer.slots != spec_.slots || answer.slot_bytes != spec_.slot_bytes))
      return different_shapes(name_, spec_, answer.slots, answer.slot_bytes);
    if (!reader.ok() || answer.connections != pairs_.size()) return no_answer();
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const Bytes handle = reader.get_bytes();
      if (!reader.ok()) return no_answer();
      auto connector = context_.network->connector(pairs_[i].ours, handle, context_.peer_address);
      if (!connector.ok()) return at_peer(connector.status());
      rails_.push_back(
          {.connector = std::move(*connector), .connection = nullptr, .requests = {}, .done = i, .next = i});
    }
    return {};
  }

  Status no_answer() const {
    return Status(Code::remote_error,
                  fmt::format("{} sent an invalid answer to the offer of {}", peer_, name_));
  }

  /// Polls each connection that does not work yet once.
  Status connect() {
    if (connected_) return {};
    bool all = true;
    for (OutRail& rail : rails_) {
      if (rail.connection) continue;
      auto connection = rail.connector->connect();
      if (!connection.ok()) return at_peer(connection.status());
      all = all && *connection != nullptr;
      if (*connection == nullptr) continue;
      rail.connection = std::move(*connection);
      WEIR_TRY(at_peer(rail.connection->enroll(slots_[0], slots_.bytes())));
    }
    connected_ = all;
    if (connected_) connection_.put(FrameKind::go, {});
    return {};
  }

  /// Checks whether the receiver has closed.
  void serve_connection() {
    connection_.serve();
    if (peer_left_) return;
    const auto payload = connection_.take(FrameKind::fin);
    if (!payload) return;
    const auto staying = ByteReader(*payload).get<Staying>();
    if (payload->size() != sizeof(staying) || staying.taken > staying.posted ||
        staying.posted > published_ + spec_.slots) {
      error_ = unknown_fin();
      return;
    }
    peer_left_ = true;
    own_ = published_;
    taken_ = staying.taken;
    posted_there_ = staying.posted;
  }

  void append(uint64_t tag, uint32_t bytes) {
    const MessageHead head{.tag = tag, .sequence = published_, .bytes = bytes};
    std::memcpy(slot(published_), &head, sizeof(head));
    ++published_;
  }

  /// Posts and completes requests without blocking.
  void serve() {
    if (!ready_ || !error_.ok()) return;
    while (peer_left_ && published_ < posted_there_ && published_ - free_ < spec_.slots) {
      append(0, 0);
      flushed_ = false;
    }
    for (OutRail& rail : rails_) {
      if (Status status = serve(rail); !status.ok()) {
        error_ = at_peer(status);
        return;
      }
    }
    free_ = published_;
    for (const OutRail& rail : rails_) free_ = std::min(free_, rail.done);
    if (!flushed_ && free_ == published_) flush();
  }

  void flush() {
    flushed_ = true;
    for (OutRail& rail : rails_) {
      const Result<bool> flushed = rail.connection->flushed();
      if (!flushed.ok()) error_ = at_peer(flushed.status());
      flushed_ = flushed_ && flushed.ok() && *flushed;
    }
  }

  Status serve(OutRail& rail) {
    while (!rail.requests.empty()) {
      int bytes = 0;
      const Result<bool> done = rail.connection->test(rail.requests.front(), bytes);
      WEIR_TRY(done.status());
      if (!*done) break;
      rail.requests.pop_front();
      rail.done += rails_.size();
    }
    while (rail.next < published_ && rail.requests.size() < rail.connection->most_requests()) {
      std::byte* const message = slot(rail.next);
      MessageHead head;
      std::memcpy(&head, message, sizeof(head));
      const Result<void*> request = rail.connection->post(message, sizeof(head) + head.bytes);
      WEIR_TRY(request.status());
      if (*request == nullptr) break;
      rail.requests.push_back(*request);
      rail.next += rails_.size();
    }
    return {};
  }

  const std::vector<RailPair> pairs_;
  std::vector<OutRail> rails_;
  bool connected_ = false;
  bool attended_ = false;  // registered with the engine
  bool flushed_ = true;    // no published message depends on this process any more
  uint64_t published_ = 0;
  uint64_t free_ = 0;  // the slots of all messages before this one are free
  bool peer_left_ = false;
  uint64_t own_ = 0;           // number of messages before the receiver's fin; later ones are empty
  uint64_t lost_ = 0;          // number of messages that the user published after the receiver's fin
  uint64_t taken_ = 0;         // total number of messages that the receiver has taken
  uint64_t posted_there_ = 0;  // total number of receives that the receiver has posted
};

class MatchedSender final : public Sender {
 public:
  MatchedSender(MatchedEngine& engine, std::unique_ptr<Outgoing> end) : end_(engine, std::move(end)) {}
  Result<bool> ready() override { return end_.ready(); }
  std::byte* acquire() override { return end_->acquire(); }
  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    fill_slot(payload, bytes);
    end_->publish(tag, bytes);
  }
  Status progress() override { return end_.progress(); }
  bool flushed() const override { return end_->flushed(); }

 private:
  Handle<Outgoing> end_;
};

}  // namespace

Result<std::unique_ptr<Sender>> open_matched_sender(const ChannelContext& context,
                                                    std::vector<RailPair> pairs, const LinkSpec& spec) {
  WEIR_TRY(check_channel(context, spec, outgoing_name(spec)));
  context.engine->serve();
  auto end = std::make_unique<Outgoing>(context, std::move(pairs), spec);
  return std::unique_ptr<Sender>(std::make_unique<MatchedSender>(*context.engine, std::move(end)));
}

}  // namespace weir::matched
