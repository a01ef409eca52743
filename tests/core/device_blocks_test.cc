// SPDX-License-Identifier: Apache-2.0
// Several communicators whose kernels run on one GPU at the same time.
#include <gmock/gmock.h>

#include <barrier>
#include <memory>

#include "tests/core/device_collectives.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kRanks = 2;
constexpr size_t kCount = 400'000;  // enough for all blocks of a communicator

/// A GPU that runs 32 blocks of the lane kernels, which have 512 threads, with HIP 256.
class DeviceBlocks : public ::testing::Test {
 protected:
  DeviceBlocks() { setenv("WEIR_FAKE_GPU_MULTIPROCESSORS", device::kIsHip ? "4" : "8", 1); }
  ~DeviceBlocks() override { unsetenv("WEIR_FAKE_GPU_MULTIPROCESSORS"); }
};

/// A rank of a communicator with a stream of its own, on GPU 0.
class Summing {
 public:
  Summing(GpuSite& site, const UniqueId& id, int rank, const Config& config = Config())
      : gpu_rank_(site, 0),
        data_(gpu_rank_, kCount),
        communicator_(site.runtime, IdOrigin{id, kRanks, rank}, config) {
    const Status connected = communicator_.connect();
    EXPECT_TRUE(connected.ok()) << connected.message();
    fill();
  }
  ~Summing() { EXPECT_TRUE(communicator_.finalize().ok()); }

  void fill() {
    data_.fill(kCount, [&](size_t i) { return put(communicator_.rank(), 0, i); });
  }
  void begin() {
    const Operation sum = operation(Collective::all_reduce, data_.data(), data_.data(), kCount);
    const Status begun = communicator_.run({&sum, 1}, gpu_rank_.place());
    EXPECT_TRUE(begun.ok()) << begun.message();
  }
  void check() {
    const std::vector<int>& got = data_.read(kCount);
    EXPECT_TRUE(communicator_.state().ok()) << communicator_.state().message();
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(got[i], put_sum(kRanks, 0, i)) << i;
  }

 private:
  const GpuRank gpu_rank_;
  Elements data_;
  Communicator communicator_;
};

/// Rank 0 begins the calls of `count` communicators in one order, rank 1 in the other, `rounds` times.
void sum_in_both_orders(GpuSite& site, size_t count, int rounds = 1) {
  std::vector<UniqueId> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(*site.runtime.make_unique_id());
  std::barrier together(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      std::vector<std::unique_ptr<Summing>> all;
      for (const UniqueId& id : ids) all.push_back(std::make_unique<Summing>(site, id, rank));
      for (int round = 0; round < rounds; ++round) {
        for (const auto& one : all) one->fill();
        for (size_t i = 0; i < count; ++i) {
          together.arrive_and_wait();
          all[rank == 0 ? i : count - 1 - i]->begin();
        }
        for (const auto& one : all) one->check();
      }
      together.arrive_and_wait();  // memory is freed when nothing waits for it
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeviceBlocks, OfTwoCommunicatorsFitTogether) {
  GpuSite site;
  sum_in_both_orders(site, 2, 30);  // in some rounds each fills the GPU with one rank's blocks, if it can
}

TEST_F(DeviceBlocks, WhereNoneAreLeftCallsAreStaged) {
  GpuSite site;
  const auto said = [&](size_t communicators) {
    const Logged logged;
    sum_in_both_orders(site, communicators);
    return logged.text();
  };
  constexpr const char* kNoneLeft =
      "kernels of other communicators have all blocks that its GPU runs at once";
  EXPECT_THAT(said(7), AllOf(HasSubstr("as kernels on"), HasSubstr(kNoneLeft), HasSubstr("up to 8 blocks"),
                             HasSubstr("up to 4 blocks"), HasSubstr("up to 2 blocks")));
  EXPECT_THAT(said(1), AllOf(HasSubstr("up to 8 blocks"), Not(HasSubstr(kNoneLeft)))) << "all are free again";
}

/// Freeing memory waits for the GPU, where a kernel waits for the rank that frees.
TEST_F(DeviceBlocks, ACommunicatorEndsWhileAKernelOfAnotherWaits) {
  GpuSite site;
  const UniqueId ids[] = {*site.runtime.make_unique_id(), *site.runtime.make_unique_id()};
  std::barrier together(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Summing lasting(site, ids[0], rank);
      auto communicator =
          std::make_unique<Communicator>(site.runtime, IdOrigin{ids[1], kRanks, rank}, Config());
      EXPECT_TRUE(communicator->connect().ok());
      if (rank == 0) together.arrive_and_wait();
      EXPECT_TRUE(communicator->finalize().ok());
      communicator.reset();
      lasting.begin();
      if (rank == 1) together.arrive_and_wait();
      lasting.check();
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeviceBlocks, TheProgramLimitsThem) {
  const auto said = [](const Config& config, const Options& options = device_options()) {
    const Logged logged;
    GpuSite site(options);
    const UniqueId id = *site.runtime.make_unique_id();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        Summing one(site, id, rank, rank == 0 ? config : Config());
        one.begin();
        one.check();
      });
    for (std::thread& thread : threads) thread.join();
    return logged.text();
  };
  Config few, many;
  few.most_rings = 3;
  many.least_rings = 12;
  EXPECT_THAT(said(few), HasSubstr("up to 3 blocks"));
  EXPECT_THAT(said(many), HasSubstr("up to 12 blocks"));
  Options options = device_options();
  options.most_rings = 5;
  EXPECT_THAT(said(many, options), HasSubstr("up to 5 blocks"));
}

/// Where all streams share one hardware queue, calls are staged; where they may share some, the log says so.
TEST_F(DeviceBlocks, ThreadsNeedHardwareQueues) {
  const auto said = [](const char* queues) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues, 1);
    setenv("WEIR_FAKE_GPU_QUEUES", queues, 1);
    const Logged logged;
    GpuSite site;
    sum_in_both_orders(site, 1);
    return logged.text();
  };
  EXPECT_THAT(said("1"), HasSubstr("2 ranks on 0000:1b:00.0, which need a hardware queue each"));
  EXPECT_THAT(said("32"), AllOf(HasSubstr("as kernels on"), Not(HasSubstr("hardware queue"))));
  unsetenv("WEIR_FAKE_GPU_QUEUES");
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
}

}  // namespace
}  // namespace weir::core
