// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/listener.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <variant>

#include "src/base/exception.h"
#include "src/base/log.h"
#include "src/base/process_id.h"
#include "src/base/service_thread.h"
#include "src/base/shortage.h"
#include "src/net/listener/admitted_jobs.h"
#include "src/net/listener/incoming_connection.h"
#include "src/net/listener/listener_wire.h"
#include "src/net/listener/local_registry.h"
#include "src/net/listener/rejections.h"
#include "src/net/peer_process.h"

namespace weir {
namespace {

using listener_wire::Hello;
using listener_wire::HelloKind;
using listener_wire::LocalAnswer;

/// Time for an admitted connection to send a body and take the answer.
constexpr int64_t kAdmittedNs = 20'000 * kNsPerMs;
/// A stranger that is younger is not sent away for others: where many processes share a core, an honest one
/// needs a while to answer.
constexpr int64_t kGraceNs = 200 * kNsPerMs;
constexpr size_t kMostForgotten = 4096;

/// Strangers take at most an eighth of the descriptors that this process may open.
size_t most_strangers() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Listener::kMostStrangers;
  return std::clamp<size_t>(limit.rlim_cur / 8, 1, Listener::kMostStrangers);
}

/// Deliveries and messages that have arrived and were not collected yet.
class Shelf {
 public:
  using Thing = std::variant<PeerSocket, Bytes>;

  void put(const DeliveryKey& key, Thing thing) {
    const std::lock_guard lock(mutex_);
    if (forgotten_.contains({key.scope, key.to})) return;
    kept_.emplace(std::pair(key, ++serial_), std::move(thing));
    by_age_.emplace(serial_, key);
    if (kept_.size() > Listener::kMostKept)
      erase(kept_.find({by_age_.begin()->second, by_age_.begin()->first}));
    if (const auto waiting = waiting_.find(key); waiting != waiting_.end()) waiting->second->notify_one();
  }

  template <typename T>
  std::optional<T> take(const DeliveryKey& key) {
    const std::lock_guard lock(mutex_);
    return take_locked<T>(key);
  }

  std::optional<Bytes> wait(const DeliveryKey& key, const Deadline& deadline) {
    std::unique_lock lock(mutex_);
    std::condition_variable came;
    for (;;) {
      if (auto message = take_locked<Bytes>(key)) return message;
      if (deadline.over()) return std::nullopt;
      waiting_[key] = &came;
      came.wait_for(lock, std::chrono::milliseconds(std::max(1, deadline.slice_ms(kPollSliceMs))));
      waiting_.erase(key);
    }
  }

  void forget(uint64_t scope, int32_t to) {
    const std::lock_guard lock(mutex_);
    for (auto at = kept_.lower_bound({{.scope = scope, .purpose = 0, .from = INT32_MIN, .to = INT32_MIN}, 0});
         at != kept_.end() && at->first.first.scope == scope;) {
      const auto current = at++;
      if (current->first.first.to == to) erase(current);
    }
    if (!forgotten_.insert({scope, to}).second) return;
    forgotten_by_age_.emplace_back(scope, to);
    if (forgotten_by_age_.size() > kMostForgotten) {
      forgotten_.erase(forgotten_by_age_.front());
      forgotten_by_age_.pop_front();
    }
  }

 private:
  using Kept = std::map<std::pair<DeliveryKey, uint64_t>, Thing>;

  template <typename T>
  std::optional<T> take_locked(const DeliveryKey& key) {
    for (auto at = kept_.lower_bound({key, 0}); at != kept_.end() && at->first.first == key; ++at) {
      if (T* thing = std::get_if<T>(&at->second)) {
        std::optional<T> out(std::move(*thing));
        erase(at);
        return out;
      }
    }
    return std::nullopt;
  }
  void erase(Kept::iterator at) {
    by_age_.erase(at->first.second);
    kept_.erase(at);
  }

