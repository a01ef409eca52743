// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <vector>

#include "src/base/clock.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "transports/link_check.h"
#include "transports/slot_array.h"
#include "transports/tcp/channel.h"
#include "transports/tcp/control_connections.h"
#include "transports/tcp/wire.h"

namespace weir {
namespace {

using tcp::FrameHeader;
using tcp::Greeting;

/// One connection, and the state of parsing its bytes.
struct InStream {
  explicit InStream(size_t number) : index(number), next(number) {}

  const size_t index;                  // position among the streams of the channel
  PeerSocket socket;                   // invalid: not collected yet, or replaced
  std::array<std::byte, 4096> buffer;  // read-ahead buffer, since several small frames arrive at a time
  size_t begin = 0;                    // position of the first byte that was not parsed
  size_t end = 0;
  bool greeted = false;
  bool headed = false;      // the header of a frame was parsed
  bool in_payload = false;  // a slot was found for the frame's payload
  uint64_t next;            // next message on this stream, with one path
  FrameHeader header;       // valid while headed
  uint32_t received = 0;    // received bytes of the part
  bool framed = false;      // at least one frame has begun
  uint32_t reads = 0;       // number of reads that returned data
  bool gone = false;        // the sender has abandoned this stream
  uint32_t attempt = 0;     // number of the attempt that it belongs to
  std::string ended;        // reason why nothing more arrives; empty while the stream works
};

/// The arrived parts of a message.
struct Filled {
  FrameHeader header;    // header of the first of its frames
  uint64_t message = 0;  // number of the message plus 1; 0: none
  uint32_t parts = 0;    // complete parts, one bit each

  bool whole() const { return parts == (1u << header.parts) - 1; }
};

class TcpReceiver final : public Receiver {
 public:
  /// `budget`: null: the senders' bytes in flight are not limited.
  TcpReceiver(Listener& listener, const TcpPeer& peer, CreditBudget* budget, uint64_t uid,
              const LinkSpec& spec, tcp::Shared& shared)
      : listener_(listener),
        budget_(budget),
        peer_listener_(peer.listener),
        uid_(uid),
        spec_(spec),
        room_(spec.slots),
        slots_(spec.slots, spec.slot_bytes),
        filled_(spec.slots),
        shared_(shared) {
    // Every greeting contains the number of streams; start with one stream per path, since some paths may not
    // work.
    for (size_t i = 0; i < peer.paths.size(); ++i) streams_.push_back(std::make_unique<InStream>(i));
  }

