// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/listener.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bit>
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
#include "src/base/service_thread.h"
#include "src/base/shortage.h"
#include "src/net/listener/listener_wire.h"

namespace weir {
namespace {

using listener_wire::Hello;
using listener_wire::HelloKind;

/// Time for a connection to send its complete hello and body. Where a thousand processes share two cores, a
/// process may wait for a core for seconds between connecting and its first byte; closing the connection
/// earlier would lose its message.
constexpr int64_t kGreetingNs = 20'000'000'000;
constexpr size_t kMostPending = 4096;  ///< incomplete connections; beyond this number the oldest is closed
constexpr size_t kMostForgotten = 4096;

/// Deliveries and messages that have arrived and were not collected yet.
class Shelf {
 public:
  using Thing = std::variant<Socket, Bytes>;

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

/// The job keys whose deliveries and messages are accepted.
class JobKeys {
 public:
  void admit(uint32_t job_key) {
    const std::lock_guard lock(mutex_);
    admitted_.insert(job_key);
  }
  bool has(uint64_t scope) const {
    const std::lock_guard lock(mutex_);
    return admitted_.empty() || admitted_.contains(static_cast<uint32_t>(scope >> 32));
  }

 private:
  mutable std::mutex mutex_;
  std::set<uint32_t> admitted_;
};

/// A connection whose hello and body are not complete, or whose answer is not fully sent.
struct Connection {
  Socket socket;
  int64_t since_ns = 0;
  std::optional<Hello> hello;
  Bytes in = Bytes(Hello::kBytes);
  size_t received = 0;
  Bytes out;
  size_t sent = 0;
};

class OpenListener final : public Listener {
 public:
  OpenListener(std::vector<Socket> listeners, std::vector<SocketAddress> addresses, Handler handler)
      : listeners_(std::move(listeners)), addresses_(std::move(addresses)), handler_(std::move(handler)) {}
  ~OpenListener() override {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.fd(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
  }
  Status start();

  SocketAddress address() const override { return addresses_.front(); }
  const std::vector<SocketAddress>& addresses() const override { return addresses_; }
  std::optional<Socket> collect(const DeliveryKey& key) override { return shelf_.take<Socket>(key); }
  std::optional<Bytes> receive(const DeliveryKey& key, const Deadline& deadline) override {
    return shelf_.wait(key, deadline);
  }
  void put(const DeliveryKey& key, Bytes message) override { shelf_.put(key, std::move(message)); }
  void admit(uint32_t job_key) override { job_keys_.admit(job_key); }
  void forget(uint64_t scope, int32_t to) override { shelf_.forget(scope, to); }

 private:
  using Pending = std::list<Connection>;

  void serve();
  bool serve_round();
  bool admit(const Socket& listener);
  const Socket* listener_of(const void* tag) const;
  bool advance(Connection& connection);
  bool receive(Connection& connection);
  bool understand(Connection& connection);
  bool reply(Connection& connection);
  void refuse(const Connection& connection, std::string_view why);
  void dismiss(Pending::iterator connection);
  void dismiss_the_slow();
  bool watch(int op, int fd, uint32_t events, void* tag);

  const std::vector<Socket> listeners_;
  const std::vector<SocketAddress> addresses_;
  const Handler handler_;
  Socket epoll_;
  Socket stop_;
  Shelf shelf_;
  JobKeys job_keys_;
  uint64_t refused_ = 0;                       // used by the listener's thread only
  Pending pending_;                            // used by the listener's thread only; oldest first
  std::map<void*, Pending::iterator> by_tag_;  // used by the listener's thread only
  std::thread thread_;
};

bool OpenListener::watch(int op, int fd, uint32_t events, void* tag) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  return epoll_ctl(epoll_.fd(), op, fd, &event) == 0;
}

Status OpenListener::start() {
  epoll_ = Socket(epoll_create1(EPOLL_CLOEXEC));
  stop_ = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  bool watched = epoll_.valid() && stop_.valid() && watch(EPOLL_CTL_ADD, stop_.fd(), EPOLLIN, &stop_);
  for (const Socket& listener : listeners_) {
    watched = watched && watch(EPOLL_CTL_ADD, listener.fd(), EPOLLIN, const_cast<Socket*>(&listener));
  }
  if (!watched) {
    return system_failure(fmt::format("this process cannot listen on {}", address().text()), errno);
  }
  auto thread = start_thread(
      "weir listener", [this] { serve(); }, [](const Status&) {});
  WEIR_TRY(thread.status());
  thread_ = std::move(*thread);
  return {};
}

void OpenListener::serve() {
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
  const int count = epoll_wait(epoll_.fd(), events.data(), events.size(), pending_.empty() ? -1 : 100);
  for (int i = 0; i < count; ++i) {
    void* const tag = events[static_cast<size_t>(i)].data.ptr;
    if (tag == &stop_) return true;
    if (const Socket* listener = listener_of(tag)) {
      while (admit(*listener)) {
      }
      continue;
    }
    const auto found = by_tag_.find(tag);
    if (found == by_tag_.end()) continue;
    if (!advance(*found->second)) dismiss(found->second);
  }
  dismiss_the_slow();
  return false;
}

/// Reads or writes what is possible. False: the connection is done, or there is no memory for it.
bool OpenListener::advance(Connection& connection) {
  bool goes_on = false;
  const Status served = guarded([&] {
    goes_on = connection.out.empty() ? receive(connection) : reply(connection);
    return Status();
  });
  return served.ok() && goes_on;
}

const Socket* OpenListener::listener_of(const void* tag) const {
  for (const Socket& listener : listeners_) {
    if (tag == &listener) return &listener;
  }
  return nullptr;
}

/// Accepts one connection and reads its bytes, which have usually arrived already; returns false if none
/// waits.
bool OpenListener::admit(const Socket& listener) {
  auto accepted = listener.accept();
  if (!accepted.ok()) {  // out of descriptors or memory: other threads may free some
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return false;
  }
  if (!accepted->has_value()) return false;
  Connection& connection = pending_.emplace_back();
  connection.socket = std::move(**accepted);
  connection.since_ns = now_ns();
  const auto at = std::prev(pending_.end());
  by_tag_[&connection] = at;
  if (!advance(connection)) {
    dismiss(at);
  } else if (!watch(EPOLL_CTL_ADD, connection.socket.fd(), connection.out.empty() ? EPOLLIN : EPOLLOUT,
                    &connection)) {
    dismiss(at);
  }
  return true;
}

/// Reads more bytes of a connection. Returns false if the connection is done.
bool OpenListener::receive(Connection& connection) {
  for (;;) {
    const std::span<std::byte> rest = std::span(connection.in).subspan(connection.received);
    auto received = connection.socket.try_recv(rest);
    if (!received.ok()) return false;
    connection.received += *received;
    if (connection.received == connection.in.size()) {
      if (!understand(connection)) return false;
      if (!connection.out.empty()) return reply(connection);
    } else if (*received == 0) {
      return true;
    }
  }
}

/// Handles a complete hello or body. Returns false if the connection is done.
bool OpenListener::understand(Connection& connection) {
  if (!connection.hello) {
    connection.hello = Hello::decode(connection.in);
    if (!connection.hello) {
      refuse(connection, "its first bytes are not a handshake of this version of weir");
      return false;
    }
    if (connection.hello->kind != HelloKind::question && !job_keys_.has(connection.hello->key.scope)) {
      refuse(connection, "its job key is not that of any communicator of this process");
      return false;
    }
    if (connection.hello->kind == HelloKind::delivery) {
      if (by_tag_.contains(&connection)) watch(EPOLL_CTL_DEL, connection.socket.fd(), 0, nullptr);
      shelf_.put(connection.hello->key, std::move(connection.socket));
      return false;
    }
    connection.in.assign(connection.hello->body, std::byte{0});
    connection.received = 0;
    if (!connection.in.empty()) return true;
  }
  if (connection.hello->kind == HelloKind::message) {
    shelf_.put(connection.hello->key, std::move(connection.in));
    return false;
  }
  const Bytes answer = handler_ ? handler_(connection.hello->key.scope, connection.in) : Bytes();
  connection.out = ByteWriter().put_bytes(answer).take();
  watch(EPOLL_CTL_MOD, connection.socket.fd(), EPOLLOUT, &connection);
  return true;
}

bool OpenListener::reply(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    auto sent = connection.socket.try_send(BytesView(connection.out).subspan(connection.sent));
    if (!sent.ok()) return false;
    if (*sent == 0) return true;
    connection.sent += *sent;
  }
  return false;
}

/// Logs only the 1st, 2nd, 4th, 8th, ... rejected connection, because foreign programs may connect often.
void OpenListener::refuse(const Connection& connection, std::string_view why) {
  if (std::has_single_bit(++refused_))
    WEIR_INFO(net, "rejected a connection from {} at {}: {} ({} rejected so far)",
              connection.socket.peer_text(), address().text(), why, refused_);
}

void OpenListener::dismiss(Pending::iterator connection) {
  by_tag_.erase(&*connection);
  pending_.erase(connection);
}

void OpenListener::dismiss_the_slow() {
  const int64_t now = now_ns();
  while (!pending_.empty() &&
         (pending_.size() > kMostPending || now - pending_.front().since_ns > kGreetingNs))
    dismiss(pending_.begin());
}

Result<std::unique_ptr<Listener>> open_behind(std::vector<Socket> listeners, Listener::Handler handler) {
  std::vector<SocketAddress> addresses;
  for (const Socket& listener : listeners) {
    const auto address = listener.local_address();
    WEIR_TRY(address.status());
    addresses.push_back(*address);
  }
  auto listener =
      std::make_unique<OpenListener>(std::move(listeners), std::move(addresses), std::move(handler));
  WEIR_TRY(listener->start());
  return std::unique_ptr<Listener>(std::move(listener));
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const SocketAddress& address, Handler handler) {
  auto listener = Socket::listen(address);
  WEIR_TRY(listener.status());
  std::vector<Socket> listeners;
  listeners.push_back(std::move(*listener));
  return open_behind(std::move(listeners), std::move(handler));
}

Result<std::unique_ptr<Listener>> Listener::open(std::span<const SocketAddress> addresses,
                                                 const PortRange& ports, Handler handler) {
  std::vector<Socket> listeners;
  for (const SocketAddress& address : addresses) {
    auto listener = listen_in(address, ports);
    WEIR_TRY(listener.status());
    listeners.push_back(std::move(*listener));
  }
  return open_behind(std::move(listeners), std::move(handler));
}

}  // namespace weir
