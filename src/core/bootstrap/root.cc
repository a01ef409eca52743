// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/root.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>

#include "src/base/clock.h"
#include "src/base/descriptors.h"
#include "src/base/exception.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/process_id.h"
#include "src/base/service_thread.h"
#include "src/base/shortage.h"
#include "src/core/bootstrap/root_thread.h"
#include "src/core/bootstrap/root_wire.h"
#include "src/core/diagnosis/failure_relay.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/net/secret.h"

namespace weir::core {
namespace {

using root_wire::Hello;
using root_wire::Purpose;
using root_wire::Word;

constexpr int64_t kGreetingNs = 2'000 * kNsPerMs;  ///< time limit for a connection's hello
constexpr size_t kMostStrangers = 256;             ///< connections without a hello
constexpr int64_t kGraceNs = 200 * kNsPerMs;       ///< time of a stranger before it goes for others
constexpr int64_t kLingerNs = 10'000 * kNsPerMs;   ///< time for which late ranks get the failure
constexpr int64_t kLateNs = 2'000 * kNsPerMs;      ///< later joiners at a fixed address start a new bootstrap
constexpr int64_t kHoldNs = 500 * kNsPerMs;        ///< delay of the failure for ranks of this process
constexpr int64_t kWaitMs = 250;                   ///< longest time between two checks for failures
constexpr int64_t kPortMs = 1'000;                 ///< time to wait for a port in use

/// Whether a rank is in this process.
bool is_here(const PeerAddress& peer) { return peer.pid == getpid() && peer.hostname == short_hostname(); }

}  // namespace

Status Root::start() {
  stop_ = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.valid()) return system_failure("cannot start the bootstrap root", errno);
  auto thread = start_thread(
      "weir root", [this] { serve(); }, [](const Status&) {});
  WEIR_TRY(thread.status());
  thread_ = std::move(*thread);
  began_.wait(false);  // a process forked while the thread begins would inherit locks of the C library
  return {};
}

void Root::serve() {
  std::unique_lock working(working_);
  began_.store(true);
  began_.notify_one();
  last_round_ns_ = now_ns();
  bool stopped = false;
  while (!stopped) {
    const Status served = guarded([&] {
      stopped = !wait(working);
      if (stopped) return Status();
      const int64_t now = now_ns();
      note_pause(now);
      serve_round(now);
      return Status();
    });
    if (!served.ok() && !give_up(served)) break;
    if (over(now_ns())) break;
  }
  connections_.clear();
  listener_.close();
  finished_.store(true);
}

/// What this process itself was late with is no silence of ranks.
void Root::note_pause(int64_t now) {
  const int64_t pause = now - last_round_ns_;
  if (roll_call_.ranks() > 0) delay_.note(pause - kWaitMs * kNsPerMs);
  if (pause > kStallNs && roll_call_.ranks() > 0) {
    for (Connection& connection : connections_) connection.heard_ns += pause;
  }
  last_round_ns_ = now;
}

/// Waits until a socket is ready or the next check for failures is due. False: the root has to stop.
bool Root::wait(std::unique_lock<std::mutex>& working) {
  const bool accepts = strangers() < kMostStrangers || may_send_away(now_ns());
  polls_ = {{stop_.fd(), POLLIN, 0}, {listener_.fd(), static_cast<short>(accepts ? POLLIN : 0), 0}};
  for (const Connection& connection : connections_) {
    polls_.push_back({connection.frames.socket().fd(), connection.frames.events(), 0});
  }
  const bool pending = std::ranges::any_of(
      connections_, [](const Connection& connection) { return connection.frames.pending(); });
  const bool idle = connections_.empty() && roll_call_.ranks() == 0 && failure_.ok();
  working.unlock();
  const auto wait_ms = static_cast<int>(std::min<int64_t>(root_wire::ping_ms(timeouts_) / 4, kWaitMs));
  poll(polls_.data(), polls_.size(), pending ? 0 : idle ? -1 : wait_ms);
  working.lock();
  auto poll_of = polls_.cbegin() + 2;
  for (Connection& connection : connections_)
    connection.due = (poll_of++)->revents != 0 || connection.frames.pending();
  return polls_[0].revents == 0;
}

