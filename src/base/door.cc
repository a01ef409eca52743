#include "src/base/door.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
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

#include "src/base/door_wire.h"
#include "src/base/log.h"

namespace weir {
namespace {

using door_wire::Hello;
using door_wire::Kind;

/// For a visitor to say all it must. Where a thousand processes share two cores, one may be kept from its
/// core for seconds between its connection and its first byte, and what it then says would be lost.
constexpr int64_t kGreetingNs = 20'000'000'000;
constexpr size_t kMostVisitors = 4096;  ///< then the oldest has to go
constexpr size_t kMostForgotten = 4096;

/// What came and was not collected yet.
class Shelf {
 public:
  using Thing = std::variant<Socket, Bytes>;

  void put(const DeliveryKey& key, Thing thing) {
    const std::lock_guard lock(mutex_);
    if (forgotten_.contains({key.scope, key.to})) return;
    kept_.emplace(std::pair(key, ++serial_), std::move(thing));
    by_age_.emplace(serial_, key);
    if (kept_.size() > Door::kMostKept) erase(kept_.find({by_age_.begin()->second, by_age_.begin()->first}));
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

/// Who may come in.
class Circles {
 public:
  void admit(uint32_t circle) {
    const std::lock_guard lock(mutex_);
    admitted_.insert(circle);
  }
  bool has(uint64_t scope) const {
    const std::lock_guard lock(mutex_);
    return admitted_.empty() || admitted_.contains(static_cast<uint32_t>(scope >> 32));
  }

 private:
  mutable std::mutex mutex_;
  std::set<uint32_t> admitted_;
};

/// A connection that has not said all it must, or has not been told all of its answer.
struct Visitor {
  Socket socket;
  int64_t since_ns = 0;
  std::optional<Hello> hello;
  Bytes in = Bytes(Hello::kBytes);
  size_t received = 0;
  Bytes out;
  size_t sent = 0;
};

class OpenDoor final : public Door {
 public:
  OpenDoor(std::vector<Socket> listeners, std::vector<SocketAddress> addresses, Handler handler)
      : listeners_(std::move(listeners)), addresses_(std::move(addresses)), handler_(std::move(handler)) {}
  ~OpenDoor() override {
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
  void admit(uint32_t circle) override { circles_.admit(circle); }
  void forget(uint64_t scope, int32_t to) override { shelf_.forget(scope, to); }

 private:
  using Visitors = std::list<Visitor>;

  void serve();
  bool admit(const Socket& listener);
  const Socket* listener_of(const void* tag) const;
  bool receive(Visitor& visitor);
  bool understand(Visitor& visitor);
  bool reply(Visitor& visitor);
  void refuse(const Visitor& visitor, std::string_view why);
  void dismiss(Visitors::iterator visitor);
  void dismiss_the_slow();
  bool watch(int op, int fd, uint32_t events, void* tag);

  const std::vector<Socket> listeners_;
  const std::vector<SocketAddress> addresses_;
  const Handler handler_;
  Socket epoll_;
  Socket stop_;
  Shelf shelf_;
  Circles circles_;
  uint64_t refused_ = 0;                        // the door's thread only
  Visitors visitors_;                           // the door's thread only; oldest first
  std::map<void*, Visitors::iterator> by_tag_;  // same
  std::thread thread_;
};

bool OpenDoor::watch(int op, int fd, uint32_t events, void* tag) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  return epoll_ctl(epoll_.fd(), op, fd, &event) == 0;
}

Status OpenDoor::start() {
  epoll_ = Socket(epoll_create1(EPOLL_CLOEXEC));
  stop_ = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  bool watched = epoll_.valid() && stop_.valid() && watch(EPOLL_CTL_ADD, stop_.fd(), EPOLLIN, &stop_);
  for (const Socket& listener : listeners_) {
    watched = watched && watch(EPOLL_CTL_ADD, listener.fd(), EPOLLIN, const_cast<Socket*>(&listener));
  }
  if (!watched) {
    return Status(Code::system_error, fmt::format("cannot open the door of this process at {}: {}",
                                                  address().text(), std::generic_category().message(errno)));
  }
  sigset_t all, before;  // signals of the application are not for this thread
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "weir door");
  return {};
}

void OpenDoor::serve() {
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count = epoll_wait(epoll_.fd(), events.data(), events.size(), visitors_.empty() ? -1 : 100);
    for (int i = 0; i < count; ++i) {
      void* const tag = events[static_cast<size_t>(i)].data.ptr;
      if (tag == &stop_) return;
      if (const Socket* listener = listener_of(tag)) {
        while (admit(*listener)) {
        }
        continue;
      }
      const auto found = by_tag_.find(tag);
      if (found == by_tag_.end()) continue;
      Visitor& visitor = *found->second;
      if (!(visitor.out.empty() ? receive(visitor) : reply(visitor))) dismiss(found->second);
    }
    dismiss_the_slow();
  }
}

const Socket* OpenDoor::listener_of(const void* tag) const {
  for (const Socket& listener : listeners_) {
    if (tag == &listener) return &listener;
  }
  return nullptr;
}

/// Takes in one connection; false if none waits. Its bytes are usually there already.
bool OpenDoor::admit(const Socket& listener) {
  auto accepted = listener.accept();
  if (!accepted.ok()) {  // out of descriptors or memory: others may free some
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return false;
  }
  if (!accepted->has_value()) return false;
  Visitor& visitor = visitors_.emplace_back();
  visitor.socket = std::move(**accepted);
  visitor.since_ns = now_ns();
  const auto at = std::prev(visitors_.end());
  by_tag_[&visitor] = at;
  if (!receive(visitor)) {
    dismiss(at);
  } else if (!watch(EPOLL_CTL_ADD, visitor.socket.fd(), visitor.out.empty() ? EPOLLIN : EPOLLOUT, &visitor)) {
    dismiss(at);
  }
  return true;
}

/// Reads on. False: done with this visitor.
bool OpenDoor::receive(Visitor& visitor) {
  for (;;) {
    const std::span<std::byte> rest = std::span(visitor.in).subspan(visitor.received);
    auto received = visitor.socket.try_recv(rest);
    if (!received.ok()) return false;
    visitor.received += *received;
    if (visitor.received == visitor.in.size()) {
      if (!understand(visitor)) return false;
      if (!visitor.out.empty()) return reply(visitor);
    } else if (*received == 0) {
      return true;
    }
  }
}

/// The hello, or the body, is complete. False: done with this visitor.
bool OpenDoor::understand(Visitor& visitor) {
  if (!visitor.hello) {
    visitor.hello = Hello::decode(visitor.in);
    if (!visitor.hello) {
      refuse(visitor, "it does not begin as those of this version of weir do");
      return false;
    }
    if (visitor.hello->kind != Kind::question && !circles_.has(visitor.hello->key.scope)) {
      refuse(visitor, "it does not know the secret of any communicator of this process");
      return false;
    }
    if (visitor.hello->kind == Kind::delivery) {
      if (by_tag_.contains(&visitor)) watch(EPOLL_CTL_DEL, visitor.socket.fd(), 0, nullptr);
      shelf_.put(visitor.hello->key, std::move(visitor.socket));
      return false;
    }
    visitor.in.assign(visitor.hello->body, std::byte{0});
    visitor.received = 0;
    if (!visitor.in.empty()) return true;
  }
  if (visitor.hello->kind == Kind::message) {
    shelf_.put(visitor.hello->key, std::move(visitor.in));
    return false;
  }
  const Bytes answer = handler_ ? handler_(visitor.hello->key.scope, visitor.in) : Bytes();
  visitor.out = ByteWriter().put_bytes(answer).take();
  watch(EPOLL_CTL_MOD, visitor.socket.fd(), EPOLLOUT, &visitor);
  return true;
}

bool OpenDoor::reply(Visitor& visitor) {
  while (visitor.sent < visitor.out.size()) {
    auto sent = visitor.socket.try_send(BytesView(visitor.out).subspan(visitor.sent));
    if (!sent.ok()) return false;
    if (*sent == 0) return true;
    visitor.sent += *sent;
  }
  return false;
}

/// Strangers may come often: of many, some are named.
void OpenDoor::refuse(const Visitor& visitor, std::string_view why) {
  if (std::has_single_bit(++refused_))
    WEIR_INFO(net, "the door {} sends away a connection from {}: {} ({} so far)", address().text(),
              visitor.socket.peer_text(), why, refused_);
}

void OpenDoor::dismiss(Visitors::iterator visitor) {
  by_tag_.erase(&*visitor);
  visitors_.erase(visitor);
}

void OpenDoor::dismiss_the_slow() {
  const int64_t now = now_ns();
  while (!visitors_.empty() &&
         (visitors_.size() > kMostVisitors || now - visitors_.front().since_ns > kGreetingNs))
    dismiss(visitors_.begin());
}

Result<std::unique_ptr<Door>> open_behind(std::vector<Socket> listeners, Door::Handler handler) {
  std::vector<SocketAddress> addresses;
  for (const Socket& listener : listeners) {
    const auto address = listener.local_address();
    WEIR_TRY(address.status());
    addresses.push_back(*address);
  }
  auto door = std::make_unique<OpenDoor>(std::move(listeners), std::move(addresses), std::move(handler));
  WEIR_TRY(door->start());
  return std::unique_ptr<Door>(std::move(door));
}

}  // namespace

Result<std::unique_ptr<Door>> Door::open(const SocketAddress& address, Handler handler) {
  auto listener = Socket::listen(address);
  WEIR_TRY(listener.status());
  std::vector<Socket> listeners;
  listeners.push_back(std::move(*listener));
  return open_behind(std::move(listeners), std::move(handler));
}

Result<std::unique_ptr<Door>> Door::open(std::span<const SocketAddress> addresses, const PortRange& ports,
                                         Handler handler) {
  std::vector<Socket> listeners;
  for (const SocketAddress& address : addresses) {
    auto listener = listen_in(address, ports);
    WEIR_TRY(listener.status());
    listeners.push_back(std::move(*listener));
  }
  return open_behind(std::move(listeners), std::move(handler));
}

}  // namespace weir
