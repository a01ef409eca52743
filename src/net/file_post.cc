// SPDX-License-Identifier: Apache-2.0

#include "src/net/file_post.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/shortage.h"

namespace weir {
namespace {

struct SenderId {
  uint64_t uid;
  int64_t rank;
};

/// A message that can carry one descriptor.
struct Envelope {
  SenderId sender{};
  iovec part{&sender, sizeof(sender)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};

  Envelope() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
};

Status failed(const char* what) { return system_failure(what, errno); }

socklen_t raw(const std::string& address, sockaddr_un& into) {
  into = {};
  into.sun_family = AF_UNIX;
  std::memcpy(into.sun_path, address.data(), std::min(address.size(), sizeof(into.sun_path)));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
}

}  // namespace

Result<FilePost> FilePost::open(uint64_t uid, Rank rank) {
  Socket socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return failed("cannot make the Unix socket that exchanges file descriptors");
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  socklen_t bytes = sizeof(own.sun_family);  // without a path the kernel chooses a name
  if (::bind(socket.fd(), reinterpret_cast<sockaddr*>(&own), bytes) != 0)
    return failed("cannot bind the Unix socket that exchanges file descriptors");
  bytes = sizeof(own);
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&own), &bytes) != 0)
    return failed("cannot read the address of the Unix socket that exchanges file descriptors");
  std::string address(own.sun_path, bytes - offsetof(sockaddr_un, sun_path));
  return FilePost(uid, rank, std::move(socket), std::move(address));
}

Result<bool> FilePost::send(const std::string& address, Rank to, const Socket& file) const {
  Envelope out;
  out.sender = {uid_, rank_};
  sockaddr_un there;
  out.header.msg_namelen = raw(address, there);
  out.header.msg_name = &there;
  cmsghdr* const control = CMSG_FIRSTHDR(&out.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = file.fd();
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof(descriptor));
  if (::sendmsg(socket_.fd(), &out.header, MSG_NOSIGNAL) >= 0) return true;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ETOOMANYREFS) return false;
  return failed(fmt::format("cannot send a file descriptor to rank {}", to).c_str());
}

Result<bool> FilePost::take(std::vector<Socket>& files) const {
  Envelope in;
  const ssize_t bytes = ::recvmsg(socket_.fd(), &in.header, MSG_CMSG_CLOEXEC);
  if (bytes < 0) return false;
  // The kernel delivers the message, and drops the descriptor.
  if ((in.header.msg_flags & MSG_CTRUNC) != 0)
    return system_failure("cannot take the file descriptor that another rank has sent", EMFILE);
  Socket file;
  for (cmsghdr* one = CMSG_FIRSTHDR(&in.header); one != nullptr; one = CMSG_NXTHDR(&in.header, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(one), sizeof(descriptor));
    file = Socket(descriptor);
  }
  const bool ours = bytes == sizeof(SenderId) && in.sender.uid == uid_ && in.sender.rank >= 0 &&
                    in.sender.rank < static_cast<int64_t>(files.size()) && in.sender.rank != rank_;
  if (ours && file.valid()) files[static_cast<size_t>(in.sender.rank)] = std::move(file);
  return true;
}

Result<std::vector<Socket>> FilePost::exchange(std::span<const std::string> addresses, const Socket& file,
                                               int64_t within_ns) {
  std::vector<Socket> files(addresses.size());
  std::vector<bool> sent(addresses.size(), false);
  const int64_t until = now_ns() + within_ns;
  for (;;) {
    bool moved = false;
    Rank missing = -1, full = -1;
    for (;;) {
      const Result<bool> taken = take(files);
      WEIR_TRY(taken.status());
      if (!*taken) break;
      moved = true;
    }
    for (size_t rank = 0; rank < addresses.size(); ++rank) {
      if (addresses[rank].empty() || static_cast<Rank>(rank) == rank_) continue;
      if (!sent[rank]) {
        const Result<bool> done = send(addresses[rank], static_cast<Rank>(rank), file);
        WEIR_TRY(done.status());
        sent[rank] = *done;
        moved = moved || *done;
        if (!*done) full = static_cast<Rank>(rank);
      }
      if (!files[rank].valid()) missing = static_cast<Rank>(rank);
    }
    if (missing < 0 && full < 0) return files;
    if (now_ns() > until)
      return Status(
          Code::system_error,
          missing >= 0
              ? fmt::format("rank {} sent no file descriptor in time", missing)
              : fmt::format("rank {} received no file descriptor in time: its socket stayed full", full));
    pollfd wait{socket_.fd(), POLLIN, 0};
    if (!moved) (void)::poll(&wait, 1, full >= 0 ? 1 : kPollSliceMs);
  }
}

}  // namespace weir