  Result<bool> ready() override {
    serve();
    WEIR_TRY(error_);
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i]->gone || streams_[i]->attempt > 0) continue;
      if (!streams_[i]->greeted) return false;
      // Without its control connection, acknowledgements and credit would not reach the sender.
      if (controls_ != nullptr && !controls_->ready(i % controls_->size())) return false;
    }
    if (several_) talk();  // this end may not be polled again
    return true;
  }

  const Message* peek() override {
    if (held_) return &message_;
    const uint64_t slot = taken_ % room_;
    wanting_ = !has(taken_);
    if (wanting_) return nullptr;
    message_ = {filled_[slot].header.tag, filled_[slot].header.bytes, slots_[slot]};
    held_ = true;
    return &message_;
  }

  void release() override {
    held_ = false;
    ++taken_;
    shared_.counters.live_counters.received(message_.bytes);
  }

  Status progress() override {
    serve();
    if (!error_.ok() || !wanting_ || has(taken_)) return error_;
    const std::string why = ended();
    if (why.empty()) return {};
    return Status(Code::remote_error,
                  fmt::format("rank {} (address {}) ended {} after {} messages: {}", spec_.peer,
                              peer_listener_.text(), incoming_name(spec_), taken_, why));
  }

 private:
  bool has(uint64_t message) const {
    const Filled& filled = filled_[message % room_];
    return filled.message == message + 1 && filled.whole();
  }
  Filled& filled_by(const InStream& stream) { return filled_[stream.header.sequence % room_]; }
  /// Whether the message was already taken, or the part already arrived over another stream; the rest of this
  /// copy is discarded.
  bool is_double(const InStream& stream) {
    const Filled& filled = filled_by(stream);
    return stream.header.sequence < taken_ ||
           (filled.message == stream.header.sequence + 1 && (filled.parts >> stream.header.part & 1) != 0);
  }

  /// The reason why the next message cannot arrive; empty if it can. With several paths it may arrive over
  /// any of them.
  std::string ended() const {
    if (!several_) return streams_[taken_ % streams_.size()]->ended;
    std::string why;
    for (const auto& stream : streams_) {
      if (stream->gone || (stream->attempt > 0 && !stream->socket.valid())) continue;
      if (stream->ended.empty()) return {};
      why = stream->ended;
    }
    return why;
  }

  void serve() {
    for (size_t i = 0; i < streams_.size() && error_.ok(); ++i) {
      InStream& stream = *streams_[i];
      // A sender whose connection is reset while it opens it opens another one, of the same attempt.
      const bool replaced = stream.attempt > 0 && !stream.ended.empty() && !stream.greeted;
      if (!stream.gone && (!stream.socket.valid() || replaced || is_past())) collect(i);
      bool more = true;
      while (understand(stream) && more && stream.ended.empty()) more = read_more(stream);
    }
    if (controls_ == nullptr) return;
    controls_->grant((room_ - (whole_ - taken_)) * uint64_t{spec_.slot_bytes});
    if (several_) talk();
  }

  /// Acknowledges arrived messages and receives the list of abandoned streams, if either may have changed.
  void talk() {
    const bool all_well = std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) {
      return !stream->gone && stream->greeted && stream->ended.empty();
    });
    const bool looks = is_time_to_look();
    if (looks) controls_->follow_attempts();
    if (all_well && !news_ && !looks) return;
    while (has(all_before_)) ++all_before_;
    tcp::Acknowledgement arrived{.first = all_before_};
    for (uint32_t i = 0; i < tcp::Acknowledgement::kBits; ++i)
      arrived.later |= uint64_t{has(all_before_ + 1 + i)} << i;
    news_ = !controls_->serve(arrived);
    for (const auto& stream : streams_) {
      if (const uint32_t attempt = controls_->attempt(path_of(*stream)); attempt != stream->attempt) {
        renew(*stream);
        stream->attempt = attempt;
      }
      if (!stream->gone && controls_->gone({static_cast<uint32_t>(stream->index), stream->attempt}))
        go_on_without(*stream);
    }
  }

  /// The sender may have abandoned a path that seems to work here, or try one again.
  bool is_time_to_look() {
    constexpr int64_t kEachNs = 1'000'000;
    const int64_t now = now_ns();
    if (now - looked_ns_ < kEachNs) return false;
    looked_ns_ = now;
    return true;
  }

  void go_on_without(InStream& stream) {
    stream.gone = true;
    stream.socket.close();
    WEIR_INFO(net, "{} continues without one of its {} connections", incoming_name(spec_), streams_.size());
    const auto on_path = [&](const auto& other) {
      return !other->gone && path_of(*other) == path_of(stream);
    };
    if (std::none_of(streams_.begin(), streams_.end(), on_path)) controls_->leave(path_of(stream));
  }

  size_t path_of(const InStream& stream) const { return stream.index % controls_->size(); }
  tcp::ReceiverCredit* credit_of(const InStream& stream) const {
    return controls_ == nullptr ? nullptr : controls_->credit(path_of(stream));
  }

  /// All collected connections have ended without any frame: they belong to an earlier life of the channel.
  /// While one connection is open, connections that have ended belong to this life, and the next delivery is
  /// not for this end.
  bool is_past() const {
    return std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) {
      return !stream->socket.valid() || (!stream->ended.empty() && !stream->framed);
    });
  }

  /// Collects the stream's connection from the listener, if it has arrived, and replaces the previous one.
  void collect(size_t index) {
    const auto stream_number = static_cast<uint32_t>(index);
    // Frames that come before the control connection would not be counted for its credit.
    const uint32_t attempt = is_past() ? 0 : streams_[index]->attempt;
    if (attempt > 0 && !controls_->ready(path_of(*streams_[index]))) return;
    auto socket =
        listener_.collect(tcp::delivery_key(uid_, spec_.peer, spec_.self, spec_.channel, stream_number,
                                            attempt > 0 ? tcp::life_of(life_, attempt) : 0));
    if (!socket.has_value()) return;
    renew(*streams_[index]);
    streams_[index]->attempt = attempt;
    streams_[index]->socket = std::move(*socket);
    if (attempt > 0)
      WEIR_INFO(net, "{} uses another of its {} connections again", incoming_name(spec_), streams_.size());
    shared_.events.watch(streams_[index]->socket.socket());
  }

  /// Disables immediate acknowledgements: nothing is sent back on a stream, and an acknowledgement for each
  /// small message would cost both hosts a packet. The kernel re-enables them when nothing has arrived for a
  /// while.
  static void hush(InStream& stream) {
    constexpr uint32_t kReads = 32;
    if (stream.reads++ % kReads != 0) return;
    constexpr int kAtOnce = 0;
    setsockopt(stream.socket.socket().fd(), IPPROTO_TCP, TCP_QUICKACK, &kAtOnce, sizeof kAtOnce);
  }

  static void renew(InStream& stream) {
    stream.socket.close();
    stream.begin = stream.end = 0;
    stream.greeted = stream.headed = stream.in_payload = stream.framed = stream.gone = false;
    stream.attempt = 0;
    stream.next = stream.index;
    stream.ended.clear();
  }

  /// Parses the bytes that were read. Returns false if nothing more can be done with this stream now.
  bool understand(InStream& stream) {
    while (error_.ok() && stream.socket.valid()) {
      if (!stream.greeted) {
        Greeting greeting;
        if (!take(stream, &greeting, sizeof greeting)) return true;
        accept(stream, greeting);
      } else if (!stream.headed) {
        if (!take(stream, &stream.header, sizeof stream.header)) return true;
        check(stream);
      } else if (!stream.in_payload) {
        if (stream.header.sequence >= taken_ + room_) return false;
        begin_part(stream);
      } else {
        const size_t bytes =
            std::min<size_t>(stream.end - stream.begin, stream.header.part_bytes() - stream.received);
        if (!is_double(stream)) std::memcpy(place_of(stream), stream.buffer.data() + stream.begin, bytes);
        stream.begin += bytes;
        if (!add_payload(stream, bytes)) return true;
      }
    }
    return false;
  }

  /// Copies a structure out of the buffer if all of it was read.
  static bool take(InStream& stream, void* into, size_t bytes) {
    if (stream.end - stream.begin < bytes) return false;
    std::memcpy(into, stream.buffer.data() + stream.begin, bytes);
    stream.begin += bytes;
    return true;
  }

  void accept(InStream& stream, const Greeting& greeting) {
    if (greeting.magic != tcp::kGreetingMagic || greeting.streams == 0 ||
        greeting.streams > tcp::kMostStreams || greeting.paths > tcp::kMostPaths ||
        greeting.stream >= std::min<size_t>(streams_.size(), greeting.streams) ||
        streams_[greeting.stream].get() != &stream) {
      return garbled("began with an unknown greeting");
    }
    if (greeting.life < life_) return stream.socket.close();  // belongs to an earlier life of the channel
    if (greeting.life > life_) {
      for (const auto& other : streams_) {
        // A stream without a greeting may be of the new life: its own greeting will tell.
        if (other.get() != &stream && (other->greeted || !other->socket.valid())) renew(*other);
      }
      begin_life(greeting);
    }
    if (greeting.slots != spec_.slots || greeting.slot_bytes != spec_.slot_bytes) {
      error_ = different_shapes(incoming_name(spec_), spec_, greeting.slots, greeting.slot_bytes);
      return;
    }
    stream.greeted = true;
    streams_.resize(std::min<size_t>(streams_.size(), greeting.streams));
    while (streams_.size() < greeting.streams)
      streams_.push_back(std::make_unique<InStream>(streams_.size()));
  }

  void begin_life(const Greeting& greeting) {
    life_ = greeting.life;
    controls_.reset();
    several_ = greeting.paths > 0;
    if (several_ || budget_ != nullptr) {
      std::vector<DeliveryKey> keys;
      for (uint32_t path = 0; path < std::max(greeting.paths, 1u); ++path)
        keys.push_back(tcp::control_key(uid_, spec_.peer, spec_.self, spec_.channel, path, life_));
      controls_ = std::make_unique<tcp::ReceiverControls>(listener_, keys, shared_.events);
      if (budget_ != nullptr)
        controls_->limit(*budget_, hash_text(peer_listener_.text()), shared_.counters.live_counters);
    }
    room_ = several_ ? tcp::kept_messages(spec_) : spec_.slots;
    if (several_) slots_ = SlotArray(room_, spec_.slot_bytes);
    filled_.assign(room_, {});
    whole_ = all_before_ = taken_;
  }

  /// Checks a header. With one path, streams are used round-robin; with several paths, messages of a broken
  /// stream may arrive on any other stream, but the sender never has more messages in flight than there are
  /// slots beyond what has arrived.
  void check(InStream& stream) {
    const FrameHeader& header = stream.header;
    const bool expected = several_ ? header.sequence < taken_ + 2 * uint64_t{room_}
                                   : header.sequence == stream.next && header.parts == 1;
    if (!header.is_whole() || !expected || header.bytes > spec_.slot_bytes) {
      return garbled(fmt::format("delivered message {} of {} bytes; expected message {} of at most {} bytes",
                                 header.sequence, header.bytes, several_ ? taken_ : stream.next,
                                 spec_.slot_bytes));
    }
    stream.framed = stream.headed = true;
    if (tcp::ReceiverCredit* credit = credit_of(stream)) credit->announce(header.part_bytes());
  }

  /// Starts a part for which a slot is free.
  void begin_part(InStream& stream) {
    stream.in_payload = true;
    stream.received = 0;
    const FrameHeader& header = stream.header;
    Filled& filled = filled_by(stream);
    if (header.sequence < taken_) return;
    if (filled.message != header.sequence + 1) {
      filled = {.header = header, .message = header.sequence + 1};
    } else if (filled.header.parts != header.parts || filled.header.bytes != header.bytes) {
      garbled(
          fmt::format("delivered message {} with {} bytes in {} parts and again with {} bytes in {} parts",
                      header.sequence, filled.header.bytes, filled.header.parts, header.bytes, header.parts));
    }
  }

  /// Address of the next payload byte.
  std::byte* place_of(const InStream& stream) const {
    return slots_[stream.header.sequence % room_] + stream.header.part_begin() + stream.received;
  }

  /// Returns true if this completes the part.
  bool add_payload(InStream& stream, size_t bytes) {
    stream.received += static_cast<uint32_t>(bytes);
    if (tcp::ReceiverCredit* credit = credit_of(stream)) credit->arrive(bytes);
    if (stream.received < stream.header.part_bytes()) return false;
    if (!is_double(stream)) {
      Filled& filled = filled_by(stream);
      filled.parts |= 1u << stream.header.part;
      if (filled.whole()) {
        ++whole_;
        news_ = true;
      }
    }
    stream.next += streams_.size();
    stream.headed = stream.in_payload = false;
    return true;
  }

  /// Reads available bytes: the rest of the payload directly into its slot, bytes after it into the buffer.
  /// Returns false if there was nothing more.
  bool read_more(InStream& stream) {
    std::memmove(stream.buffer.data(), stream.buffer.data() + stream.begin, stream.end - stream.begin);
    stream.end -= stream.begin;
    stream.begin = 0;
    const bool into_slot = stream.in_payload && !is_double(stream);
    const size_t direct = into_slot ? stream.header.part_bytes() - stream.received : 0;
    const std::array<iovec, 2> parts = {
        iovec{direct > 0 ? place_of(stream) : nullptr, direct},
        iovec{stream.buffer.data() + stream.end, stream.buffer.size() - stream.end},
    };
    const size_t wanted = parts[0].iov_len + parts[1].iov_len;
    const Result<size_t> got = stream.socket.try_receive(std::span(parts).last(direct > 0 ? 2 : 1));
    if (!got.ok()) {
      stream.ended = got.status().message();
      return false;
    }
    if (*got == 0) return false;
    hush(stream);
    const size_t payload = std::min(direct, *got);
    if (direct > 0) add_payload(stream, payload);
    stream.end += *got - payload;
    return *got == wanted || stream.socket.pending();
  }

  void garbled(const std::string& what) {
    error_ = Status(Code::remote_error, fmt::format("{} {}", incoming_name(spec_), what));
  }

  Listener& listener_;
  CreditBudget* const budget_;
  const SocketAddress peer_listener_;
  const uint64_t uid_;
  const LinkSpec spec_;
  uint32_t room_;  // number of messages for which there are slots
  SlotArray slots_;
  std::vector<Filled> filled_;  // state of each slot
  tcp::Shared& shared_;
  std::vector<std::unique_ptr<InStream>> streams_;
  bool several_ = false;                             // whether there are several paths
  std::unique_ptr<tcp::ReceiverControls> controls_;  // null: one path, and no credit
  int64_t life_ = 0;
  uint64_t all_before_ = 0;  // all messages before it have arrived, as acknowledged over controls_
  bool news_ = false;        // more messages have arrived than were acknowledged
  int64_t looked_ns_ = 0;    // when the control connections were last looked at, whatever had arrived
  uint64_t whole_ = 0;       // number of complete messages
  uint64_t taken_ = 0;
  Message message_;
  bool held_ = false;     // message_ is the oldest message
  bool wanting_ = false;  // the last poll found no message
  Status error_;
};

}  // namespace

Result<std::unique_ptr<Receiver>> open_tcp_receiver(Listener& listener, const TcpPeer& peer,
                                                    CreditBudget* budget, uint64_t uid, const LinkSpec& spec,
                                                    tcp::Shared& shared) {
  WEIR_TRY(check_spec(spec));
  return std::unique_ptr<Receiver>(
      std::make_unique<TcpReceiver>(listener, peer, peer.credit ? budget : nullptr, uid, spec, shared));
}

}  // namespace weir
