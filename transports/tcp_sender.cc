#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "src/base/clock.h"
#include "transports/link_check.h"
#include "transports/slot_array.h"
#include "transports/tcp_channel.h"
#include "transports/tcp_credit.h"
#include "transports/tcp_wire.h"

namespace weir {
namespace {

constexpr size_t kBatch = 8;  // frames in one system call

/// One connection.
struct OutStream {
  Socket socket;
  Bytes greeting;      // what of the hello and greeting is not sent yet
  bool ready = false;  // connected and greeted
  uint64_t next = 0;   // message under way
  size_t sent = 0;     // bytes of its frame that the kernel has
};

class TcpSender final : public Sender {
 public:
  TcpSender(std::vector<OutStream> streams, std::unique_ptr<tcp::CreditTaker> credit,
            const SocketAddress& peer_door, const LinkSpec& spec, tcp::Counters& counters)
      : spec_(spec),
        counters_(counters),
        peer_door_(peer_door),
        streams_(std::move(streams)),
        credit_(std::move(credit)),
        headers_(spec.slots),
        slots_(spec.slots, spec.slot_bytes) {}

  ~TcpSender() override {
    counters_.sent += payload_;
    for (const OutStream& stream : streams_) counters_.retransmitted += tcp::retransmitted(stream.socket);
    if (credit_ == nullptr) return;
    credit_->go_on(now_ns());
    counters_.stalls += credit_->stalls();
    counters_.stalled_ns += credit_->stalled_ns();
  }

  Result<bool> ready() override {
    WEIR_TRY(error_);
    if (ready_) return true;
    ready_ = true;
    for (OutStream& stream : streams_) {
      if (!stream.ready) error_ = named(greet(stream));
      WEIR_TRY(error_);
      ready_ = ready_ && stream.ready;
    }
    if (credit_ == nullptr) return ready_;
    const Result<bool> credit = credit_->ready();
    if (!credit.ok()) error_ = named(credit.status());
    WEIR_TRY(error_);
    ready_ = ready_ && *credit;
    return ready_;
  }

  std::byte* acquire() override {
    if (!ready_ || published_ - done_ >= spec_.slots) return nullptr;
    return slots_[published_ % spec_.slots];
  }

  void publish(uint64_t tag, uint32_t bytes) override {
    headers_[published_ % spec_.slots] = {.bytes = bytes, .tag = tag, .sequence = published_};
    OutStream& stream = streams_[published_ % streams_.size()];
    ++published_;
    if (credit_ != nullptr) credit_->publish(bytes);
    push(stream);
  }

  Status progress() override {
    if (ready_) {
      for (OutStream& stream : streams_) push(stream);
    } else if (error_.ok()) {
      error_ = ready().status();
    }
    return error_;
  }

  bool flushed() const override { return done_ == published_; }

 private:
  /// Goes on with connecting and the greeting.
  Status greet(OutStream& stream) {
    const Result<bool> connected = stream.socket.connected();
    WEIR_TRY(connected.status());
    if (!connected.value()) return {};
    const Result<size_t> sent = stream.socket.try_send(stream.greeting);
    WEIR_TRY(sent.status());
    stream.greeting.erase(stream.greeting.begin(),
                          stream.greeting.begin() + static_cast<ptrdiff_t>(sent.value()));
    stream.ready = stream.greeting.empty();
    return {};
  }

  Status named(const Status& error) const {
    if (error.ok()) return {};
    return Status(error.code(), fmt::format("{} cannot be opened at the door {}: {}", outgoing_name(spec_),
                                            peer_door_.text(), error.message()));
  }

  /// Gives the kernel what it takes of the stream's frames, and what may be sent.
  void push(OutStream& stream) {
    while (error_.ok() && stream.next < published_) {
      if (credit_ != nullptr) keep(credit_->refresh());
      const ssize_t sent = send_batch(stream);
      if (sent < 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) fail(std::generic_category().message(errno));
        return;
      }
      if (sent == 0) return stall(stream);
      account(stream, static_cast<size_t>(sent));
    }
  }

  /// Nothing may be sent. The headers of messages behind the one that waits cannot tell of them.
  void stall(const OutStream& stream) {
    credit_->stall(now_ns());
    if (stream.next + streams_.size() < published_) keep(credit_->announce());
  }

  /// What became of the control line.
  void keep(const Status& status) {
    if (error_.ok() && !status.ok()) fail(status.message());
  }

