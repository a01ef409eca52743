// SPDX-License-Identifier: Apache-2.0
// Sends and receives of communicators whose calls go by kernels, ranks in threads of one process.
#include "src/core/gpu/device_pairs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <barrier>

#include "src/device/host_stream.h"
#include "tests/core/device_collectives.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Status run(Communicator& communicator, const std::vector<Operation>& operations, const GpuRank& gpu_rank) {
  return communicator.run(operations, gpu_rank.place());
}

/// What the i-th element is that `from` sends to `to` as its `number`-th message.
int sent(Rank from, Rank to, size_t number, size_t i) {
  return static_cast<int>(1'000'000 * number + i) + 10'000'000 * from + 50'000'000 * to;
}

size_t elements_of(const std::vector<size_t>& sizes, int ranks) {
  return std::accumulate(sizes.begin(), sizes.end(), size_t{0}) * static_cast<size_t>(ranks);
}

/// A group in which everybody sends everybody some messages, itself included. Memory is taken and freed by
/// the caller, when all is done: that waits for kernels of other ranks, which wait for this one.
void exchange(Communicator& communicator, const GpuRank& gpu_rank, const std::vector<size_t>& sizes,
              Elements& in, Elements& out) {
  const int ranks = communicator.size(), self = communicator.rank();
  const size_t whole = elements_of(sizes, ranks);
  std::vector<int> given(whole), expected(whole);
  std::vector<Operation> group;
  size_t at = 0;
  for (Rank peer = 0; peer < ranks; ++peer) {
    for (size_t number = 0; number < sizes.size(); ++number) {
      const size_t size = sizes[number];
      for (size_t i = 0; i < size; ++i) {
        given[at + i] = sent(self, peer, number, i);
        expected[at + i] = sent(peer, self, number, i);
      }
      group.push_back(send(in.data() + at, size, peer));
      group.push_back(receive(out.data() + at, size, peer));
      at += size;
    }
  }
  in.fill(whole, [&](size_t i) { return given[i]; });
  out.fill(whole, [](size_t) { return -1; });
  const Status status = run(communicator, group, gpu_rank);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<int>& got = out.read(whole);
  ASSERT_EQ(std::vector<int>(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(whole)), expected);
}

class Exchanges : public ::testing::TestWithParam<GpuRanks> {};
INSTANTIATE_TEST_SUITE_P(Gpus, Exchanges,
                         ::testing::Values(GpuRanks{1, {0}}, GpuRanks{2, {0}}, GpuRanks{3, {0, 1}},
                                           GpuRanks{5, {1}}),
                         [](const auto& info) { return fmt::format("{}Ranks", info.param.ranks); });

