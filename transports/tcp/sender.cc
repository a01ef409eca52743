// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <vector>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "transports/link_check.h"
#include "transports/slot_array.h"
#include "transports/tcp/channel.h"
#include "transports/tcp/control_connections.h"
#include "transports/tcp/failback.h"
#include "transports/tcp/out_stream.h"
#include "transports/tcp/wire.h"

namespace weir {
namespace {

using tcp::OutStream;

constexpr size_t kBatch = 8;  // frames per system call

uint64_t frame_bytes(const tcp::FrameHeader& frame) { return sizeof frame + frame.part_bytes(); }

Status no_answer(int64_t timeout_ns) {
  return Status(Code::remote_error, fmt::format("no answer for {:.1f} s while another path works",
                                                static_cast<double>(timeout_ns) / 1e9));
}

bool is_used_elsewhere(const std::vector<OutStream>& streams, size_t path) {
  return std::ranges::any_of(streams,
                             [&](const OutStream& stream) { return stream.path != path && stream.usable(); });
}

/// Whether all streams of some other path work.
bool another_works(const std::vector<OutStream>& streams, size_t path) {
  return std::ranges::any_of(streams, [&](const OutStream& other) {
    return other.path != path && std::ranges::all_of(streams, [&](const OutStream& stream) {
             return stream.path != other.path || stream.usable();
           });
  });
}

class TcpSender final : public Sender {
 public:
  /// `controls`: null if there is one path and the receiver grants no credit.
  TcpSender(const TcpPeer& peer, tcp::Connector connector, std::unique_ptr<tcp::SenderControls> controls,
            const PathTimes& times, const LinkSpec& spec, tcp::Shared& shared)
      : spec_(spec),
        shared_(shared),
        peer_(peer),
        timeout_ns_(times.timeout_ns),
        several_(peer.paths.size() > 1),
        controls_(std::move(controls)),
        kept_(several_ ? tcp::kept_messages(spec) : spec.slots),
        headers_(kept_),
        dealt_(kept_),
        slots_(kept_, spec.slot_bytes) {
    for (uint32_t i = 0; i < connector.streams(); ++i) streams_.push_back(connector.stream(i, 0));
    if (several_) failback_.emplace(std::move(connector), *controls_, times, spec.peer, shared);
  }

  ~TcpSender() override {
    for (const OutStream& stream : streams_) shared_.counters.connections.forget(stream.socket.socket());
  }

  Result<bool> ready() override {
    WEIR_TRY(error_);
    if (ready_) return true;
    bool ready = true;
    for (OutStream& stream : streams_) {
      if (!stream.ready && stream.usable()) stream.trouble = greet(stream);
      ready = ready && stream.ready;
    }
    ready = several_ ? settle_paths() : settle_path() && ready;
    WEIR_TRY(error_);
    return ready_ = ready;
  }

  std::byte* acquire() override {
    if (!ready_ || published_ - free_ >= kept_) return nullptr;
    return slots_[published_ % kept_];
  }

  /// Passes as much of a payload that has data to the kernel as its socket buffer takes, and keeps only the
  /// rest.
  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    const std::byte* const data = several_ || bytes == 0 ? nullptr : payload.data;
    if (data == nullptr) fill_slot(payload, bytes);  // with several rails until it is acknowledged
    const uint64_t message = published_;
    source_ = data;
    enqueue(tag, bytes);
    source_ = nullptr;
    const OutStream& stream = streams_[message % streams_.size()];
    if (data == nullptr || stream.queue.empty()) return;
    const size_t sent = stream.queue.front().sequence == message ? stream.sent : 0;
    const size_t taken = sent - std::min(sent, sizeof(FrameHeader));
    std::memcpy(slots_[message % kept_] + taken, data + taken, bytes - taken);
  }
  SendMode send_mode(const Payload& payload, uint32_t /*bytes*/) const override {
    return !several_ && !payload.stays ? SendMode::handed_on : SendMode::copied;
  }

  Status progress() override {
    if (!ready_) return ready().status();
    for (OutStream& stream : streams_) push(stream);
    if (several_ && error_.ok()) watch();
    if (several_ && error_.ok() && failback_->has_lost()) recover();
    return error_;
  }

  bool flushed() const override {
    return (several_ ? arrived_ : free_) == published_ &&
           std::ranges::none_of(streams_, [](const OutStream& stream) { return stream.socket.unsent(); });
  }