  /// 0: without credit, nothing may be sent.
  ssize_t send_batch(const OutStream& stream) {
    iovec parts[2 * kBatch];
    size_t count = 0;
    size_t total = 0;
    size_t skip = stream.sent;
    size_t left = credit_ != nullptr ? credit_->left() : SIZE_MAX;
    for (uint64_t message = stream.next; message < published_ && count < 2 * kBatch;
         message += streams_.size()) {
      FrameHeader& header = headers_[message % spec_.slots];
      const size_t header_skip = std::min(skip, sizeof header);
      const size_t payload_skip = skip - header_skip;
      skip = 0;
      const size_t payload = header.bytes - payload_skip;
      const size_t allowed = std::min(payload, left);
      parts[count++] = {reinterpret_cast<std::byte*>(&header) + header_skip, sizeof header - header_skip};
      parts[count++] = {slots_[message % spec_.slots] + payload_skip, allowed};
      total += sizeof header - header_skip + allowed;
      left -= allowed;
      if (allowed < payload) break;
    }
    if (total == 0) return 0;
    msghdr call{};
    call.msg_iov = parts;
    call.msg_iovlen = count;
    return sendmsg(stream.socket.fd(), &call, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  /// The kernel has taken `bytes` more of the stream.
  void account(OutStream& stream, size_t bytes) {
    uint64_t payload = 0;
    while (bytes > 0) {
      const size_t frame = sizeof(FrameHeader) + headers_[stream.next % spec_.slots].bytes;
      const size_t part = std::min(bytes, frame - stream.sent);
      bytes -= part;
      payload += part - std::min(part, sizeof(FrameHeader) - std::min(sizeof(FrameHeader), stream.sent));
      stream.sent += part;
      if (stream.sent < frame) break;
      stream.sent = 0;
      stream.next += streams_.size();
    }
    payload_ += payload;
    if (credit_ != nullptr && payload > 0) credit_->use(payload);
    done_ = published_;
    for (const OutStream& each : streams_) done_ = std::min(done_, each.next);
  }

  void fail(std::string_view why) {
    error_ = Status(Code::remote_error,
                    fmt::format("rank {} (door {}) broke {} with {} messages under way: {}", spec_.peer,
                                peer_door_.text(), outgoing_name(spec_), published_ - done_, why));
  }

  using FrameHeader = tcp::FrameHeader;

  const LinkSpec spec_;
  tcp::Counters& counters_;
  const SocketAddress peer_door_;
  std::vector<OutStream> streams_;
  std::unique_ptr<tcp::CreditTaker> credit_;  // null: everything may be sent
  std::vector<FrameHeader> headers_;          // by slot
  SlotArray slots_;
  bool ready_ = false;
  uint64_t payload_ = 0;  // bytes that the kernel has
  uint64_t published_ = 0;
  uint64_t done_ = 0;  // all messages before it are with the kernel
  Status error_;
};

/// What a connection begins with.
Bytes opening(const DeliveryKey& key, tcp::Greeting greeting, uint32_t stream) {
  greeting.stream = stream;
  const auto raw = std::as_bytes(std::span(&greeting, 1));
  Bytes bytes = delivery_hello(key);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Sender>> open_tcp_sender(const TcpPeer& peer, uint64_t uid, uint32_t streams,
                                                const LinkSpec& spec, tcp::Counters& counters) {
  WEIR_TRY(check_spec(spec));
  if (spec.channel >= tcp::kMostChannels || streams == 0 || streams > tcp::kMostStreams) {
    return Status(
        Code::invalid_argument,
        fmt::format("{} was asked for with {} streams; tcp has channels below {} and 1 to {} streams",
                    outgoing_name(spec), streams, tcp::kMostChannels, tcp::kMostStreams));
  }
  const tcp::Greeting greeting = {
      .streams = streams, .slots = spec.slots, .slot_bytes = spec.slot_bytes, .life = now_ns()};
  std::vector<OutStream> out(streams);
  for (uint32_t i = 0; i < streams; ++i) {
    Result<Socket> socket = Socket::start_connect(peer.door);
    if (!socket.ok()) return socket.status();
    out[i].socket = std::move(*socket);
    out[i].greeting = opening(tcp::delivery_key(uid, spec.self, spec.peer, spec.channel, i), greeting, i);
    out[i].next = i;
  }
  std::unique_ptr<tcp::CreditTaker> credit;
  if (peer.credit) {
    Result<Socket> socket = Socket::start_connect(peer.door);
    if (!socket.ok()) return socket.status();
    const DeliveryKey key = tcp::control_key(uid, spec.self, spec.peer, spec.channel);
    credit = std::make_unique<tcp::CreditTaker>(
        tcp::ControlLine(std::move(*socket), opening(key, greeting, streams)));
  }
  return std::unique_ptr<Sender>(
      std::make_unique<TcpSender>(std::move(out), std::move(credit), peer.door, spec, counters));
}

}  // namespace weir
