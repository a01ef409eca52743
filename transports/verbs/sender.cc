// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "transports/link_check.h"
#include "transports/setup_connection.h"
#include "transports/verbs/channel.h"
#include "transports/verbs/failback.h"

namespace weir::verbs {
namespace {

constexpr uint64_t kPartsPerId = 64;                  // ids of posts: message * kPartsPerId + part
constexpr uint64_t kMostBodyParts = kPartsPerId - 1;  // separate heads count as parts
constexpr size_t kPartAlign = 128;
constexpr size_t kLeastPart = 4096;  // bytes; smaller messages are not split

/// One part of a message in flight.
struct Part {
  uint32_t queue_pair = 0;
  uint32_t attempt = 0;  // QueuePairs::attempt(): another queue pair may have taken that place since
  bool arrived = false;
};

class VerbsSender final : public Sender, private QueuePairUser {
 public:
  VerbsSender(const ChannelContext& context, const LinkSpec& spec, Slots slots, uint32_t parts)
      : spec_(spec),
        uid_(context.uid),
        listener_(context.peer_listener),
        credentials_(context.credentials),
        peer_(peer_text(context, spec)),
        split_(context.settings.split),
        live_counters_(*context.live_counters),
        slots_(std::move(slots)),
        name_(outgoing_name(spec)),
        queue_pairs_(*context.rails, name_, peer_),
        failback_(queue_pairs_, connection_, name_, context.settings.first_pause_ns),
        least_parts_(parts),
        parts_(spec.slots) {}

  ~VerbsSender() override {
    connection_.put(FrameKind::fin, raw(published_));
    connection_.serve();
  }

  /// Creates the queue pairs and the offer. `depth`: requests per queue pair.
  Status begin(const std::vector<QueuePairs::Place>& places, const QueuePairSettings& settings,
               uint32_t depth) {
    WEIR_TRY(queue_pairs_.make(places, settings, depth, slots_));
    ByteWriter offer;
    offer.put(
        Offer{.slots = spec_.slots, .slot_bytes = spec_.slot_bytes, .queue_pairs = queue_pairs_.size()});
    for (uint32_t i = 0; i < queue_pairs_.size(); ++i) offer.put(queue_pairs_.end(i));
    offer_ = offer.take();
    return {};
  }

  Result<bool> ready() override {
    if (!ready_ && error_.ok()) error_ = set_up();
    WEIR_TRY(error_);
    return ready_;
  }

  std::byte* acquire() override {
    if (ready_ && published_ - free_ >= spec_.slots) queue_pairs_.serve(*this);
    wanting_ = !ready_ || published_ - free_ >= spec_.slots || queue_pairs_.live() == 0;
    return wanting_ ? nullptr : slots_.body(published_);
  }

  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    fill_slot(payload, bytes);
    std::vector<Part>& parts = parts_[published_ % spec_.slots];
    const size_t own = apart() ? 1 : 0;  // a separate head is a part
    const size_t total = bytes + (apart() ? 0 : sizeof(MessageHead));
    const size_t wanted = std::max<size_t>(
        least_parts_, split_ ? std::min<size_t>(queue_pairs_.live(), total / kLeastPart) : 1);
    const size_t share = part_bytes(total, std::min(wanted, kPartsPerId - own));
    parts.assign(own + (share > 0 ? (total + share - 1) / share : 0), Part{});
    *slots_.head(published_) = {
        .tag = tag, .sequence = published_, .bytes = bytes, .parts = static_cast<uint32_t>(parts.size())};
    ++published_;
    live_counters_.sent(bytes);
    for (uint32_t i = 0; i < parts.size(); ++i) post(published_ - 1, i);
  }

  Status progress() override {
    if (!ready_) return ready().status();
    if (!error_.ok()) return error_;
    queue_pairs_.serve(*this);
    if (queue_pairs_.live() < queue_pairs_.size()) failback_.advance(now_ns());
    serve_connection();
    if (credited_ == published_ && !wanting_) return {};
    if (!queue_pairs_.status().ok()) error_ = queue_pairs_.status();
    if (credited_ < published_ && !connection_.ended().empty()) {
      error_ = Status(Code::remote_error, fmt::format("{} ended {} over {} with {} messages not received: {}",
                                                      peer_, outgoing_name(spec_), queue_pairs_.paths(),
                                                      published_ - credited_, connection_.ended()));
    }
    return error_;
  }

  bool flushed() const override {
    for (uint64_t message = credited_; message < published_; ++message) {
      if (!all_arrived(message)) return false;
    }
    return true;
  }

  /// Returns true if the devices limit the rate. Repeated calls with the same rate cost nothing.
  bool pace(double bytes_per_s) override {
    if (!ready_) return false;
    if (bytes_per_s == pace_) return paced_;
    pace_ = bytes_per_s;
    paced_ = queue_pairs_.set_rate(bytes_per_s).ok();
    return paced_;
  }

