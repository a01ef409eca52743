// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/control.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

namespace weir::perf {
namespace {

constexpr auto kMeetTimeout = std::chrono::seconds(60);
constexpr uint32_t kMagic = 0x77706572;

struct Hello {
  uint32_t magic;
  int32_t rank;
  int32_t size;
};

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

std::string where(const Placement& placement) {
  return placement.one_host ? placement.name : fmt::format("{}:{}", placement.host, placement.port);
}

Outcome system_failure(const std::string& what) {
  return Outcome::failure(ExitCode::internal, fmt::format("{}: {}", what, strerror(errno)));
}

Outcome resolve(const Placement& placement, Address* address) {
  if (placement.one_host) {  // abstract socket name, which leaves no file behind
    auto* local = reinterpret_cast<sockaddr_un*>(&address->bytes);
    local->sun_family = AF_UNIX;
    size_t length = std::min(placement.name.size(), sizeof(local->sun_path) - 1);
    std::memcpy(local->sun_path + 1, placement.name.data(), length);
    address->size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    return Outcome();
  }
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int error = getaddrinfo(placement.host.c_str(), placement.port.c_str(), &hints, &found); error != 0)
    return Outcome::failure(ExitCode::usage,
                            fmt::format("cannot resolve host '{}': {}", placement.host, gai_strerror(error)));
  std::memcpy(&address->bytes, found->ai_addr, found->ai_addrlen);
  address->size = found->ai_addrlen;
  freeaddrinfo(found);
  return Outcome();
}

/// Without this, waiting for a host that vanished never ends: after 15 seconds without an answer of its
/// kernel, operations on its socket fail.
void notice_lost_hosts(int fd) {
  const int on = 1, idle_s = 5, interval_s = 2, tries = 5;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
  const unsigned unanswered_ms = 15'000;
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
}

int make_socket(const Address& address) {
  int fd = socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  if (fd >= 0 && address.bytes.ss_family != AF_UNIX) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    notice_lost_hosts(fd);
  }
  return fd;
}

bool send_all(int fd, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, void* data, size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t received = recv(fd, at, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    at += received;
    bytes -= static_cast<size_t>(received);
  }
  return true;
}

int milliseconds_until(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

Outcome gone(int rank) {
  return Outcome::failure(ExitCode::internal,
                          fmt::format("process {} ended before the end of the run", rank));
}

}  // namespace

Outcome Control::join(const Placement& placement, std::unique_ptr<Control>* control) {
  control->reset(new Control(placement.rank, placement.size, placement.one_host));
  if (placement.size == 1) return Outcome();
  if (placement.rank == 0) return (*control)->listen_and_accept(placement);
  return (*control)->connect_to_first(placement);
}

Control::~Control() {
  for (int fd : sockets_)
    if (fd >= 0) close(fd);
}

Outcome Control::listen_and_accept(const Placement& placement) {
  Address address;
  WEIR_TRY(resolve(placement, &address));
  int listener = make_socket(address);
  if (listener < 0) return system_failure("cannot create a socket");
  const auto* name = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (bind(listener, name, address.size) != 0 || listen(listener, size_) != 0) {
    Outcome failed = system_failure(fmt::format("cannot listen at {}", where(placement)));
    close(listener);
    return failed;
  }
  sockets_.assign(static_cast<size_t>(size_), -1);
  auto deadline = Clock::now() + kMeetTimeout;
  int missing = size_ - 1;
  while (missing > 0) {
    pollfd waiting{listener, POLLIN, 0};
    int ready = poll(&waiting, 1, milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    timeval brief{5, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof(brief));
    Hello hello{};
    if (!receive_all(fd, &hello, sizeof(hello)) || hello.magic != kMagic || hello.size != size_ ||
        hello.rank <= 0 || hello.rank >= size_ || sockets_[static_cast<size_t>(hello.rank)] >= 0) {
      close(fd);  // connection of another program
      continue;
    }
    timeval none{};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
               sizeof(on));  // fails for Unix sockets
    sockets_[static_cast<size_t>(hello.rank)] = fd;
    --missing;
  }
  close(listener);
  if (missing == 0) return Outcome();
  return Outcome::failure(ExitCode::internal,
                          fmt::format("only {} of {} processes connected to {} within {} s", size_ - missing,
                                      size_, where(placement), kMeetTimeout.count()));
}

Outcome Control::connect_to_first(const Placement& placement) {
  Address address;
  WEIR_TRY(resolve(placement, &address));
  auto deadline = Clock::now() + kMeetTimeout;
  while (true) {
    int fd = make_socket(address);
    if (fd < 0) return system_failure("cannot create a socket");
    Hello hello{kMagic, rank_, size_};
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0 &&
        send_all(fd, &hello, sizeof(hello))) {
      sockets_ = {fd};
      return Outcome();
    }
    Outcome failed = system_failure(fmt::format("process {} cannot reach process 0 at {} within {} s", rank_,
                                                where(placement), kMeetTimeout.count()));
    close(fd);
    if (Clock::now() > deadline) return failed;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Called by process 0 only.
Outcome Control::gather(const void* mine, size_t bytes, std::string* all) {
  std::memcpy(all->data(), mine, bytes);
  for (int rank = 1; rank < size_; ++rank) {
    uint64_t announced = 0;
    int fd = sockets_[static_cast<size_t>(rank)];
    if (!receive_all(fd, &announced, sizeof(announced))) return gone(rank);
    if (announced != bytes)
      return Outcome::failure(
          ExitCode::internal,
          fmt::format("process {} is at another step of the run; expected all processes to have "
                      "the same options",
                      rank));
    if (!receive_all(fd, all->data() + static_cast<size_t>(rank) * bytes, bytes)) return gone(rank);
  }
  return Outcome();
}

Outcome Control::exchange(const void* mine, size_t bytes, std::string* all, Clock::time_point* begin) {
  all->assign(bytes * static_cast<size_t>(size_), '\0');
  int64_t start = 0;
  if (rank_ == 0) {
    WEIR_TRY(gather(mine, bytes, all));
    // Long enough for the answers to arrive and the processes to wake up.
    auto ahead = size_ == 1 ? std::chrono::microseconds(0) : std::chrono::microseconds(40 + 10 * size_);
    start = (Clock::now() + ahead).time_since_epoch().count();
    for (int rank = 1; rank < size_; ++rank) {
      int fd = sockets_[static_cast<size_t>(rank)];
      if (!send_all(fd, &start, sizeof(start)) || !send_all(fd, all->data(), all->size())) return gone(rank);
    }
  } else {
    uint64_t announced = bytes;
    int fd = sockets_[0];
    if (!send_all(fd, &announced, sizeof(announced)) || !send_all(fd, mine, bytes) ||
        !receive_all(fd, &start, sizeof(start)) || !receive_all(fd, all->data(), all->size()))
      return gone(0);
  }
  if (begin != nullptr) *begin = one_clock_ ? Clock::time_point(Clock::duration(start)) : Clock::now();
  return Outcome();
}

}  // namespace weir::perf