// Nothing, one piece, one ring, all rings, and turns of them; nothing of it through the host.
TEST_P(Exchanges, OfAllSizesAndSeveralToOnePeer) {
  const Logged logged;
  GpuSite site;
  with_device_ranks(
      site, GetParam().ranks, GetParam().gpus, [](Communicator& communicator, int, GpuRank& gpu_rank) {
        const std::vector<size_t> sizes = {1, 0, 5000, 3, 70'001, 2};
        Elements in(gpu_rank, elements_of(sizes, communicator.size())), out(gpu_rank, in.size());
        exchange(communicator, gpu_rank, sizes, in, out);
      });
  EXPECT_THAT(logged.text(), AllOf(HasSubstr("as kernels on"), Not(HasSubstr("through pinned"))));
}

/// More messages than an argument of a kernel has room for, then few again.
TEST(DevicePairs, ManyMessagesInAGroup) {
  GpuSite site;
  with_device_ranks(site, 2, {0}, [](Communicator& communicator, int, GpuRank& gpu_rank) {
    std::vector<size_t> sizes(300);
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = i % 7 * 100;
    Elements in(gpu_rank, elements_of(sizes, 2)), out(gpu_rank, in.size());
    exchange(communicator, gpu_rank, sizes, in, out);
    exchange(communicator, gpu_rank, {4}, in, out);
  });
}

/// Who waits for a rank does not keep others from being served: groups of two ranks need not be alike.
TEST(DevicePairs, GroupsAreCutDifferently) {
  GpuSite site;
  with_device_ranks(site, 3, {0}, [](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    constexpr size_t kCount = 200'000;  // more than rings hold
    Elements in(gpu_rank, kCount), first(gpu_rank, kCount), second(gpu_rank, kCount);
    in.fill(kCount, [&](size_t i) { return put(rank, 0, i); });
    const int* const own = in.data();
    std::vector<std::vector<Operation>> groups;
    if (rank == 0) groups = {{send(own, kCount, 1), send(own, kCount, 2), receive(first.data(), kCount, 2)}};
    if (rank == 1) groups = {{receive(first.data(), kCount, 2)}, {receive(second.data(), kCount, 0)}};
    if (rank == 2)
      groups = {{send(own, kCount, 1), send(own, kCount, 0)}, {receive(first.data(), kCount, 0)}};
    for (const auto& group : groups) ASSERT_TRUE(run(communicator, group, gpu_rank).ok());
    const auto& got = first.read(kCount);
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(got[i], put(rank == 2 ? 0 : 2, 0, i)) << i;
    if (rank == 1) {
      const auto& other = second.read(kCount);
      for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(other[i], put(0, 0, i)) << i;
    }
  });
}

/// Collectives of a group come first on all ranks, wherever they stand in it, and those after it use the same
/// rings.
TEST(DevicePairs, BesideCollectives) {
  GpuSite site;
  with_device_ranks(site, 2, {0, 1}, [&](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    constexpr size_t kCount = 20'000;
    const GpuRank other(site, rank % 2);
    Elements data(gpu_rank, kCount), in(gpu_rank, kCount), out(gpu_rank, kCount), again(gpu_rank, kCount);
    for (int round = 0; round < 3; ++round) {
      data.fill(kCount, [&](size_t i) { return put(rank, 0, i); });
      in.fill(kCount, [&](size_t i) { return put(rank, 1, i) + round; });
      const Operation sum = operation(Collective::all_reduce, data.data(), data.data(), kCount);
      const Operation to = send(in.data(), kCount, 1 - rank);
      const Operation from = receive(out.data(), kCount, 1 - rank);
      // On two streams: the group goes to the communicator's own.
      const std::vector<Operation> group =
          rank == 0 ? std::vector<Operation>{to, sum, from} : std::vector<Operation>{sum, from, to};
      std::vector<Target> targets(3, {&communicator, gpu_rank.place()});
      targets[1].place = other.place();
      ASSERT_TRUE(launch_group(targets, group).ok());
      run_and_check(communicator, gpu_rank, Collective::all_gather, kCount / 2, 0, data, again);
      const auto& got = out.read(kCount);
      for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(got[i], put(1 - rank, 1, i) + round) << i;
    }
  });
}

/// One of the ends in host memory that the GPU does not address, on all kinds of streams.
TEST(DevicePairs, OtherHostMemoryIsCopied) {
  GpuSite site;
  with_device_ranks(site, 2, {0}, [](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    constexpr size_t kCount = 5000;
    auto host = std::move(*device::HostStream::create());
    for (const StreamPlace& place : {gpu_rank.place(), StreamPlace{}, StreamPlace{host.get()}}) {
      std::vector<int> in(kCount), out(kCount, -1);
      for (size_t i = 0; i < kCount; ++i) in[i] = put(rank, 0, i);
      const Operation group[] = {send(in.data(), kCount, 1 - rank), receive(out.data(), kCount, 1 - rank)};
      const Status status = communicator.run(group, place);
      ASSERT_TRUE(status.ok()) << status.message();
      if (place.on_gpu) gpu_rank.wait();
      if (place.host != nullptr) {
        EXPECT_TRUE(host->synchronize().ok());
      }
      for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], put(1 - rank, 0, i)) << i;
    }
  });
}

