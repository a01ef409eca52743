// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "src/base/log.h"
#include "transports/link_check.h"
#include "transports/setup_connection.h"
#include "transports/verbs/channel.h"
#include "transports/verbs/failback.h"

namespace weir::verbs {
namespace {

/// The arrived parts of the next message of a slot.
struct Coming {
  uint64_t parts = 0;  // one bit each
  bool complete = false;
};

class VerbsReceiver final : public Receiver, private QueuePairUser {
 public:
  VerbsReceiver(const ChannelContext& context, Listener& listener, const LinkSpec& spec, Slots slots)
      : context_(context),
        listener_(listener),
        spec_(spec),
        peer_(peer_text(context, spec)),
        slots_(std::move(slots)),
        queue_pairs_(*context.rails, incoming_name(spec), peer_),
        coming_(spec.slots) {}

  ~VerbsReceiver() override {
    if (!ready_) return;
    connection_.put(FrameKind::fin, raw(taken_));
    connection_.serve();
  }

  Result<bool> ready() override {
    if (!ready_ && error_.ok()) error_ = set_up();
    WEIR_TRY(error_);
    return ready_;
  }

  const Message* peek() override {
    if (held_) return &message_;
    if (ready_ && !front().complete) queue_pairs_.serve(*this);
    wanting_ = !front().complete;
    if (wanting_) return nullptr;
    const MessageHead& head = *slots_.head(taken_);
    message_ = {head.tag, head.bytes, slots_.body(taken_)};
    held_ = true;
    return &message_;
  }

  void release() override {
    front() = {};
    held_ = false;
    ++taken_;
    context_.live_counters->received(message_.bytes);
    credit();
  }

  Status progress() override {
    if (!ready_) return ready().status();
    if (!error_.ok()) return error_;
    // Serve this connection first: messages that the sender wrote before it closed are then found in the
    // queue pairs.
    connection_.serve();
    serve_attempts();
    if (!connection_.ended().empty()) queue_pairs_.expect_no_more();
    queue_pairs_.serve(*this);
    if (credit_due_) credit();
    if (!error_.ok() || !wanting_ || front().complete) return error_;
    if (!connection_.ended().empty()) {
      error_ = Status(Code::remote_error,
                      fmt::format("{} ended {} over {} after {} messages: {}", peer_, incoming_name(spec_),
                                  queue_pairs_.paths(), taken_, connection_.ended()));
    } else if (!queue_pairs_.status().ok()) {
      error_ = queue_pairs_.status();
    }
    return error_;
  }

 private:
  Coming& front() { return coming_[taken_ % spec_.slots]; }

  /// Collects the sender's connection from the listener. A connection that ended before the channel worked
  /// belongs to an earlier life of the channel.
  Status set_up() {
    if (!connection_.open() || !connection_.ended().empty()) {
      auto socket = listener_.collect(delivery_key(context_.uid, spec_.peer, spec_.self, spec_.channel));
      if (!socket.has_value()) return {};
      connection_ = SetupConnection(std::move(*socket));
      answered_ = false;
    }
    connection_.serve();
    if (!answered_) {
      const auto offer = connection_.take(FrameKind::offer);
      if (!offer) return {};
      WEIR_TRY(answer(*offer));
      connection_.serve();
    }
    ready_ = connection_.take(FrameKind::go).has_value();
    return {};
  }

  Status answer(const Bytes& payload) {
    ByteReader reader(payload);
    const auto offer = reader.get<Offer>();
    ByteWriter told;
    Answer answer{.slots = spec_.slots,
                  .slot_bytes = spec_.slot_bytes,
                  .queue_pairs = offer.queue_pairs,
                  .apart = slots_.apart() ? 1u : 0u,
                  .head_stride = static_cast<uint32_t>(slots_.head_stride()),
                  .body_stride = static_cast<uint32_t>(slots_.body_stride()),
                  .heads = reinterpret_cast<uintptr_t>(slots_.head(0)),
                  .bodies = reinterpret_cast<uintptr_t>(slots_.body(0))};
    if (reader.ok() && (offer.slots != spec_.slots || offer.slot_bytes != spec_.slot_bytes)) {
      connection_.put(FrameKind::answer, told.put(answer).take());
      connection_.serve();
      return different_shapes(incoming_name(spec_), spec_, offer.slots, offer.slot_bytes);
    }
    std::vector<QueuePairs::Place> places;
    std::vector<QueuePairEnd> ends;
    for (uint32_t i = 0; i < offer.queue_pairs && i < kMostQueuePairs; ++i) {
      ends.push_back(reader.get<QueuePairEnd>());
      places.push_back({.rail = ends.back().peer_port, .peer_port = 0});
    }
    if (!reader.ok() || reader.remaining() > 0 || places.empty() ||
        std::ranges::any_of(places,
                            [&](const auto& place) { return place.rail >= context_.rails->size(); })) {
      return Status(Code::remote_error,
                    fmt::format("{} started {} with an invalid offer", peer_, incoming_name(spec_)));
    }
    WEIR_TRY(make_queue_pairs(places, ends));
    told.put(answer);
    for (uint32_t i = 0; i < queue_pairs_.size(); ++i) told.put(queue_pairs_.end(i));
    connection_.put(FrameKind::answer, told.take());
    answered_ = true;
    return {};
  }