void Root::serve_round(int64_t now) {
  // With very many connections only a few are ready at a time.
  for (Connection& connection : connections_) {
    if (connection.due) listen_to(connection, now);
    const bool late = !connection.hello && now - connection.heard_ns > kGreetingNs + delay_.allowance_ns();
    connection.gone = connection.gone || late;
  }
  admit(now);
  if (relay_.connection != nullptr && relay_.connection->gone) relay_.connection = nullptr;
  std::erase_if(connections_, [](const Connection& connection) { return connection.gone; });
  if (!failure_.ok()) return tell_those_here(now);
  if (!roll_call_.at_first_root()) {
    serve_relay();
  } else if (roll_call_.complete() && !introduced()) {
    introduce(uid_in_job(job_key_of(id_), random_bits()), roll_call_.listeners());
  }
  look_for_trouble(now);
}

void Root::admit(int64_t now) {
  for (size_t here = strangers();; ++here) {
    if (here >= kMostStrangers) {
      if (!may_send_away(now)) return;
      send_a_stranger_away("it was idle while others waited");
      --here;
    }
    if (!admit_one()) return;
  }
}

/// Whether the oldest stranger had its time; others wait in the kernel's queue meanwhile.
bool Root::may_send_away(int64_t now) const {
  const auto oldest =
      std::ranges::find_if(connections_, [](const Connection& connection) { return !connection.hello; });
  return oldest != connections_.end() && now - oldest->heard_ns >= kGraceNs;
}

/// Accepts a connection and challenges it; returns false if none waits.
bool Root::admit_one() {
  auto accepted = listener_.accept();
  if (!accepted.ok()) {
    if (strangers() > 0) {
      send_a_stranger_away("it was idle while descriptors were needed");
      return true;
    }
    fail(Status(Code::system_error,
                fmt::format("the bootstrap root (pid {} on host {}) cannot accept more connections: {}",
                            getpid(), short_hostname(), accepted.status().message())));
    return false;
  }
  if (!accepted->has_value()) return false;
  const auto challenge = random_challenge();
  if (!challenge.ok()) {
    fail(challenge.status());
    return false;
  }
  Connection& connection = connections_.emplace_back(std::move(**accepted));
  connection.challenge = *challenge;
  connection.frames.send(root_wire::encode_challenge(*challenge));
  return true;
}

size_t Root::strangers() const {
  return static_cast<size_t>(
      std::ranges::count_if(connections_, [](const Connection& connection) { return !connection.hello; }));
}

void Root::reject(Connection& connection, std::string_view why) {
  connection.gone = true;
  if (const auto line = rejections_.add(why, connection.frames.socket().peer_text(), now_ns()))
    WEIR_INFO(bootstrap, "the bootstrap root {}", *line);
}

/// The oldest goes; connections_ begins with it.
void Root::send_a_stranger_away(std::string_view why) {
  const auto oldest =
      std::ranges::find_if(connections_, [](const Connection& connection) { return !connection.hello; });
  reject(*oldest, why);
  connections_.erase(oldest);
}

void Root::listen_to(Connection& connection, int64_t now) {
  const Status status = connection.frames.receive();
  while (auto frame = connection.frames.next()) {
    if (!understand(connection, *frame, now)) return;
  }
  connection.frames.flush();
  if (connection.parting && connection.frames.flushed()) connection.gone = true;
  if (status.ok()) return;
  connection.gone = true;
  if (!connection.hello || connection.done) return;
  const std::string what =
      connection.frames.ready()
          ? fmt::format("ended while the communicator of {} ranks was being set up", roll_call_.ranks())
          : fmt::format("cannot join: {}", status.message());
  roll_call_.note_told(connection.hello);  // it is not there any more
  fail(Status(Code::remote_error,
              fmt::format("{} {}", connection.hello->peer.describe(connection.hello->rank), what)),
       connection.hello->rank);
}