/// A graph on one rank goes with calls on the other, however often it is launched.
TEST(DevicePairs, GraphsGoWithCalls) {
  GpuSite site;
  with_device_ranks(site, 2, {0}, [](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    constexpr size_t kCount = 30'000;
    Elements in(gpu_rank, kCount), out(gpu_rank, kCount);
    const std::vector<Operation> group = {send(in.data(), kCount, 1 - rank),
                                          receive(out.data(), kCount, 1 - rank)};
    std::unique_ptr<device::UserGraph> graph;
    if (rank == 0) {
      EXPECT_EQ(device::user("StreamBeginCapture", gpu_rank.stream, 1), 0);
      ASSERT_TRUE(run(communicator, group, gpu_rank).ok());
      graph = std::make_unique<device::UserGraph>(gpu_rank.stream);
      ASSERT_EQ(graph->code(), 0);
    }
    for (int round = 0; round < 3; ++round) {
      in.fill(kCount, [&](size_t i) { return put(rank, 0, i) + round; });
      if (rank == 0) {
        graph->launch(gpu_rank.stream);
      } else {
        ASSERT_TRUE(run(communicator, group, gpu_rank).ok());
      }
      const auto& got = out.read(kCount);
      for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(got[i], put(1 - rank, 0, i) + round) << i;
    }
  });
}

TEST(DevicePairs, SizesThatDoNotMatchAreNamed) {
  GpuSite site;
  std::barrier all(2);  // who has sent stays until that is seen
  with_device_ranks(site, 2, {0}, [&](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    Elements data(gpu_rank, 50'000);
    const std::vector<Operation> one = {rank == 0 ? send(data.data(), 100, 1)
                                                  : receive(data.data(), 50'000, 0)};
    ASSERT_TRUE(run(communicator, one, gpu_rank).ok());
    gpu_rank.wait();
    if (rank == 0) return all.arrive_and_wait();
    while (communicator.state().ok()) std::this_thread::yield();
    all.arrive_and_wait();
    EXPECT_EQ(communicator.state().code(), Code::invalid_usage);
    EXPECT_THAT(communicator.state().message(),
                HasSubstr("rank 0's send of 400 bytes to rank 1 differs in size from the matching receive of "
                          "200000 bytes"));
  });
}

/// Those to the rank itself have to be in the group, as with NCCL; a refused group leaves no trace.
TEST(DevicePairs, ASendToItselfNeedsItsReceive) {
  GpuSite site;
  with_device_ranks(site, 2, {0}, [](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    Elements data(gpu_rank, 20), out(gpu_rank, 20);
    const Operation sum = operation(Collective::all_reduce, data.data(), data.data(), 10);
    const Status alone = run(communicator, {sum, send(data.data(), 1, rank)}, gpu_rank);
    EXPECT_EQ(alone.code(), Code::invalid_usage);
    EXPECT_THAT(alone.message(), HasSubstr("1 sends to itself and 0 receives"));
    const Status longer =
        run(communicator, {send(data.data(), 1, rank), receive(out.data(), 2, rank)}, gpu_rank);
    EXPECT_THAT(longer.message(),
                HasSubstr("send of 4 bytes to itself differs in size from its receive of 8 bytes"));
    exchange(communicator, gpu_rank, {10}, data, out);
  });
}

TEST(DevicePairs, AbortEndsAReceiveThatWaits) {
  GpuSite site;
  with_device_ranks(site, 2, {0}, [](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    Elements data(gpu_rank, 100);
    if (rank == 1) return;
    ASSERT_TRUE(run(communicator, {receive(data.data(), 100, 1)}, gpu_rank).ok());
    std::thread other([&] { communicator.abort(); });
    gpu_rank.wait();
    other.join();
    while (communicator.state().ok()) std::this_thread::yield();
    EXPECT_THAT(communicator.state().message(), HasSubstr("aborted"));
  });
}

}  // namespace
}  // namespace weir::core