  /// The kernel paces each packet.
  bool pace(double bytes_per_s) override {
    if (bytes_per_s == pace_) return true;
    pace_ = bytes_per_s;
    const auto used = std::ranges::count_if(streams_, &OutStream::usable);
    const uint64_t each =
        pace_ > 0 && used > 0 ? static_cast<uint64_t>(pace_ / static_cast<double>(used)) : ~uint64_t{0};
    for (const OutStream& stream : streams_) {
      if (stream.usable() && stream.socket.valid())
        setsockopt(stream.socket.socket().fd(), SOL_SOCKET, SO_MAX_PACING_RATE, &each, sizeof each);
    }
    return true;
  }

 private:
  void enqueue(uint64_t tag, uint32_t bytes) {
    headers_[published_ % kept_] = {.bytes = bytes, .tag = tag, .sequence = published_};
    if (several_ && free_ == published_)
      moved_ns_ = now_ns();  // no acknowledgement was due before this message
    ++published_;
    shared_.counters.live_counters.sent(bytes);
    deal(headers_[(published_ - 1) % kept_]);
  }

  using FrameHeader = tcp::FrameHeader;

  /// The streams of a message that is kept until it is acknowledged.
  struct Dealt {
    std::array<uint8_t, tcp::kMostParts> streams{};  ///< stream of each part
    bool arrived = false;
  };

  std::byte* payload_of(uint64_t message) const {
    if (source_ != nullptr && message + 1 == published_) return const_cast<std::byte*>(source_);
    return slots_[message % kept_];
  }

  Status greet(OutStream& stream) {
    const bool opening = stream.opening != nullptr;
    Status status = stream.greet(shared_, spec_.peer);
    if (opening && stream.opening == nullptr) share_pace();
    return status;
  }

  /// Divides the rate among the streams that work now.
  void share_pace() {
    if (const double paced = std::exchange(pace_, 0); paced > 0) pace(paced);
  }

  Status named(const Status& error) const {
    if (error.ok()) return {};
    return error.reworded(fmt::format("{} cannot be opened at {}: {}", outgoing_name(spec_),
                                      peer_.listener.text(), error.message()));
  }

  /// With one path, messages use the streams round-robin; with several, a long message is sent in parts over
  /// all streams.
  void deal(FrameHeader& message) {
    if (!several_) return queue(message, streams_[message.sequence % streams_.size()]);
    const auto most = std::min<size_t>(
        tcp::kMostParts, static_cast<size_t>(std::ranges::count_if(streams_, &OutStream::usable)));
    message.parts = static_cast<uint8_t>(
        std::clamp<size_t>(message.bytes / tcp::kLeastPart, 1, std::max<size_t>(most, 1)));
    dealt_[message.sequence % kept_] = {};
    for (uint8_t part = 0; part < message.parts; ++part) deal_part(message, part);
  }

  /// Assigns the part to the stream with the fewest unacknowledged bytes.
  void deal_part(FrameHeader frame, uint8_t part) {
    frame.part = part;
    OutStream* next = &streams_[frame.sequence % streams_.size()];
    for (OutStream& stream : streams_) {
      if (stream.usable() && (!next->usable() || stream.carries < next->carries)) next = &stream;
    }
    if (!next->usable()) return;  // progress() reports the error
    next->carries += frame_bytes(frame);
    dealt_[frame.sequence % kept_].streams[part] = static_cast<uint8_t>(next - streams_.data());
    queue(frame, *next);
  }

  void queue(const FrameHeader& frame, OutStream& stream) {
    if (tcp::SenderCredit* credit = credit_of(stream)) credit->publish(frame.part_bytes());
    stream.queue.push_back(frame);
    push(stream);
  }

  tcp::SenderCredit* credit_of(const OutStream& stream) {
    return controls_ == nullptr ? nullptr : controls_->credit(stream.path);
  }

  /// Passes the stream's frames to the kernel, as far as the socket buffer and the credit allow.
  void push(OutStream& stream) {
    if (stream.socket.unsent() && stream.usable()) flush(stream);
    while (error_.ok() && stream.usable() && !stream.queue.empty()) {
      if (controls_ != nullptr) controls_->refresh(stream.path);
      if (!several_ && controls_ != nullptr && !controls_->ended(0).empty())
        error_ = broken(controls_->ended(0));
      if (!error_.ok()) return;
      std::array<iovec, 2 * kBatch> parts;
      const size_t count = gather(stream, parts);
      if (count == 0) return stall(stream);
      const Result<size_t> sent = stream.socket.try_send(std::span(parts).first(count));
      if (!sent.ok()) return break_stream(stream, sent.status());
      if (*sent == 0) return;
      account(stream, *sent);
    }
  }