  std::mutex mutex_;
  Kept kept_;
  std::map<uint64_t, DeliveryKey> by_age_;
  uint64_t serial_ = 0;
  std::map<DeliveryKey, std::condition_variable*> waiting_;
  std::set<std::pair<uint64_t, int32_t>> forgotten_;
  std::deque<std::pair<uint64_t, int32_t>> forgotten_by_age_;
};

class OpenListener final : public Listener {
 public:
  /// `listeners`: one for each of `addresses`, and the local one, if there is one.
  OpenListener(std::vector<Socket> listeners, std::vector<SocketAddress> addresses, Handler handler,
               ReportReaders readers)
      : listeners_(std::move(listeners)),
        addresses_(std::move(addresses)),
        handler_(std::move(handler)),
        readers_(readers) {}
  ~OpenListener() override {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.fd(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    // A child of a fork may still hold the local socket: from now on nobody can connect to it.
    if (listeners_.size() > addresses_.size()) shutdown(listeners_.back().fd(), SHUT_RDWR);
  }
  Status start();

  SocketAddress address() const override { return addresses_.front(); }
  const std::vector<SocketAddress>& addresses() const override { return addresses_; }
  std::optional<PeerSocket> collect(const DeliveryKey& key) override { return shelf_.take<PeerSocket>(key); }
  std::optional<Bytes> receive(const DeliveryKey& key, const Deadline& deadline) override {
    return shelf_.wait(key, deadline);
  }
  void put(const DeliveryKey& key, Bytes message) override { shelf_.put(key, std::move(message)); }
  void admit(uint32_t job_key, const Credentials& credentials) override { jobs_.admit(job_key, credentials); }
  std::vector<ReportAccess> report_access() const override { return jobs_.report_access(); }
  void forget(uint64_t scope, int32_t to) override { shelf_.forget(scope, to); }

 private:
  using Connections = std::list<IncomingConnection>;

  void serve();
  bool serve_round();
  void accept_from(const Socket& listener);
  bool accept_one(const Socket& listener);
  const Socket* listener_of(const void* tag) const;
  void serve_connection(IncomingConnection* connection);
  bool advance(IncomingConnection* connection);
  void tell_of_loss(const IncomingConnection& connection) const;
  void carry_out_last_will(const IncomingConnection& connection) const;
  IncomingConnection::Step carry_out(IncomingConnection& connection);
  Connections& place_of(const IncomingConnection& connection);
  Bytes answer_to(IncomingConnection& connection) const;
  void dismiss(IncomingConnection* connection);
  void dismiss_one_admitted();
  void dismiss_the_slow();
  void make_room();
  bool watch(int op, int fd, uint32_t events, void* tag);
  void watch_listeners(bool accepting);
  bool full() const { return strangers_.size() >= most_strangers_; }

  const std::vector<Socket> listeners_;
  const std::vector<SocketAddress> addresses_;
  const Handler handler_;
  const ReportReaders readers_;
  Socket epoll_;
  Socket stop_;
  Shelf shelf_;
  AdmittedJobs jobs_;
  // The following are used by the listener's thread only.
  Rejections rejections_;
  size_t most_strangers_ = kMostStrangers;
  bool accepting_ = true;
  Connections strangers_;                          // oldest first
  Connections admitted_;                           // oldest first, without those that rest
  Connections resting_;                            // between two messages; those that rest longest first
  std::map<void*, Connections::iterator> by_tag_;  // of all lists
  std::thread thread_;
};

bool OpenListener::watch(int op, int fd, uint32_t events, void* tag) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  return epoll_ctl(epoll_.fd(), op, fd, &event) == 0;
}

Status OpenListener::start() {
  const auto refused = [&](const char* call) {
    return system_failure(
        fmt::format("this process cannot wait for connections to {} ({})", address().text(), call), errno);
  };
  epoll_ = Socket(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return refused("epoll_create1");
  stop_ = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.valid()) return refused("eventfd");
  bool watched = watch(EPOLL_CTL_ADD, stop_.fd(), EPOLLIN, &stop_);
  for (const Socket& listener : listeners_) {
    watched = watched && watch(EPOLL_CTL_ADD, listener.fd(), EPOLLIN, const_cast<Socket*>(&listener));
  }
  if (!watched) return refused("epoll_ctl");
  auto thread = start_thread(
      "weir listener", [this] { serve(); }, [](const Status&) {});
  WEIR_TRY(thread.status());
  thread_ = std::move(*thread);
  return {};
}

void OpenListener::serve() {
  most_strangers_ = most_strangers();
  bool stopped = false;
  while (!stopped) {
    (void)guarded([&] {
      stopped = serve_round();
      return Status();
    });
  }
}

/// Waits for events and handles them. True: the listener has to stop.
bool OpenListener::serve_round() {
  std::array<epoll_event, 64> events;
  const bool idle = strangers_.empty() && admitted_.empty();
  const int count = epoll_wait(epoll_.fd(), events.data(), events.size(), idle ? -1 : full() ? 20 : 100);
  for (int i = 0; i < count; ++i) {
    void* const tag = events[static_cast<size_t>(i)].data.ptr;
    if (tag == &stop_) return true;
    if (const Socket* listener = listener_of(tag))
      accept_from(*listener);
    else if (by_tag_.contains(tag))
      serve_connection(static_cast<IncomingConnection*>(tag));
  }
  let_onlookers_go();
  dismiss_the_slow();
  watch_listeners(!full());
  return false;
}

/// Reads or writes what is possible. A connection that is done, or for which there is no memory, is closed.
void OpenListener::serve_connection(IncomingConnection* connection) {
  Connections& before = place_of(*connection);
  bool goes_on = false;
  const Status advanced = guarded([&] {
    goes_on = advance(connection);
    return Status();
  });
  if (!advanced.ok()) tell_of_loss(*connection);
  Connections& after = place_of(*connection);
  if (&before != &after) after.splice(after.end(), before, by_tag_.at(connection));
  if (goes_on) return;
  carry_out_last_will(*connection);
  dismiss(connection);
}

/// There was no memory for what it brings.
void OpenListener::tell_of_loss(const IncomingConnection& connection) const {
  const uint64_t scope = connection.brings_for();
  if (scope == 0 || !handler_) return;
  (void)guarded([&] {
    (void)handler_(scope, {});
    return Status();
  });
}

/// Its process may have ended: the handler finds out.
void OpenListener::carry_out_last_will(const IncomingConnection& connection) const {
  const auto& [scope, question] = connection.last_will();
  if (question.empty() || !handler_) return;
  (void)guarded([&] {
    (void)handler_(scope, question);
    return Status();
  });
}

OpenListener::Connections& OpenListener::place_of(const IncomingConnection& connection) {
  if (connection.is_stranger()) return strangers_;
  return connection.rests() ? resting_ : admitted_;
}

const Socket* OpenListener::listener_of(const void* tag) const {
  for (const Socket& listener : listeners_) {
    if (tag == &listener) return &listener;
  }
  return nullptr;
}

/// While there are too many strangers, others wait in the kernel's queue.
void OpenListener::watch_listeners(bool accepting) {
  if (accepting == accepting_) return;
  accepting_ = accepting;
  for (const Socket& listener : listeners_)
    watch(EPOLL_CTL_MOD, listener.fd(), accepting ? uint32_t{EPOLLIN} : 0u, const_cast<Socket*>(&listener));
}

void OpenListener::accept_from(const Socket& listener) {
  do {
    make_room();
  } while (!full() && accept_one(listener));
}

/// Accepts one connection; returns false if none waits.
bool OpenListener::accept_one(const Socket& listener) {
  auto accepted = listener.accept();
  if (!accepted.ok()) {  // out of descriptors or memory: strangers go first, and other threads may free some
    if (!strangers_.empty()) dismiss(&strangers_.front());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return false;
  }
  if (!accepted->has_value()) return false;
  const auto number = static_cast<size_t>(&listener - listeners_.data());
  const SocketAddress address = number < addresses_.size() ? addresses_[number] : SocketAddress();
  strangers_.emplace_back(std::move(**accepted), address, now_ns());
  const auto at = std::prev(strangers_.end());
  const Status known = guarded([&] {
    by_tag_[&*at] = at;
    return Status();
  });
  if (!known.ok()) {
    strangers_.erase(at);
    return true;
  }
  if (!at->socket().valid() || !watch(EPOLL_CTL_ADD, at->socket().fd(), EPOLLIN, &*at)) dismiss(&*at);
  return true;
}

/// Sends the stranger away that has been idle longest, if there are too many and it had its time.
void OpenListener::make_room() {
  if (!full() || now_ns() - strangers_.front().since_ns() < kGraceNs) return;
  if (const auto line = rejections_.add("it was idle while others waited",
                                        peer_words(strangers_.front().socket()), now_ns()))
    WEIR_INFO(net, "{}", *line);
  dismiss(&strangers_.front());
}

/// Returns whether there is more to read or to write.
bool OpenListener::advance(IncomingConnection* connection) {
  const short waited_for = connection->waits_for();
  auto step = connection->advance(jobs_, [this](const Socket& socket, bool proven) {
    return may_read_reports(readers_, socket, proven);
  });
  while (step == IncomingConnection::Step::complete) step = carry_out(*connection);
  if (step != IncomingConnection::Step::waits) {
    if (!connection->rejection().empty()) {
      const auto line = rejections_.add(connection->rejection(), peer_words(connection->socket()), now_ns());
      if (line) WEIR_INFO(net, "{}", *line);
    }
    return false;
  }
  const short events = connection->waits_for();
  return events == waited_for ||
         watch(EPOLL_CTL_MOD, connection->socket().fd(), static_cast<uint32_t>(events), connection);
}

/// Does what a complete hello or header and its body ask for.
IncomingConnection::Step OpenListener::carry_out(IncomingConnection& connection) {
  const Hello& hello = connection.hello();
  switch (hello.kind) {
    case HelloKind::delivery:
      watch(EPOLL_CTL_DEL, connection.socket().fd(), 0, nullptr);
      shelf_.put(hello.key, connection.take_socket());
      return IncomingConnection::Step::over;
    case HelloKind::message:
      if (hello.key.purpose == kLastWill)
        connection.set_last_will(hello.key.scope, std::move(connection.body()));
      else
        shelf_.put(hello.key, std::move(connection.body()));
      connection.rest();
      return connection.pending() ? connection.advance(jobs_, {}) : IncomingConnection::Step::waits;
    case HelloKind::question:
    case HelloKind::report: break;
  }
  connection.answer(answer_to(connection));
  return connection.advance(jobs_, {});
}

Bytes OpenListener::answer_to(IncomingConnection& connection) const {
  Bytes answer = handler_ ? handler_(connection.hello().key.scope, connection.body()) : Bytes();
  if (!connection.is_local()) return answer;
  LocalAnswer local{{}, std::move(answer)};
  if (is_own_reader(connection.socket())) local.access = jobs_.report_access();
  return local.encode();
}

/// A connection with a message under way is reset, so that the asker does not take its end for that of one
/// whose messages were all taken.
void OpenListener::dismiss(IncomingConnection* connection) {
  Connections& place = place_of(*connection);
  if (&place == &admitted_ && !connection->answers()) connection->reset();
  place.erase(by_tag_.extract(connection).mapped());
}

void OpenListener::dismiss_the_slow() {
  const int64_t now = now_ns();
  while (!strangers_.empty() && now - strangers_.front().since_ns() > kStrangerMs * kNsPerMs)
    dismiss(&strangers_.front());
  while (!admitted_.empty() && now - admitted_.front().since_ns() > kAdmittedNs) dismiss(&admitted_.front());
  while (admitted_.size() + resting_.size() > kMostAdmitted) dismiss_one_admitted();
}

/// Ends the connection that rests longest, unless a message has just come there, or else the oldest one.
void OpenListener::dismiss_one_admitted() {
  if (resting_.empty()) return dismiss(&admitted_.front());
  IncomingConnection* const longest = &resting_.front();
  serve_connection(longest);
  if (!resting_.empty() && &resting_.front() == longest) dismiss(longest);
}

Result<std::unique_ptr<Listener>> open_behind(std::vector<Socket> listeners, Listener::Handler handler,
                                              ReportReaders readers, const Advertisement& advertised) {
  std::vector<SocketAddress> addresses;
  for (const Socket& listener : listeners) {
    const auto address = listener.local_address();
    WEIR_TRY(address.status());
    addresses.push_back(advertised.of(addresses.size(), *address));
    note_own_address(addresses.back(), *address);
  }
  announce_process();
  auto local = register_locally(addresses.front());
  if (local.ok())
    listeners.push_back(std::move(*local));
  else
    WEIR_INFO(bootstrap, "weir ps will not find this process: {}", local.status().message());
  auto listener =
      std::make_unique<OpenListener>(std::move(listeners), std::move(addresses), std::move(handler), readers);
  WEIR_TRY(listener->start());
  return std::unique_ptr<Listener>(std::move(listener));
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const SocketAddress& address, Handler handler,
                                                 ReportReaders readers) {
  auto listener = Socket::listen(address);
  WEIR_TRY(listener.status());
  std::vector<Socket> listeners;
  listeners.push_back(std::move(*listener));
  return open_behind(std::move(listeners), std::move(handler), readers, {});
}

Result<std::unique_ptr<Listener>> Listener::open(std::span<const SocketAddress> addresses,
                                                 const PortRange& ports, Handler handler,
                                                 ReportReaders readers, const Advertisement& advertised) {
  std::vector<Socket> listeners;
  for (const SocketAddress& address : addresses) {
    auto listener = listen_in(address, ports);
    WEIR_TRY(listener.status());
    listeners.push_back(std::move(*listener));
  }
  return open_behind(std::move(listeners), std::move(handler), readers, advertised);
}

}  // namespace weir
