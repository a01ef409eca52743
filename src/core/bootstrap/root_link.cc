// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/root_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "src/base/clock.h"
#include "src/base/exception.h"
#include "src/base/process_id.h"
#include "src/core/diagnosis/watchdog.h"

namespace weir::core {
namespace {

using root_wire::Word;

/// The root of the job before at a fixed address may still answer for this time.
constexpr int64_t kStrangeMs = 11'000;
/// Ranks look after their root at least as often as this.
constexpr int64_t kServedMs = 100;

std::string where(const UniqueId& id, const root_wire::Hello& hello) {
  if (id.fixed) return fmt::format("rank 0 at NCCL_COMM_ID={}", id.root.text());
  if (hello.roots == 1) return fmt::format("the process that made the unique id, at {}", id.root.text());
  const int place = hello.purpose == root_wire::Purpose::joins ? hello.root : 0;
  return fmt::format("the process that made unique id {} of {}, at {}", place + 1, hello.roots,
                     id.root.text());
}

}  // namespace

RootLink::RootLink(Socket socket, const UniqueId& id, const Credentials& credentials,
                   const root_wire::Hello& hello, const Timeouts& timeouts, const std::atomic<bool>* abort)
    : frames_(std::move(socket)),
      id_(id),
      credentials_(credentials),
      hello_(hello),
      timeouts_(timeouts),
      abort_(abort),
      heard_ns_(now_ns()),
      served_ns_(heard_ns_) {
  frames_.distrust(root_wire::kMostStrangeBytes);
}

Result<std::unique_ptr<RootLink>> RootLink::try_open(const UniqueId& id, const Credentials& credentials,
                                                     const root_wire::Hello& hello, const Timeouts& timeouts,
                                                     const Deadline& deadline, bool at_own,
                                                     Attempt& attempt) {
  auto socket = Socket::connect(at_own ? id.own : id.root, deadline.within_ms(timeouts.peer_ms));
  if (!socket.ok()) {
    attempt = Attempt::unreached;
    const std::string_view perhaps =
        id.fixed ? "" : "; it has ended, or this id has served a communicator already";
    if (socket.status().is_shortage()) return socket.status();
    return Status(socket.status().code(),
                  fmt::format("{}{} cannot be reached: {}{}", where(id, hello), id.fixed ? "" : ",",
                              socket.status().message(), perhaps));
  }
  std::unique_ptr<RootLink> link(
      new RootLink(std::move(*socket), id, credentials, hello, timeouts, deadline.abort_flag()));
  while (!link->welcome_) {
    const Status served = guarded([&] { return link->serve(20); },
                                  [&](const Status& thrown) {  // the root may have counted on this rank
                                    if (link->said_hello_) link->leave(thrown);
                                  });
    attempt = link->strange_  ? Attempt::stranger
              : link->told_   ? Attempt::told
              : link->closed_ ? Attempt::closed
                              : Attempt::unreached;
    WEIR_TRY(served);
  }
  return link;
}

Result<std::unique_ptr<RootLink>> RootLink::open(const UniqueId& id, const Credentials& credentials,
                                                 const root_wire::Hello& hello, const Timeouts& timeouts,
                                                 const std::atomic<bool>* abort) {
  const Deadline deadline = Deadline::in_ms(id.fixed ? timeouts.init_ms : timeouts.peer_ms, abort);
  const Deadline strange = Deadline::in_ms(kStrangeMs, abort);
  bool at_own = id.has_own_address();
  for (int64_t pause_ms = 2;; pause_ms = std::min<int64_t>(pause_ms * 2, 100)) {
    Attempt attempt = Attempt::unreached;
    auto link = try_open(id, credentials, hello, timeouts, deadline, at_own, attempt);
    // Of two containers with one address, only one is that of a fixed root.
    if (id.fixed && id.has_own_address()) at_own = !at_own;
    const Code code = link.status().code();
    const bool may_change = code == Code::remote_error || code == Code::system_error;
    const bool again = attempt == Attempt::closed || (id.fixed && attempt == Attempt::unreached) ||
                       (id.fixed && attempt == Attempt::stranger && !strange.over());
    if (!may_change || !again || deadline.aborted() || deadline.over()) return link;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
}

Status RootLink::serve(int wait_ms) {
  if (abort_ != nullptr && abort_->load())
    return Status(Code::invalid_usage, "the communicator was aborted while its ranks were joining");
  pollfd entry{frames_.socket().fd(), frames_.events(), 0};
  poll(&entry, 1, frames_.pending() ? 0 : wait_ms);
  const Status connection = frames_.receive();
  const int64_t now = now_ns();
  const int64_t pause = now - served_ns_;
  delay_.note(pause - kServedMs * kNsPerMs);
  if (pause > kStallNs) heard_ns_ += pause;
  served_ns_ = now;
  WEIR_TRY(take_in());
  frames_.flush();
  if (!connection.ok()) {
    closed_ = true;
    if (!frames_.ready())
      return Status(Code::remote_error, fmt::format("{}: {}", where(id_, hello_), connection.message()));
    return Status(Code::remote_error,
                  welcome_ ? fmt::format("{}, ended while the ranks were joining there", where(id_, hello_))
                           : fmt::format("{}, closed the connection before it answered", where(id_, hello_)));
  }
  if (is_silent(now)) {
    return Status(Code::remote_error,
                  fmt::format("{}, has not answered for {:.1f} s: it is stopped or out of reach{}",
                              where(id_, hello_), static_cast<double>(now - heard_ns_) / 1e9,
                              welcome_ ? "" : ", or not a process of weir"));
  }
  return {};
}

/// Whether the root has not answered for too long. Of a process of this host the kernel knows more.
bool RootLink::is_silent(int64_t now) {
  const int64_t silent_ns = now - heard_ns_;
  const bool here = welcome_ && welcome_->host == hello_.peer.host;
  if (here && silent_ns > timeouts_.stopped_ms() * kNsPerMs) {
    const ProcessState state = state_of(welcome_->process);
    if (state == ProcessState::runs) heard_ns_ = now;  // its host is busy
    if (state != ProcessState::unknown) return state != ProcessState::runs;
  }
  return silent_ns > root_wire::silence_ms(timeouts_) * kNsPerMs + delay_.allowance_ns();
}

Status RootLink::take_in() {
  while (const auto frame = frames_.next()) {
    heard_ns_ = served_ns_;
    if (!welcome_) {
      WEIR_TRY(take_strange(*frame));
      continue;
    }
    switch (root_wire::word_of(*frame)) {
      case Word::ping: frames_.send(root_wire::say(Word::alive)); break;
      case Word::relay: relays_ = true; break;
      case Word::released: released_ = true; break;
      case Word::hellos:
      case Word::all_listeners: relayed_.push_back(*frame); break;
      case Word::listeners: listeners_ = root_wire::Listeners::decode(*frame); break;
      case Word::failed: told_ = true; return understood(root_wire::decode_failed(*frame));
      default: break;  // unknown words come from a later version and may be ignored
    }
  }
  return {};
}

/// What another process lacks, this one need not lack.
Status RootLink::understood(const Status& said) const {
  const bool here = welcome_ && welcome_->process.pid == getpid() && welcome_->host == hello_.peer.host;
  if (here || said.code() != Code::system_error) return said;
  return {Code::remote_error, said.message()};
}

/// A frame of a side that has not proven to be the root: its challenge, and then its proof.
Status RootLink::take_strange(BytesView frame) {
  if (!said_hello_) {
    const auto challenge = root_wire::decode_challenge(frame);
    if (!challenge) return stranger("is not a process of this version of weir");
    const auto own = random_challenge();
    WEIR_TRY(own.status());
    hello_.challenge = *own;
    hello_.encryption = credentials_.mode();
    hello_.prove(id_.secret, *challenge);
    frames_.send(hello_.encode());
    said_hello_ = true;
    return {};
  }
  const auto welcome = root_wire::Welcome::decode(frame);
  if (!welcome) return stranger("refuses: it belongs to another job, or has another secret");
  if (!welcome->is_proven(hello_, id_.secret)) return stranger("does not know the secret of this job");
  welcome_ = *welcome;
  frames_.trust();
  // Otherwise the root says next that the two differ.
  if (credentials_.tls != nullptr && welcome->encryption == hello_.encryption)
    return frames_.secure(credentials_.tls, TlsRole::connects, hello_.proof);
  return {};
}

Status RootLink::stranger(std::string_view what) {
  strange_ = true;
  const std::string_view remedy = id_.fixed
                                      ? "; expected the same WEIR_SECRET or WEIR_SECRET_FILE on all ranks"
                                      : "; the one that made it may have ended, and this one have its port";
  return Status(Code::remote_error, fmt::format("{}, {}{}", where(id_, hello_), what, remedy));
}

void RootLink::leave(const Status& status) {
  // What this process lacks is not lacking where the others read of it: they are told who it is.
  const Status told =
      status.code() != Code::system_error
          ? status
          : Status(Code::remote_error, fmt::format("{} cannot set up the communicator: {}",
                                                   hello_.peer.describe(hello_.rank), status.message()));
  frames_.send(status.ok() ? root_wire::say(Word::done) : root_wire::encode_failed(told));
  // Closing a socket with unread data resets the connection, and a lost last frame would not be
  // retransmitted.
  (void)guarded([&] { return frames_.receive(); });  // all is said, whatever that lacks
  frames_.close();
}

}  // namespace weir::core