  /// Passes encrypted bytes to the kernel that count as sent.
  void flush(OutStream& stream) {
    if (const Result<bool> flushed = stream.socket.flush(); !flushed.ok())
      break_stream(stream, flushed.status());
  }

  void break_stream(OutStream& stream, const Status& why) {
    stream.trouble = why;
    if (!several_) error_ = broken(why.message());
  }

  /// Starts a stall. Later messages must be announced, since their headers cannot be sent yet.
  void stall(const OutStream& stream) {
    credit_of(stream)->stall(now_ns());
    if (stream.queue.size() > 1) controls_->announce(stream.path);
  }

  /// Collects what comes next on the stream; returns the number of parts, 0 if there is no credit for any.
  size_t gather(OutStream& stream, std::array<iovec, 2 * kBatch>& parts) {
    size_t count = 0;
    size_t total = 0;
    const tcp::SenderCredit* const credit = credit_of(stream);
    size_t left = credit != nullptr ? credit->left() : SIZE_MAX;
    size_t skip = stream.sent;
    for (FrameHeader& frame : stream.queue) {
      if (count == 2 * kBatch) break;
      const size_t header_skip = std::min(skip, sizeof frame);
      const size_t payload_skip = skip - header_skip;
      skip = 0;
      const size_t payload = frame.part_bytes() - payload_skip;
      const size_t allowed = std::min(payload, left);
      parts[count++] = {reinterpret_cast<std::byte*>(&frame) + header_skip, sizeof frame - header_skip};
      parts[count++] = {payload_of(frame.sequence) + frame.part_begin() + payload_skip, allowed};
      total += sizeof frame - header_skip + allowed;
      left -= allowed;
      if (allowed < payload) break;
    }
    return total == 0 ? 0 : count;
  }

  /// Accounts for `bytes` of the stream that the kernel has taken.
  void account(OutStream& stream, size_t bytes) {
    uint64_t payload = 0;
    while (bytes > 0) {
      const size_t part = std::min(bytes, frame_bytes(stream.queue.front()) - stream.sent);
      bytes -= part;
      payload += part - std::min(part, sizeof(FrameHeader) - std::min(sizeof(FrameHeader), stream.sent));
      stream.sent += part;
      if (stream.sent < frame_bytes(stream.queue.front())) break;
      stream.sent = 0;
      stream.queue.pop_front();
    }
    if (tcp::SenderCredit* credit = credit_of(stream); credit != nullptr && payload > 0) credit->use(payload);
    if (several_) return free_slots();
    free_ = published_;
    for (const OutStream& each : streams_) {
      if (!each.queue.empty()) free_ = std::min(free_, each.queue.front().sequence);
    }
  }

  Status broken(const std::string& why) const {
    return Status(
        Code::remote_error,
        fmt::format("connection to rank {} (address {}) lost on {}; {} messages in flight: {}", spec_.peer,
                    peer_.listener.text(), outgoing_name(spec_), published_ - free_, why));
  }

  // Several paths

  size_t paths() const { return peer_.paths.size(); }

  /// Opening the channel with one path: an error of any connection is an error of the channel. Returns true
  /// once the control connection works, if there is one.
  bool settle_path() {
    for (const OutStream& stream : streams_) {
      if (error_.ok()) error_ = named(stream.trouble);
    }
    if (controls_ == nullptr) return true;
    const bool works = controls_->ready(0);
    if (error_.ok() && !controls_->ended(0).empty())
      error_ = named(Status(Code::remote_error, controls_->ended(0)));
    return works;
  }

  /// Opening the channel with several paths: returns true once each path works, was refused, or has not
  /// answered in time after another path works.
  bool settle_paths() {
    const int64_t now = now_ns();
    std::vector<bool> works(paths());
    for (size_t path = 0; path < paths(); ++path) {
      works[path] = controls_->ready(path);
      lose_ended(path);
    }
    for (const OutStream& stream : streams_) works[stream.path] = works[stream.path] && stream.ready;
    const bool any = std::ranges::count(works, true) > 0;
    if (moved_ns_ == 0 && any) moved_ns_ = now;
    for (OutStream& stream : streams_) {
      if (any && !works[stream.path] && now - moved_ns_ >= timeout_ns_) stream.lose(no_answer(timeout_ns_));
    }
    go_on_without_lost();
    if (!lost_.ok()) error_ = named(lost_);
    // A path may be lost before the first control connection works, and the receiver waits for all streams
    // that it was not told of.
    if (!controls_->has_told_gone()) controls_->serve();
    return controls_->has_told_gone() && std::ranges::all_of(streams_, [&](const OutStream& stream) {
             return stream.gone || works[stream.path];
           });
  }