/// Returns false if the connection is not that of a rank of this job.
bool Root::understand(Connection& connection, const Bytes& frame, int64_t now) {
  if (!connection.hello && !connection.gone && !connection.parting) {
    if (!Hello::is_proven(frame, id_.secret, connection.challenge)) {
      connection.frames.send(root_wire::say(Word::refused));
      reject(connection, "it does not know the secret of this unique id");
      return false;
    }
    auto hello = Hello::decode(frame);
    if (!hello) {
      connection.gone = true;  // a rank of a damaged library; it gets no answer
      return false;
    }
    connection.frames.trust();
    welcome(connection, std::move(*hello), now);
  } else if (root_wire::word_of(frame) == Word::done) {
    roll_call_.note_told(connection.hello);  // of a failure it is told at its listener
    connection.done = true;
  } else if (root_wire::word_of(frame) == Word::failed) {
    if (failure_.ok()) {  // it knows already
      connection.gone = true;
      roll_call_.note_told(connection.hello);
    }
    fail(root_wire::decode_failed(frame));
  } else if (root_wire::word_of(frame) == Word::hellos) {
    take_hellos(connection, frame);
  } else if (root_wire::word_of(frame) == Word::all_listeners && &connection == relay_.connection) {
    take_listeners(frame);
  }
  connection.heard_ns = now;
  return true;
}

void Root::welcome(Connection& connection, Hello hello, int64_t now) {
  if (hello.nonce != id_.nonce || (introduced() && !id_.fixed)) {
    (void)show_proof(connection, hello);
    connection.frames.send(root_wire::encode_failed(
        Status(Code::invalid_argument, fmt::format("{} uses a unique id whose ranks have all joined already; "
                                                   "expected a new id for each communicator",
                                                   hello.peer.describe(hello.rank)))));
    connection.parting = true;
    return;
  }
  if (began_ns_ == 0) began_ns_ = now;
  if (introduced()) {  // it belongs to the next communicator at this address and will retry
    connection.gone = true;
    return;
  }
  if (failure_.ok()) {
    connection.gone = true;  // it comes again, unless it gets its proof
    if (!show_proof(connection, hello)) return;
    connection.gone = false;
  }
  connection.hello = hello;
  if (!is_here(hello.peer)) roll_call_.note_other_process();
  if (!failure_.ok()) return welcome_late(connection, now);
  const Status fits = roll_call_.check(hello, credentials_.mode());
  if (!fits.ok()) return fail(fits);
  const bool begins = roll_call_.ranks() == 0;
  if (const Status here = roll_call_.place(hello); !here.ok()) return fail(here);
  if (begins) allow_descriptors(roll_call_.to_tell());
  if (hello.purpose != Purpose::joins) return;
  const Hello& came = roll_call_.add(std::move(hello));
  if (roll_call_.at_first_root()) return;
  relay_.unreported.push_back(&came);
  if (relay_.connection != nullptr) return;
  relay_.connection = &connection;
  connection.frames.send(root_wire::say(Word::relay));
}

/// At the first root: ranks that came to another one.
void Root::take_hellos(const Connection& relay, BytesView frame) {
  if (relay.hello->purpose != Purpose::relays || !failure_.ok() || introduced()) return;
  auto some = root_wire::Hellos::decode(frame);
  if (!some) {
    return fail(Status(Code::remote_error, fmt::format("{} has relayed malformed hellos",
                                                       relay.hello->peer.describe(relay.hello->rank))));
  }
  for (Hello& hello : some->hellos) {
    const Status fits = roll_call_.take_relayed(std::move(hello), *relay.hello, credentials_.mode());
    if (!fits.ok()) return fail(fits);
  }
}

/// At another root: the first one has met all ranks.
void Root::take_listeners(BytesView frame) {
  const auto some = root_wire::AllListeners::decode(frame);
  if (!some || !failure_.ok() || introduced()) return;
  relay_.listeners.insert(relay_.listeners.end(), some->listeners.begin(), some->listeners.end());
  if (relay_.listeners.size() >= roll_call_.ranks()) introduce(some->uid, relay_.listeners);
}

