// SPDX-License-Identifier: Apache-2.0

#include "tests/transports/peers.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace weir::testing {
namespace {

constexpr int kPeerTimeoutMs = 60000;

void send_all(int socket, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) throw CannotGoOn("the other rank has ended");
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
}

void receive_all(int socket, void* data, size_t size) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    pollfd wait = {socket, POLLIN, 0};
    const ssize_t got = poll(&wait, 1, kPeerTimeoutMs) == 1 ? recv(socket, bytes, size, 0) : -1;
    if (got <= 0) throw CannotGoOn(got == 0 ? "the other rank has ended" : "the other rank is silent");
    bytes += got;
    size -= static_cast<size_t>(got);
  }
}

void run_body(Rank rank, int socket, const std::function<void(Peer&)>& body) {
  Peer peer(rank, socket);
  try {
    body(peer);
  } catch (const CannotGoOn& trouble) {
    ADD_FAILURE() << "rank " << rank << ": " << trouble.what();
  }
  close(socket);
}

void run_threads(const int sockets[2], const std::function<void(Peer&)>& body) {
  std::thread second([&] { run_body(1, sockets[1], body); });
  run_body(0, sockets[0], body);
  second.join();
}

pid_t start_process(Rank rank, const int sockets[2], const std::function<void(Peer&)>& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  close(sockets[1 - rank]);
  run_body(rank, sockets[rank], body);
  fflush(nullptr);
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}

void run_processes(const int sockets[2], const std::function<void(Peer&)>& body, Fate fate) {
  const pid_t children[2] = {start_process(0, sockets, body), start_process(1, sockets, body)};
  close(sockets[0]);
  close(sockets[1]);
  for (Rank rank : {0, 1}) {
    int state = 0;
    ASSERT_EQ(waitpid(children[rank], &state, 0), children[rank]);
    if (rank == 1 && fate == Fate::is_killed) {
      EXPECT_TRUE(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL);
    } else {
      EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << "rank " << rank << " ended with " << state;
    }
  }
}

}  // namespace

Bytes Peer::swap(const Bytes& mine) {
  const auto size = static_cast<uint32_t>(mine.size());
  send_all(socket_, &size, sizeof(size));
  send_all(socket_, mine.data(), mine.size());
  uint32_t other_size = 0;
  receive_all(socket_, &other_size, sizeof(other_size));
  Bytes other(other_size);
  receive_all(socket_, other.data(), other.size());
  return other;
}

void Peer::die() {
  kill(getpid(), SIGKILL);
  _exit(1);
}

void run_pair(PeerKind kind, const std::function<void(Peer&)>& body, Fate fate) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  if (kind == PeerKind::threads) {
    run_threads(sockets, body);
  } else {
    run_processes(sockets, body, fate);
  }
}

}  // namespace weir::testing
