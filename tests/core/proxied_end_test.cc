// SPDX-License-Identifier: Apache-2.0
// Rings between hosts over RDMA devices that read and write memory of GPUs themselves, with the test in the
// place of kernels.
#include "src/core/gpu/proxied_end.h"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

#include "src/core/gpu/gpu_slots.h"
#include "src/core/staged/pinned.h"
#include "tests/core/device_collectives.h"
#include "tests/core/rank.h"
#include "tests/transports/fake_verbs.h"
#include "transports/verbs/verbs.h"

namespace weir::core {
namespace {

using exec::gpu::Port;
using exec::gpu::ProxyRings;
using testing::FakeFabric;
using ::testing::HasSubstr;
using testing::Site;

constexpr size_t kSlotBytes = 4096;
constexpr size_t kWords = kSlotBytes / sizeof(int);
constexpr uint64_t kMessages = 11;
constexpr ProxyRings::End kOut{1, true, 3}, kIn{0, false, 3};

uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void store(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

/// Which ends have their slots on the GPU.
struct Placed {
  bool sender = true;
  bool receiver = true;
};

/// One rank: its GPU, a device, rings to the other rank, and an end of one.
struct Host {
  Host(GpuSite& gpus, Rank rank)
      : gpu_rank(gpus, rank),
        rings({1 - rank}, kSlotBytes),
        memory(std::move(*Pinned::allocate(&gpu_rank.gpu, rings.bytes()))) {
    rings.bind(memory.data(), reinterpret_cast<std::byte*>(gpu_rank.gpu.flag_at(memory.data())->device));
  }
  void open(Rank rank, bool placed) {
    if (placed) {
      auto made =
          GpuSlots::make(gpu_rank.gpu, rings.slots_bytes(), [](const std::string&) { return Status(); });
      ASSERT_TRUE(made.ok()) << made.status().message();
      slots = std::move(*made);
      const Status registered = slots->register_with(*transports[0]);
      ASSERT_TRUE(registered.ok()) << registered.message();
      rings.place_slots(1 - rank, rank == 0, slots->begin());
    }
    auto opened = ProxiedEnd::open(rank, gpu_rank.gpu, rings, rank == 0 ? kOut : kIn, *routes);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    end = std::move(*opened);
  }
  ~Host() {
    end.reset();
    slots.reset();
  }

  GpuRank gpu_rank;
  ProxyRings rings;
  Pinned memory;
  std::vector<std::unique_ptr<Transport>> transports;
  std::unique_ptr<Routes> routes;
  std::unique_ptr<GpuSlots> slots;
  std::unique_ptr<ProxiedEnd> end;
};

/// Carries on until `done`; false: an end is broken.
template <typename Done>
bool serve(Host& host, Done done) {
  while (!done()) {
    const Result<bool> moved = host.end->carry();
    EXPECT_TRUE(moved.ok()) << moved.status().message();
    if (!moved.ok()) return false;
    std::this_thread::yield();
  }
  return true;
}

std::vector<int> payload(uint64_t message) {
  std::vector<int> words(kWords);
  std::iota(words.begin(), words.end(), static_cast<int>(message * 1000));
  return words;
}

/// What a kernel that sends does.
void send_all(Host& host, uint64_t messages = kMessages) {
  const Port port = host.rings.on_gpu(kOut);
  const Port words = host.rings.on_host(kOut);
  for (uint64_t n = 0; n < messages; ++n) {
    ASSERT_TRUE(serve(host, [&] { return n < port.count || load(words.taken) + port.count > n; }));
    const size_t slot = n % port.count;
    const std::vector<int> data = payload(n);
    ASSERT_TRUE(
        host.gpu_rank.gpu.copy(port.slots + slot * port.stride, data.data(), kSlotBytes, host.gpu_rank.stream)
            .ok());
    host.gpu_rank.wait();
    words.arrived[1 + slot] = 70 + n;
    words.arrived[1 + port.count + slot] = n % 2 == 0 ? kSlotBytes : 0;  // a signal now and then
    store(words.arrived, n + 1);
  }
  ASSERT_TRUE(serve(host, [&] { return host.end->drained(); }));
}

/// What one that receives does.
void take_all(Host& host) {
  const Port port = host.rings.on_gpu(kIn);
  const Port words = host.rings.on_host(kIn);
  for (uint64_t n = 0; n < kMessages; ++n) {
    ASSERT_TRUE(serve(host, [&] { return load(words.arrived) > n; }));
    const size_t slot = n % port.count;
    EXPECT_EQ(words.arrived[1 + slot], 70 + n);
    std::vector<int> data(kWords);
    ASSERT_TRUE(
        host.gpu_rank.gpu.copy(data.data(), port.slots + slot * port.stride, kSlotBytes, host.gpu_rank.stream)
            .ok());
    host.gpu_rank.wait();
    if (n % 2 == 0) {
      EXPECT_EQ(data, payload(n)) << n;
    }
    store(words.taken, n + 1);
  }
  // The last credit goes out.
  ASSERT_TRUE(serve(host, [&, looks = 0]() mutable { return host.end->drained() && ++looks > 100; }));
}

/// Two ranks, of which rank 0 sends.
void run(Placed placed, const std::function<void(Host&)>& sender,
         const std::function<void(Host&)>& receiver) {
  FakeFabric fabric(2);
  GpuSite gpus;
  Site site;
  const UniqueId id = site.roots.make_id(SocketAddress::loopback(AF_INET, 0), {}).value();
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (const Rank rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      auto bootstrap = Bootstrap::join(site.spec(id, 2, rank));
      ASSERT_TRUE(bootstrap.ok()) << bootstrap.status().message();
      Options options;
      options.ib_hca = rank == 0 ? "fake0" : "fake1";
      Host host(gpus, rank);
      host.transports.push_back(make_verbs({(*bootstrap)->uid(), rank, 1, (*bootstrap)->credentials()},
                                           site.listener.get(), fabric.verbs(), options));
      auto routes = Routes::find(**bootstrap, host.transports);
      ASSERT_TRUE(routes.ok()) << routes.status().message();
      host.routes = std::make_unique<Routes>(std::move(*routes));
      host.open(rank, rank == 0 ? placed.sender : placed.receiver);
      if (host.end != nullptr) (rank == 0 ? sender : receiver)(host);
      ++done;
      while (done < 2) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class ProxiedEnds : public ::testing::TestWithParam<Placed> {};

TEST_P(ProxiedEnds, CarryMessagesThroughMemoryOfGpus) {
  run(
      GetParam(), [](Host& host) { send_all(host); }, take_all);
}

/// Drivers place small allocations inside pages, and give dmabufs of whole pages only.
TEST(GpuSlots, SmallOnesAreWholePages) {
  GpuSite site;
  const GpuRank gpu_rank(site, 0);
  for (int i = 0; i < 2; ++i) {
    auto slots = GpuSlots::make(gpu_rank.gpu, 1, [](const std::string&) { return Status(); });
    ASSERT_TRUE(slots.ok()) << slots.status().message();
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*slots)->begin()) % 4096, 0u);
    EXPECT_EQ((*slots)->bytes() % 4096, 0u);
    auto file = (*slots)->file();
    EXPECT_TRUE(file.ok()) << file.status().message();
  }
}

/// The adapter has delivered everything, but the kernel waits for room.
TEST(ProxiedEnd, ASenderWithoutRoomLearnsThatThePeerIsGone) {
  constexpr uint64_t kTaken = 1;
  std::atomic<bool> delivered{false};
  const auto sender = [&](Host& host) {
    send_all(host, ProxyRings::kSlots + kTaken);
    delivered = true;
    Result<bool> carried = true;
    while (carried.ok()) {
      carried = host.end->carry();
      std::this_thread::yield();
    }
    EXPECT_EQ(carried.status().code(), Code::remote_error);
    EXPECT_THAT(carried.status().message(), HasSubstr("rank 1"));
    EXPECT_TRUE(host.end->awaits_peer());
  };
  const auto receiver = [&](Host& host) {
    const Port words = host.rings.on_host(kIn);
    ASSERT_TRUE(serve(host, [&] { return load(words.arrived) == kTaken; }));
    EXPECT_TRUE(host.end->drained()) << "nothing to do until a kernel has taken the message";
    store(words.taken, kTaken);
    EXPECT_FALSE(host.end->drained());
    ASSERT_TRUE(serve(host, [&] { return load(words.arrived) == kTaken + 1; }));
    ASSERT_TRUE(serve(host, [&] { return delivered.load(); }));
    host.end.reset();
  };
  run({true, true}, sender, receiver);
}

INSTANTIATE_TEST_SUITE_P(Slots, ProxiedEnds,
                         ::testing::Values(Placed{true, true}, Placed{true, false}, Placed{false, true},
                                           Placed{false, false}),
                         [](const auto& info) {
                           return std::string(info.param.sender ? "OnGpu" : "Pinned") +
                                  (info.param.receiver ? "ToGpu" : "ToPinned");
                         });

}  // namespace
}  // namespace weir::core