/// At another root: what is to go through the rank that relays.
void Root::serve_relay() {
  if (relay_.connection == nullptr) return;
  for (size_t sent = 0; sent < relay_.unreported.size();) {
    root_wire::Hellos some;
    for (; sent < relay_.unreported.size() && some.hellos.size() < root_wire::Hellos::kMost; ++sent)
      some.hellos.push_back(*relay_.unreported[sent]);
    relay_.connection->frames.send(some.encode());
  }
  relay_.unreported.clear();
  if (!introduced() || relay_.released) return;
  relay_.released = std::ranges::all_of(connections_, [&](const Connection& connection) {
    return &connection == relay_.connection || !connection.hello || connection.done;
  });
  if (relay_.released) relay_.connection->frames.send(root_wire::say(Word::released));
}

/// Answers a hello after the failure. At a fixed address, a rank that was not missing belongs to the next
/// communicator: it is disconnected and will retry.
void Root::welcome_late(Connection& connection, int64_t now) {
  const Hello& hello = *connection.hello;
  const bool missing = roll_call_.misses(hello);
  if (id_.fixed && roll_call_.ranks() > 0 && (!missing || now - failed_ns_ > kLateNs)) {
    connection.gone = true;
    return;
  }
  if (missing && hello.purpose == Purpose::joins) (void)roll_call_.add(hello);
  (void)show_proof(connection, hello);
  if (is_here(hello.peer) && !told_here_) return;  // tell_those_here() will
  connection.frames.send(root_wire::encode_failed(failure_));
  roll_call_.note_told(connection.hello);
}

/// A rank that is disconnected before its root's proof comes again.
bool Root::show_proof(Connection& connection, const Hello& hello) const {
  connection.frames.send(root_wire::Welcome::to(hello, credentials_, host_).encode());
  if (credentials_.tls == nullptr || hello.encryption != credentials_.mode()) return true;
  connection.gone = !connection.frames.secure(credentials_.tls, TlsRole::accepts, hello.proof).ok();
  return !connection.gone;
}

/// All ranks have joined: sends each rank that is connected the listeners that it will send to, and each
/// relay those of all ranks.
void Root::introduce(uint64_t uid, const std::vector<root_wire::Listeners::Entry>& listeners) {
  uid_ = uid;
  const size_t ranks = roll_call_.ranks();
  for (Connection& connection : connections_) {
    if (!connection.hello || connection.hello->purpose == Purpose::declines) continue;
    if (connection.hello->purpose == Purpose::relays) {
      for (auto next = listeners.begin(); next != listeners.end();) {
        const auto end = next + std::min<ptrdiff_t>(listeners.end() - next, root_wire::AllListeners::kMost);
        connection.frames.send(root_wire::AllListeners{uid_, {next, end}}.encode());
        next = end;
      }
      continue;
    }
    root_wire::Listeners below{uid_, {}};
    const auto rank = static_cast<size_t>(connection.hello->rank);
    for (size_t step = 1; step < ranks; step *= 2)
      below.below.push_back(listeners[(rank + ranks - step) % ranks]);
    connection.frames.send(below.encode());
  }
  WEIR_INFO(bootstrap, "all {} ranks have joined communicator {:#x}, {:.1f} ms after the first", ranks, uid_,
            static_cast<double>(now_ns() - began_ns_) / 1e6);
}

/// What the silence of a rank shows; empty: nothing yet. Of a process of this host the kernel knows more.
std::string_view Root::silence_of(Connection& connection, int64_t now) const {
  const int64_t silent_ns = now - connection.heard_ns;
  const bool here = connection.hello->peer.host == host_;
  if (here && silent_ns > timeouts_.stopped_ms() * kNsPerMs) {
    const ProcessState state = state_of(connection.hello->peer.process);
    if (state == ProcessState::stopped) return "is stopped (by a signal or a debugger)";
    if (state == ProcessState::gone) return "is dead";
    if (state == ProcessState::runs) connection.heard_ns = now;  // its host is busy
    if (state == ProcessState::runs) return {};
  }
  const int64_t most_ns = root_wire::silence_ms(timeouts_) * kNsPerMs + delay_.allowance_ns();
  return silent_ns > most_ns ? "is stopped or out of reach" : "";
}