 private:
  /// Whether heads are sent as separate parts.
  bool apart() const { return slots_.apart() || remote_.apart != 0; }
  static size_t part_bytes(size_t total, size_t parts) {
    return ((total + parts - 1) / parts + kPartAlign - 1) / kPartAlign * kPartAlign;
  }
  static std::pair<size_t, uint32_t> range_of(size_t total, size_t part, size_t parts) {
    const size_t share = part_bytes(total, parts);
    return {part * share, static_cast<uint32_t>(std::min(share, total - part * share))};
  }
  bool all_arrived(uint64_t message) const {
    return std::ranges::all_of(parts_[message % spec_.slots], &Part::arrived);
  }

  /// Connects to the listener on the first call, not before: a listener soon drops connections that send
  /// nothing, and long work may come between opening a channel and its first ready().
  Status set_up() {
    if (!connection_.open()) {
      connection_ = SetupConnection(OutgoingConnection(
          listener_, delivery_key(uid_, spec_.self, spec_.peer, spec_.channel), credentials_));
      connection_.put(FrameKind::offer, offer_);
    }
    connection_.serve();
    if (const auto payload = connection_.take(FrameKind::answer)) WEIR_TRY(accept(*payload));
    connection_.serve();
    if (!connection_.ended().empty()) {
      return Status(Code::remote_error, fmt::format("{} cannot be opened at {}: {}", outgoing_name(spec_),
                                                    peer_, connection_.ended()));
    }
    ready_ = answered_ && connection_.sent();
    return {};
  }

  Status accept(const Bytes& payload) {
    ByteReader reader(payload);
    const auto answer = reader.get<Answer>();
    if (reader.ok() && (answer.slots != spec_.slots || answer.slot_bytes != spec_.slot_bytes))
      return different_shapes(outgoing_name(spec_), spec_, answer.slots, answer.slot_bytes);
    if (!reader.ok() || answer.queue_pairs != queue_pairs_.size() ||
        reader.remaining() != answer.queue_pairs * sizeof(QueuePairEnd)) {
      return Status(Code::remote_error,
                    fmt::format("{} sent an invalid answer to the offer of {}", peer_, outgoing_name(spec_)));
    }
    remote_ = answer;
    for (uint32_t i = 0; i < queue_pairs_.size(); ++i)
      WEIR_TRY(queue_pairs_.connect(i, reader.get<QueuePairEnd>()));
    connection_.put(FrameKind::go, {});
    answered_ = true;
    return {};
  }

  /// Checks whether the peer has closed, and how many messages it had taken.
  void serve_connection() {
    connection_.serve();
    while (connection_.next() == FrameKind::reopened) {
      if (!failback_.answered(*connection_.take(FrameKind::reopened)))
        WEIR_INFO(net, "{}: {} has sent an invalid answer to an attempt", name_, peer_);
    }
    if (const auto payload = connection_.take(FrameKind::fin)) {
      const auto taken = ByteReader(*payload).get<uint64_t>();
      if (taken > credited_ && taken <= published_) credited_ = taken;
      free_slots();
    }
    if (!connection_.ended().empty()) queue_pairs_.expect_no_more();
  }

  void post(uint64_t message, uint32_t part) {
    if (queue_pairs_.live() == 0) return;  // progress() reports the error
    std::vector<Part>& parts = parts_[message % spec_.slots];
    const uint32_t queue_pair = queue_pairs_.next();
    parts[part] = {.queue_pair = queue_pair, .attempt = queue_pairs_.attempt(queue_pair), .arrived = false};
    const drivers::VerbsWrite write = write_of(message, part, parts.size(), queue_pair);
    queue_pairs_.post(queue_pair, &write,
                      {.kind = Immediate::Kind::data, .part = part, .count = static_cast<uint32_t>(message)},
                      message * kPartsPerId + part);
  }

  drivers::VerbsWrite write_of(uint64_t message, size_t part, size_t parts, uint32_t queue_pair) const {
    const MessageHead& head = *slots_.head(message);
    const auto* const from = reinterpret_cast<const std::byte*>(&head);
    const SlotKeys &own = queue_pairs_.own_keys(queue_pair), &peer = queue_pairs_.peer_keys(queue_pair);
    const uint64_t slot = message % spec_.slots;
    const uint64_t to = remote_.heads + slot * remote_.head_stride;
    if (!apart()) {
      const auto [begin, bytes] = range_of(sizeof(MessageHead) + head.bytes, part, parts);
      return {from + begin, bytes, own.heads.local, to + begin, peer.heads.remote};
    }
    if (part == 0) return {from, sizeof(head), own.heads.local, to, peer.heads.remote};
    const auto [begin, bytes] = range_of(head.bytes, part - 1, parts - 1);
    return {slots_.body(message) + begin, bytes, own.bodies.local,
            remote_.bodies + slot * remote_.body_stride + begin, peer.bodies.remote};
  }

  void completed(uint32_t queue_pair, uint64_t id) override {
    const uint64_t message = id / kPartsPerId;
    const uint64_t part = id % kPartsPerId;
    if (message < free_ || message >= published_) return;
    std::vector<Part>& parts = parts_[message % spec_.slots];
    if (part < parts.size() && parts[part].queue_pair == queue_pair) parts[part].arrived = true;
    free_slots();
  }