  void lose_path(size_t path, const Status& why) {
    for (OutStream& stream : streams_) {
      if (stream.path == path) stream.lose(why);
    }
  }
  void lose_ended(size_t path) {
    if (!controls_->ended(path).empty()) lose_path(path, Status(Code::remote_error, controls_->ended(path)));
  }

  /// Receives acknowledgements, and abandons unusable paths. After all messages have arrived, the peer may
  /// close paths without an error.
  void watch() {
    if (free_ == published_) return;
    controls_->serve();
    const int64_t now = now_ns();
    if (heard_ != controls_->arrived().code()) {
      heard_ = controls_->arrived().code();
      take_arrivals();
      moved_ns_ = now;
    }
    if (free_ == published_) return;
    for (size_t path = 0; path < paths(); ++path) lose_ended(path);
    if (now - moved_ns_ >= timeout_ns_ / 4) {
      // Where only an attempt is answered, the path is lost once that has succeeded.
      for (const size_t path : controls_->silent(now)) {
        if (is_used_elsewhere(streams_, path)) lose_path(path, no_answer(timeout_ns_));
      }
    }
    go_on_without_lost();
    if (!lost_.ok()) error_ = broken(lost_.message());
  }

  void take_arrivals() {
    for (uint64_t message = arrived_; message < published_; ++message) {
      Dealt& dealt = dealt_[message % kept_];
      if (dealt.arrived || !controls_->arrived().has(message)) continue;
      dealt.arrived = true;
      FrameHeader frame = headers_[message % kept_];
      for (frame.part = 0; frame.part < frame.parts; ++frame.part) {
        uint64_t& carries = streams_[dealt.streams[frame.part]].carries;
        carries -= std::min(frame_bytes(frame), carries);
      }
    }
    while (arrived_ < published_ && dealt_[arrived_ % kept_].arrived) ++arrived_;
    free_slots();
  }

  /// A slot is free when its message has arrived and no stream is in the middle of retransmitting it.
  void free_slots() {
    for (OutStream& stream : streams_) {
      while (stream.sent == 0 && !stream.queue.empty() && stream.queue.front().sequence < arrived_)
        stream.queue.pop_front();
    }
    uint64_t free = arrived_;
    for (const OutStream& stream : streams_) {
      for (const FrameHeader& frame : stream.queue) free = std::min(free, frame.sequence);
    }
    free_ = std::max(free_, free);
  }

  /// Abandons broken streams if others work: their messages are retransmitted over those.
  void go_on_without_lost() {
    const auto lost = [](const OutStream& stream) { return !stream.gone && !stream.trouble.ok(); };
    if (std::ranges::none_of(streams_, lost)) return;
    if (std::ranges::none_of(streams_, &OutStream::usable)) {
      lost_ = all_troubles();
      return;
    }
    // A path that another one replaces is lost as a whole: it is tried again as a whole, with new credit.
    for (const OutStream& stream : streams_) {
      if (lost(stream) && another_works(streams_, stream.path)) lose_path(stream.path, stream.trouble);
    }
    for (OutStream& stream : streams_) {
      if (lost(stream)) give_up(stream);
    }
    controls_->serve();
  }

  /// Tries lost paths again, while there is something to send; takes those back that work.
  void recover() {
    const int64_t now = now_ns();
    auto regained = failback_->advance(now, free_ != published_);
    if (!regained) return;
    for (OutStream& stream : regained->streams) streams_[stream.index] = std::move(stream);
    share_pace();
    WEIR_WARN("{} uses the path from {} again, which was lost for {:.1f} s", outgoing_name(spec_),
              peer_.paths[regained->path].text, regained->lost_s);
  }