void Root::look_for_trouble(int64_t now) {
  if (began_ns_ == 0) return;
  if (now >= next_ping_ns_) {
    next_ping_ns_ = now + root_wire::ping_ms(timeouts_) * kNsPerMs;
    for (Connection& connection : connections_) {
      if (connection.hello) connection.frames.send(root_wire::say(Word::ping));
    }
  }
  for (Connection& connection : connections_) {
    if (!connection.hello || connection.done) continue;
    const std::string_view silence = silence_of(connection, now);
    if (silence.empty()) continue;
    return fail(Status(Code::remote_error,
                       fmt::format("{} {}: it has not answered for {:.1f} s while the communicator of {} "
                                   "ranks was being set up",
                                   connection.hello->peer.describe(connection.hello->rank), silence,
                                   static_cast<double>(now - connection.heard_ns) / 1e9, roll_call_.ranks())),
                connection.hello->rank);
  }
  // Of ranks that do not come the first root knows most.
  if (roll_call_.at_first_root() && !introduced() && now - began_ns_ > timeouts_.init_ms * kNsPerMs) {
    fail(roll_call_.missing_within(timeouts_.init_ms));
  }
}

void Root::fail(const Status& status, Rank culprit) {
  if (!failure_.ok()) return;
  failure_ = status;
  culprit_ = culprit;
  failed_ns_ = now_ns();
  lingers_.store(true);
  WEIR_INFO(bootstrap, "setting up a communicator failed: {}", status.message());
  tell_at_listeners(false);
  tell_connections(false);
  tell_those_here(failed_ns_);
}

/// Tells the ranks that it cannot serve them. False: not even that is possible; they find their connections
/// closed.
bool Root::give_up(const Status& why) {
  const bool known = !failure_.ok();
  const Status told = guarded([&] {
    fail(Status(why.code(), fmt::format("the bootstrap root (pid {} on host {}) cannot go on: {}", getpid(),
                                        short_hostname(), why.message())));
    return Status();
  });
  return told.ok() && !known;
}

void Root::tell_connections(bool here) {
  for (Connection& connection : connections_) {
    if (!connection.hello || connection.gone || connection.done) continue;
    if (is_here(connection.hello->peer) != here) continue;
    connection.frames.send(root_wire::encode_failed(failure_));
    roll_call_.note_told(connection.hello);
  }
}

/// Ranks of this process are told last: the process may end as soon as they know, and late ranks would then
/// find no root that reports the failure.
void Root::tell_those_here(int64_t now) {
  if (told_here_) return;
  const bool alone =
      !roll_call_.other_process() && std::ranges::all_of(roll_call_.by_rank(), [](const Hello* hello) {
        return hello == nullptr || is_here(hello->peer);
      });
  if (!alone && !roll_call_.complete() && now - failed_ns_ < kHoldNs) return;
  told_here_ = true;
  tell_at_listeners(true);
  tell_connections(true);
}

/// Ranks that already know the others have left the root; without the failure they would blame the ranks that
/// end now. Other roots than the first one do not know the secret of the job, and the first one hears of
/// their failures.
void Root::tell_at_listeners(bool here) const {
  if (!introduced() || !roll_call_.at_first_root()) return;
  std::vector<SocketAddress> listeners;
  for (const Hello* hello : roll_call_.by_rank()) {
    if (hello->rank != culprit_ && is_here(hello->peer) == here) listeners.push_back(hello->peer.listener);
  }
  const bool own = here || failure_.code() != Code::system_error;  // what this process lacks, others may have
  const Bytes notice =
      ActivityRegistry::notice({culprit_, own ? failure_ : Status(Code::remote_error, failure_.message())});
  ask_all(listeners, uid_, credentials_, notice, Deadline::in_ms(kTellMs));
}