  Status make_queue_pairs(const std::vector<QueuePairs::Place>& places,
                          const std::vector<QueuePairEnd>& ends) {
    const auto queue_pairs = static_cast<uint32_t>(places.size());
    const uint32_t parts = most_parts(context_.settings, queue_pairs, spec_.slot_bytes,
                                      (*context_.rails)[places[0].rail].used.port.most_bytes);
    WEIR_TRY(queue_pairs_.make(places, context_.settings, depth_of(spec_.slots, parts, queue_pairs), slots_));
    for (uint32_t i = 0; i < queue_pairs; ++i) WEIR_TRY(queue_pairs_.connect(i, ends[i]));
    return {};
  }

  void arrived(uint32_t queue_pair, const Immediate& what) override {
    if (what.kind != Immediate::Kind::data) return;
    last_queue_pair_ = queue_pair;
    const uint32_t ahead = what.ahead_of(taken_);
    if (ahead >= spec_.slots) return;  // already taken, and retransmitted since a queue pair broke
    const uint64_t sequence = taken_ + ahead;
    Coming& coming = coming_[sequence % spec_.slots];
    coming.parts |= uint64_t{1} << what.part;
    if (coming.complete || (coming.parts & 1) == 0) return;  // the head arrives with part 0
    const MessageHead& head = *slots_.head(sequence);
    if (head.sequence != sequence || head.bytes > spec_.slot_bytes || head.parts == 0 || head.parts > 64) {
      error_ = Status(
          Code::remote_error,
          fmt::format(
              "{} delivered message {} of {} bytes in {} parts; expected message {} of at most {} bytes",
              incoming_name(spec_), head.sequence, head.bytes, head.parts, sequence, spec_.slot_bytes));
      return;
    }
    coming.complete = coming.parts == UINT64_MAX >> (64 - head.parts);
  }

  /// Answers the sender, which tries abandoned queue pairs again.
  void serve_attempts() {
    for (auto kind = connection_.next();; kind = connection_.next()) {
      const bool reopens = kind == FrameKind::reopen;
      if (!reopens && kind != FrameKind::abandon) return;
      const Bytes payload = *connection_.take(*kind);
      if (!(reopens ? answer_attempt(queue_pairs_, *this, connection_, payload)
                    : abandon_attempt(queue_pairs_, *this, payload)))
        WEIR_INFO(net, "{}: {} has made an invalid attempt", incoming_name(spec_), peer_);
    }
  }

  void completed(uint32_t, uint64_t) override {}
  void regained(uint32_t) override {}
  void given_up(uint32_t) override { credit_due_ = true; }  // the last credit may be lost
  void peer_halted(uint32_t) override {}

  /// Tells the sender how many messages were taken, unless so many requests are in flight that a later credit
  /// can cover several messages.
  void credit() {
    credit_due_ = true;
    if (queue_pairs_.live() == 0) return;
    const uint32_t queue_pair =
        queue_pairs_.is_live(last_queue_pair_) ? last_queue_pair_ : queue_pairs_.next();
    if (queue_pairs_.under_way(queue_pair) >= spec_.slots) return;
    credit_due_ = false;
    queue_pairs_.post(queue_pair, nullptr,
                      {.kind = Immediate::Kind::credit, .count = static_cast<uint32_t>(taken_)},
                      QueuePairs::kNoId);
  }

  const ChannelContext context_;
  Listener& listener_;
  const LinkSpec spec_;
  const std::string peer_;
  SetupConnection connection_;
  Slots slots_;
  QueuePairs queue_pairs_;
  std::vector<Coming> coming_;  // state of the next message of each slot
  bool answered_ = false;
  bool ready_ = false;
  uint64_t taken_ = 0;
  Message message_;
  bool held_ = false;     // message_ is the oldest message
  bool wanting_ = false;  // the last poll found no message
  bool credit_due_ = false;
  uint32_t last_queue_pair_ = 0;  // queue pair of the last arrival
  Status error_;
};

}  // namespace

Result<std::unique_ptr<Receiver>> open_verbs_receiver(const ChannelContext& context, Listener& listener,
                                                      const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  Result<Slots> slots = Slots::make(spec, context.registered);
  WEIR_TRY(slots.status());
  return std::unique_ptr<Receiver>(
      std::make_unique<VerbsReceiver>(context, listener, spec, std::move(*slots)));
}

}  // namespace weir::verbs