  void give_up(OutStream& stream) {
    stream.gone = true;
    shared_.counters.live_counters.gave_up();
    shared_.counters.connections.forget(stream.socket.socket());
    // Reset the connection, so that none of its data arrives later.
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(stream.socket.socket().fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    stream.socket.close();
    stream.opening.reset();
    stream.queue.clear();
    stream.sent = 0;
    controls_->tell_gone({stream.index, failback_->attempt(stream.path)});
    if (std::ranges::all_of(streams_, [&](const auto& one) { return one.gone || one.path != stream.path; })) {
      controls_->leave(stream.path);
      failback_->lost(stream.path, now_ns());
    }
    uint64_t again = 0;
    for (uint64_t message = arrived_; message < published_; ++message) {
      const Dealt dealt = dealt_[message % kept_];
      if (dealt.arrived) continue;
      const FrameHeader& header = headers_[message % kept_];
      bool any = false;
      for (uint8_t part = 0; part < header.parts; ++part) {
        if (&streams_[dealt.streams[part]] != &stream) continue;
        deal_part(header, part);
        any = true;
      }
      again += any ? 1 : 0;
    }
    WEIR_WARN(
        "{} continues without the connection from {}: {}; retransmitting {} messages over {}; the lost "
        "path is tried again; plans still count on {} paths until ncclCommSuspend and ncclCommResume, or a "
        "new "
        "communicator",
        outgoing_name(spec_), peer_.paths[stream.path].text, stream.trouble.message(), again,
        list_used_paths(), paths());
    share_pace();
  }

  std::string list_used_paths() const {
    std::string text;
    for (size_t path = 0; path < paths(); ++path) {
      const bool used = std::ranges::any_of(
          streams_, [&](const OutStream& stream) { return stream.path == path && stream.usable(); });
      if (used) text += fmt::format("{}{}", text.empty() ? "" : ", ", peer_.paths[path].text);
    }
    return text;
  }

  /// The reason for the loss of each path.
  Status all_troubles() const {
    std::string text;
    for (size_t path = 0; path < paths(); ++path) {
      const auto of_path =
          std::ranges::find_if(streams_, [&](const OutStream& stream) { return stream.path == path; });
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", peer_.paths[path].text,
                          of_path->trouble.message());
    }
    return Status(Code::remote_error, text);
  }

  const LinkSpec spec_;
  tcp::Shared& shared_;
  const TcpPeer peer_;
  const int64_t timeout_ns_;
  const bool several_;  // whether there are several paths
  std::vector<OutStream> streams_;
  const std::unique_ptr<tcp::SenderControls> controls_;  // null: one path, and no credit
  std::optional<tcp::Failback> failback_;                // with several paths only
  const uint64_t kept_;                                  // number of messages for which there are slots
  std::vector<FrameHeader> headers_;                     // header of the message in each slot
  std::vector<Dealt> dealt_;  // state of the message in each slot, with several paths only
  SlotArray slots_;
  const std::byte* source_ = nullptr;  // bytes of the last message while publish() runs
  bool ready_ = false;
  double pace_ = 0;  // bytes per second; 0: unlimited
  uint64_t published_ = 0;
  uint64_t arrived_ = 0;  // all messages before it have arrived; with several paths only
  uint64_t free_ = 0;     // the slots of all messages before it are free
  uint64_t heard_ = 0;    // last acknowledgement from the receiver
  int64_t moved_ns_ = 0;  // time of the last progress; ns
  Status lost_;           // reason why no stream is left
  Status error_;
};

Status check_channel(const LinkSpec& spec, uint32_t streams) {
  WEIR_TRY(check_spec(spec));
  if (spec.channel < tcp::kMostChannels && streams > 0 && streams <= tcp::kMostStreams) return {};
  return Status(
      Code::invalid_argument,
      fmt::format(
          "{} cannot be opened with {} streams; tcp supports channel numbers below {} and 1 to {} streams",
          outgoing_name(spec), streams, tcp::kMostChannels, tcp::kMostStreams));
}

}  // namespace

Result<std::unique_ptr<Sender>> open_tcp_sender(TcpPeer peer, uint64_t uid, uint32_t streams,
                                                const PathTimes& times, const LinkSpec& spec, PathUses* uses,
                                                tcp::Shared& shared) {
  WEIR_TRY(check_channel(spec, streams));
  // If there are fewer streams than paths, channels use different paths.
  std::ranges::rotate(peer.paths, peer.paths.begin() + spec.channel % peer.paths.size());
  peer.paths.resize(std::min({peer.paths.size(), size_t{streams}, size_t{tcp::kMostPaths}}));
  const bool several = peer.paths.size() > 1;
  tcp::Connector connector(peer, uid, streams, spec, uses);
  std::unique_ptr<tcp::SenderControls> controls;
  if (several || peer.credit) {
    std::vector<tcp::ControlConnection> ends;
    for (uint32_t path = 0; path < peer.paths.size(); ++path) ends.push_back(connector.control(path, 0));
    controls = std::make_unique<tcp::SenderControls>(std::move(ends), times.timeout_ns,
                                                     peer.credit ? &shared.counters.live_counters : nullptr,
                                                     shared.events);
  }
  return std::unique_ptr<Sender>(
      std::make_unique<TcpSender>(peer, std::move(connector), std::move(controls), times, spec, shared));
}

}  // namespace weir