/// True once every rank has finished or was told of the failure.
bool Root::over(int64_t now) const {
  if (!failure_.ok()) {
    const bool all_told = roll_call_.ranks() > 0 && roll_call_.all_told() && connections_.empty();
    return all_told || now - failed_ns_ > kLingerNs;
  }
  return introduced() &&
         std::ranges::all_of(connections_, [](const Connection& connection) { return connection.done; });
}

Roots::Roots(uint64_t host) : host_(host) {}
Roots::~Roots() = default;

Result<UniqueId> Roots::make_id(const SocketAddress& interface, const Timeouts& timeouts,
                                const PortRange& ports, const TlsSettings& encryption,
                                const Advertisement& advertised) {
  auto listener = listen_in(interface, ports);
  WEIR_TRY(listener.status());
  auto address = listener->local_address();
  WEIR_TRY(address.status());
  const auto secret = Secret::random();
  WEIR_TRY(secret.status());
  const auto credentials = Credentials::make(*secret, encryption);
  WEIR_TRY(credentials.status());
  const UniqueId id{advertised.of(0, *address), random_bits(), false, *secret, *address, network_identity()};
  auto root = std::make_unique<Root>(std::move(*listener), id, *credentials, timeouts, host_);
  const std::lock_guard lock(mutex_);  // taken before the thread starts, so that pause() finds the root
  WEIR_TRY(root->start());
  drop_finished();
  roots_.push_back(std::move(root));
  return id;
}

Status Roots::start_fixed(const UniqueId& id, const Credentials& credentials, const Timeouts& timeouts,
                          const std::atomic<bool>* abort) {
  // The root of the communicator before this one ends as soon as its last rank knows the others. A port in
  // use may be that of a connection which is just ending.
  const Deadline previous = Deadline::in_ms(timeouts.peer_ms, abort);
  const SocketAddress at = id.has_own_address() ? id.own : id.root;
  std::optional<Deadline> in_use;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      drop_finished();
      std::erase_if(roots_, [&](const auto& root) { return root->lingers() && root->id() == id; });
      const bool busy = std::ranges::any_of(roots_, [&](const auto& root) { return root->id() == id; });
      if (!busy || previous.over()) {
        auto listener = Socket::listen(at);
        if (listener.ok()) {
          auto root = std::make_unique<Root>(std::move(*listener), id, credentials, timeouts, host_);
          WEIR_TRY(root->start());
          roots_.push_back(std::move(root));
          return {};
        }
        if (!in_use) in_use = Deadline::in_ms(kPortMs, abort);
        if (in_use->over() || listener.status().code() != Code::invalid_usage) {
          return Status(
              listener.status().code(),
              fmt::format("rank 0 cannot start the bootstrap root at NCCL_COMM_ID={}: {}; an address "
                          "of a router needs WEIR_ADVERTISE",
                          id.root.text(), listener.status().message()));
        }
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Roots::wait_until_told(const UniqueId& id, const std::atomic<bool>* abort) {
  if (id.fixed) return;
  for (const Deadline hold = Deadline::in_ms(kHoldMs, abort); !hold.over() && !hold.aborted();) {
    {
      const std::lock_guard lock(mutex_);
      const bool tells = std::ranges::any_of(
          roots_, [&](const auto& root) { return root->id().nonce == id.nonce && !root->finished(); });
      if (!tells) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void Roots::tidy() {
  const std::lock_guard lock(mutex_);
  drop_finished();
}

void Roots::pause() {
  mutex_.lock();
  std::erase_if(roots_, [](const auto& root) {
    root->working().lock();
    if (!root->finished()) return false;
    root->working().unlock();
    return true;  // and joined: a thread that ends takes locks, too
  });
}

void Roots::resume() {
  for (const auto& root : roots_) root->working().unlock();
  mutex_.unlock();
}

void Roots::drop_finished() {
  std::erase_if(roots_, [](const auto& root) { return root->finished(); });
}

}  // namespace weir::core
