// SPDX-License-Identifier: Apache-2.0
// Calls on GPUs where a driver blocks the caller while more than a few operations are pending on a stream:
// nothing that is pending may wait for what the blocked thread would queue next. Where it does, a test does
// not end.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/device_collectives.h"

namespace weir::core {
namespace {

constexpr size_t kManyCalls = 60;
constexpr size_t kSumElements = 700;

/// By WEIR_GPU_PATH. A single operation may be pending, the least that any driver can hold.
class DevicePending : public ::testing::TestWithParam<const char*> {
 protected:
  DevicePending() { setenv("WEIR_FAKE_GPU_PENDING", "1", 1); }
  ~DevicePending() override { unsetenv("WEIR_FAKE_GPU_PENDING"); }
  static Options options() {
    Options options = device_options();
    options.gpu_path = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Paths, DevicePending, ::testing::Values("kernel", "stream", "staged"),
                         [](const auto& info) { return std::string(info.param); });

/// A rank's data: sums in place of blocks of `count` elements.
class Sums {
 public:
  Sums(const GpuRank& gpu_rank, int rank, size_t calls, size_t count)
      : calls_(calls), count_(count), data_(gpu_rank, calls * count) {
    data_.fill(data_.size(), [&](size_t i) { return put(rank, i / count_, i % count_); });
  }
  std::vector<Operation> operations() const {
    std::vector<Operation> all;
    for (size_t call = 0; call < calls_; ++call) {
      int* const block = data_.data() + call * count_;
      all.push_back(operation(Collective::all_reduce, block, block, count_));
    }
    return all;
  }
  void check(int ranks) {
    const std::vector<int>& got = data_.read(data_.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], put_sum(ranks, i / count_, i % count_)) << "call " << i / count_;
  }

 private:
  const size_t calls_;
  const size_t count_;
  Elements data_;
};

/// One group of this thread has all calls of all ranks; rank r is on GPU gpus[r].
void sum_by_one_thread(const Options& options, const std::vector<int>& gpus, size_t calls, size_t count) {
  const int ranks = static_cast<int>(gpus.size());
  GpuSite site(options);
  const auto id = site.runtime.make_unique_id();
  ASSERT_TRUE(id.ok());
  std::vector<std::unique_ptr<GpuRank>> gpu_ranks;
  std::vector<std::unique_ptr<Communicator>> communicators(gpus.size());
  for (const int gpu : gpus) gpu_ranks.push_back(std::make_unique<GpuRank>(site, gpu));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ASSERT_EQ(device::user("SetDevice", gpus[static_cast<size_t>(rank)]), 0);
      auto& own = communicators[static_cast<size_t>(rank)];
      own = std::make_unique<Communicator>(site.runtime, IdOrigin{*id, ranks, rank}, Config());
      EXPECT_TRUE(own->connect().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  {
    std::vector<std::unique_ptr<Sums>> all;
    std::vector<Target> targets;
    std::vector<Operation> operations;
    for (size_t rank = 0; rank < gpus.size(); ++rank) {
      all.push_back(std::make_unique<Sums>(*gpu_ranks[rank], static_cast<int>(rank), calls, count));
      targets.insert(targets.end(), calls, {communicators[rank].get(), gpu_ranks[rank]->place()});
      const std::vector<Operation> own = all.back()->operations();
      operations.insert(operations.end(), own.begin(), own.end());
    }
    const Status status = launch_group(targets, operations);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const auto& sums : all) sums->check(ranks);
  }
  for (const auto& communicator : communicators) EXPECT_TRUE(communicator->finalize().ok());
  communicators.clear();
}

TEST_P(DevicePending, AThreadWithAllRanksQueuesAGroupOfManyCalls) {
  sum_by_one_thread(options(), {0, 1, 0}, kManyCalls, kSumElements);
}

/// One call of many passes.
TEST_P(DevicePending, AThreadWithAllRanksQueuesALongCall) {
  Options long_one = options();
  long_one.gpu_segment_bytes = 1;  // as small as possible
  sum_by_one_thread(long_one, {0, 1}, 2, size_t{3} << 20);
}

/// Groups and single calls, none waited for before the last.
TEST_P(DevicePending, RanksInThreadsQueueManyCalls) {
  GpuSite site(options());
  with_device_ranks(site, 3, {0, 1}, [&](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    Sums grouped(gpu_rank, rank, kManyCalls, kSumElements), single(gpu_rank, rank, kManyCalls, kSumElements);
    const Status status = communicator.run(grouped.operations(), gpu_rank.place());
    ASSERT_TRUE(status.ok()) << status.message();
    for (const Operation& one : single.operations())
      ASSERT_TRUE(communicator.run({&one, 1}, gpu_rank.place()).ok());
    grouped.check(3);
    single.check(3);
  });
}

/// The proxies carry what pending kernels wait for.
TEST_P(DevicePending, RanksOnTwoHostsQueueManyCalls) {
  if (GetParam() == std::string("stream")) GTEST_SKIP() << "stream operations do not reach other hosts";
  Options first = options(), second = options();
  first.host_id = "pending 0";
  second.host_id = "pending 1";
  GpuSite one(first), other(second);
  GpuSite* const sites[] = {&one, &other};
  const auto id = one.runtime.make_unique_id();
  ASSERT_TRUE(id.ok());
  std::vector<std::thread> hosts;
  for (int host = 0; host < 2; ++host) {
    hosts.emplace_back([&, host] {
      with_own_device_ranks(*sites[host], *id, 2, {host}, {0, 1},
                            [](Communicator& communicator, int rank, GpuRank& gpu_rank) {
                              Sums sums(gpu_rank, rank, kManyCalls, kSumElements);
                              const Status status = communicator.run(sums.operations(), gpu_rank.place());
                              ASSERT_TRUE(status.ok()) << status.message();
                              sums.check(2);
                            });
    });
  }
  for (std::thread& host : hosts) host.join();
}

}  // namespace
}  // namespace weir::core