  void arrived(uint32_t, const Immediate& what) override {
    if (what.kind != Immediate::Kind::credit) return;
    // An older credit may arrive later, over another queue pair.
    const uint32_t ahead = what.ahead_of(credited_);
    if (ahead <= published_ - credited_) credited_ += ahead;
    free_slots();
  }

  /// Whether the queue pair that it was posted on still works.
  bool is_under_way(const Part& part) const {
    return queue_pairs_.is_live(part.queue_pair) && queue_pairs_.attempt(part.queue_pair) == part.attempt;
  }

  /// A slot is free when its message was taken and the devices have completed or halted its requests.
  void free_slots() {
    while (free_ < credited_) {
      const std::vector<Part>& parts = parts_[free_ % spec_.slots];
      const bool in_use =
          std::ranges::any_of(parts, [&](const Part& part) { return !part.arrived && is_under_way(part); });
      if (in_use) return;
      ++free_;
    }
  }

  void given_up(uint32_t queue_pair) override {
    live_counters_.gave_up();
    failback_.lost(queue_pair, now_ns());
    free_slots();
  }

  void regained(uint32_t queue_pair) override { failback_.regained(queue_pair, now_ns()); }

  /// Retransmits unacknowledged parts of the queue pair, also those that the device has completed: the peer
  /// may not have processed them.
  void peer_halted(uint32_t queue_pair) override {
    uint64_t again = 0;
    for (uint64_t message = credited_; message < published_; ++message) {
      std::vector<Part>& parts = parts_[message % spec_.slots];
      for (uint32_t i = 0; i < parts.size(); ++i) {
        if (parts[i].queue_pair != queue_pair) continue;
        post(message, i);
        ++again;
      }
    }
    WEIR_INFO(net, "{}: retransmitting {} parts of messages over other queue pairs", outgoing_name(spec_),
              again);
  }

  const LinkSpec spec_;
  const uint64_t uid_;
  const SocketAddress listener_;
  const Credentials credentials_;
  const std::string peer_;
  const bool split_;
  LiveNetCounters& live_counters_;
  Bytes offer_;
  SetupConnection connection_;
  Slots slots_;
  const std::string name_;
  QueuePairs queue_pairs_;
  VerbsFailback failback_;
  const uint32_t least_parts_;            // parts of every message at least, as the device limits their size
  std::vector<std::vector<Part>> parts_;  // parts of the message in each slot
  Answer remote_;                         // the peer's slots
  double pace_ = 0;                       // last requested rate; bytes per second
  bool paced_ = true;                     // the devices limit the rate
  bool answered_ = false;
  bool ready_ = false;
  bool wanting_ = false;  // the last poll found no free slot
  uint64_t published_ = 0;
  uint64_t credited_ = 0;  // all messages before it were taken
  uint64_t free_ = 0;      // the slots of all messages before it are free
  Status error_;
};

}  // namespace

std::string peer_text(const ChannelContext& context, const LinkSpec& spec) {
  return fmt::format("rank {} (address {})", spec.peer, context.peer_listener.text());
}

uint32_t most_parts(const QueuePairSettings& settings, uint32_t queue_pairs, uint32_t slot_bytes,
                    uint32_t most_bytes) {
  const size_t longest = std::max<size_t>(most_bytes / kPartAlign * kPartAlign, kPartAlign);
  const size_t needed = (slot_stride(slot_bytes) + longest - 1) / longest;
  return static_cast<uint32_t>(std::max<size_t>(settings.split ? queue_pairs : 1, needed));
}

Result<std::unique_ptr<Sender>> open_verbs_sender(const ChannelContext& context,
                                                  std::vector<QueuePairs::Place> places,
                                                  const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  const auto queue_pairs = static_cast<uint32_t>(places.size());
  uint32_t most_bytes = UINT32_MAX;
  for (const QueuePairs::Place& place : places)
    most_bytes = std::min(most_bytes, (*context.rails)[place.rail].used.port.most_bytes);
  const uint32_t parts = most_parts(context.settings, queue_pairs, spec.slot_bytes, most_bytes);
  const uint32_t least = most_parts({}, 1, spec.slot_bytes, most_bytes);
  if (spec.channel >= kMostChannels || spec.slots > kMostSlots || least > kMostBodyParts) {
    return Status(Code::invalid_argument, fmt::format("{} cannot be opened with {} slots of {} bytes; verbs "
                                                      "supports channel numbers below {}, at most {} "
                                                      "slots, each sent as at most {} requests of {} bytes",
                                                      outgoing_name(spec), spec.slots, spec.slot_bytes,
                                                      kMostChannels, kMostSlots, kMostBodyParts, most_bytes));
  }
  Result<Slots> slots = Slots::make(spec, context.registered);
  WEIR_TRY(slots.status());
  auto sender = std::make_unique<VerbsSender>(context, spec, std::move(*slots), least);
  WEIR_TRY(sender->begin(places, context.settings, depth_of(spec.slots, parts, queue_pairs)));
  return std::unique_ptr<Sender>(std::move(sender));
}

}  // namespace weir::verbs
