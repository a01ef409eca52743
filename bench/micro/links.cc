// SPDX-License-Identifier: Apache-2.0
// Cost of a channel: half of a round trip of 8 bytes, and a stream of 64 KiB messages that the sender copies
// in and the receiver copies out. The peer is a thread (loop) or a forked process, on another core if there
// is one.
#include <benchmark/benchmark.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/net/listener/listener.h"
#include "transports/memory/cma.h"
#include "transports/memory/loop.h"
#include "transports/memory/shm.h"
#include "transports/tcp/tcp.h"

namespace weir {
namespace {

constexpr uint32_t kSlotBytes = 64 * 1024;
constexpr size_t kBufferBytes = 1 << 20;
enum Tag : uint64_t { kSink, kEcho, kQuit };

struct Node {
  std::unique_ptr<Segment> segment;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Transport> transport;
};
using MakeNode = Node (*)(Rank);

Identity identity(Rank rank) { return {7, rank, 1}; }

Node with_segment(Rank rank, std::unique_ptr<Transport> (*make)(const Identity&, Segment*)) {
  Node node;
  node.segment = std::move(Segment::create({.uid = 7, .rank = rank}).value());
  node.transport = make(identity(rank), node.segment.get());
  return node;
}

Node loop_node(Rank rank) {
  return with_segment(rank, [](const Identity& self, Segment* segment) {
    static LocalSegments segments;
    return make_loop(self, segment, &segments);
  });
}

Node shm_node(Rank rank) {
  return with_segment(rank,
                      [](const Identity& self, Segment* segment) { return make_shm(self, segment, false); });
}

Node cma_node(Rank rank) { return {nullptr, nullptr, make_cma(identity(rank))}; }

Node tcp_node(Rank rank) {
  Node node;
  node.listener = std::move(Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr).value());
  node.listener->admit(0, {});  // the job of identity()
  node.transport = make_tcp(identity(rank), node.listener.get(), {});
  return node;
}

void pin(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core % static_cast<int>(std::thread::hardware_concurrency()), &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

/// One side: a channel to the other side and one from it.
class Side {
 public:
  Side(Rank rank, MakeNode make, int socket) : node_(make(rank)), buffer_(kBufferBytes) {
    const Bytes address = node_.transport->address();
    Bytes peer(address.size());
    if (write(socket, address.data(), address.size()) < 0 || read(socket, peer.data(), peer.size()) < 0)
      std::abort();
    const LinkSpec spec = {
        .self = rank, .peer = 1 - rank, .channel = 0, .slots = 4, .slot_bytes = kSlotBytes};
    sender_ = std::move(node_.transport->open_sender(peer, spec).value());
    receiver_ = std::move(node_.transport->open_receiver(peer, spec).value());
    while (!(static_cast<int>(sender_->ready().value()) & static_cast<int>(receiver_->ready().value())))
      sched_yield();
  }

  void send(uint64_t tag, uint32_t bytes) {
    std::byte* slot = nullptr;
    wait([&] { return (slot = sender_->acquire()) != nullptr; });
    std::memcpy(slot, next_area(bytes), bytes);
    sender_->publish(tag, bytes);
  }
  uint64_t receive() {
    const Message* message = nullptr;
    wait([&] { return (message = receiver_->peek()) != nullptr; });
    const uint64_t tag = message->tag;
    std::memcpy(next_area(message->bytes), message->data, message->bytes);
    receiver_->release();
    return tag;
  }
  void flush() {
    wait([&] { return sender_->flushed(); });
  }
  /// Echoes messages until told to quit.
  void serve() {
    for (uint64_t tag = kSink; tag != kQuit;) {
      tag = receive();
      if (tag != kSink) send(tag, 8);
    }
    flush();
  }

 private:
  template <typename Look>
  void wait(Look look) {
    for (int looks = 1; !look(); ++looks) {
      if (!sender_->progress().ok() || !receiver_->progress().ok()) std::abort();
      if (looks % 256 == 0) sched_yield();
    }
  }
  std::byte* next_area(uint32_t bytes) {
    at_ = at_ + bytes + kSlotBytes <= kBufferBytes ? at_ + bytes : 0;
    return buffer_.data() + at_;
  }

  Node node_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
  std::vector<std::byte> buffer_;
  size_t at_ = 0;
};

/// Runs `body` against a serving peer.
void with_peer(MakeNode make, const std::function<void(Side&)>& body) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) std::abort();
  const auto serve = [&] {
    pin(1);
    Side(1, make, sockets[1]).serve();
  };
  std::thread thread;
  pid_t child = 0;
  if (make == loop_node) {
    thread = std::thread(serve);
  } else if ((child = fork()) == 0) {
    serve();
    _exit(0);
  }
  pin(0);
  {
    Side side(0, make, sockets[0]);
    body(side);
    side.send(kQuit, 8);
    side.receive();
    side.flush();
  }
  if (thread.joinable()) thread.join();
  if (child != 0) waitpid(child, nullptr, 0);
  close(sockets[0]);
  close(sockets[1]);
}

void half_round_trip(benchmark::State& state, MakeNode make) {
  with_peer(make, [&](Side& side) {
    for (auto _ : state) {
      const int64_t begin = now_ns();
      side.send(kEcho, 8);
      side.receive();
      state.SetIterationTime(static_cast<double>(now_ns() - begin) / 2e9);
    }
  });
}

void stream(benchmark::State& state, MakeNode make) {
  constexpr int kMessages = 64;
  with_peer(make, [&](Side& side) {
    for (auto _ : state) {
      for (int i = 1; i < kMessages; ++i) side.send(kSink, kSlotBytes);
      side.send(kEcho, kSlotBytes);
      side.receive();
    }
    state.SetBytesProcessed(state.iterations() * kMessages * int64_t{kSlotBytes});
  });
}

BENCHMARK_CAPTURE(half_round_trip, loop, loop_node)->UseManualTime();
BENCHMARK_CAPTURE(half_round_trip, shm, shm_node)->UseManualTime();
BENCHMARK_CAPTURE(half_round_trip, cma, cma_node)->UseManualTime();
BENCHMARK_CAPTURE(half_round_trip, tcp, tcp_node)->UseManualTime();
BENCHMARK_CAPTURE(stream, loop, loop_node)->UseRealTime();
BENCHMARK_CAPTURE(stream, shm, shm_node)->UseRealTime();
BENCHMARK_CAPTURE(stream, cma, cma_node)->UseRealTime();
BENCHMARK_CAPTURE(stream, tcp, tcp_node)->UseRealTime();

}  // namespace
}  // namespace weir
