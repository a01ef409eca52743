// SPDX-License-Identifier: Apache-2.0
// The GPU of a communicator: chosen when it is made, kept to on every way, shared only where ranks may.
#include <gmock/gmock.h>

#include "tests/core/device_collectives.h"
#include "tests/core/rank.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Processes;
using testing::RootProcess;

int current_gpu() {
  int gpu = -1;
  EXPECT_EQ(device::user("GetDevice", &gpu), 0);
  return gpu;
}

/// What WEIR_GPU_PATH says.
class LocalGpus : public ::testing::TestWithParam<const char*> {
 protected:
  static Options options() {
    Options options = device_options();
    options.gpu_path = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Paths, LocalGpus, ::testing::Values("kernel", "stream", "staged"),
                         [](const auto& info) { return std::string(info.param); });

/// One thread makes ranks on both GPUs and calls for them on streams of theirs; it has the same GPU current
/// all the time.
TEST_P(LocalGpus, AreThoseOfTheConfiguration) {
  constexpr size_t kCount = 1000;
  GpuSite site(options());
  const auto id = site.runtime.make_unique_id();
  ASSERT_TRUE(id.ok());
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    Config config;
    config.gpu = *site.gpus->at(1 - rank);
    ranks.push_back(std::make_unique<Communicator>(site.runtime, IdOrigin{*id, 2, rank}, config));
    EXPECT_EQ(ranks.back()->gpu(), config.gpu);
  }
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) threads.emplace_back([&] { EXPECT_TRUE(rank->connect().ok()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(current_gpu(), 0);
  const GpuRank on_one(site, 1), on_zero(site, 0);
  Elements first(on_one, kCount), second(on_zero, kCount);
  first.fill(kCount, [](size_t i) { return put(0, 0, i); });
  second.fill(kCount, [](size_t i) { return put(1, 0, i); });
  const std::vector<Target> targets = {{ranks[0].get(), on_one.place()}, {ranks[1].get(), on_zero.place()}};
  const std::vector<Operation> operations = {
      operation(Collective::all_reduce, first.data(), first.data(), kCount),
      operation(Collective::all_reduce, second.data(), second.data(), kCount)};
  const Status status = launch_group(targets, operations);
  ASSERT_TRUE(status.ok()) << status.message();
  for (Elements* const data : {&first, &second}) {
    const auto& got = data->read(kCount);
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(got[i], put_sum(2, 0, i)) << i;
  }
  EXPECT_EQ(current_gpu(), 0);
  for (const auto& rank : ranks) EXPECT_TRUE(rank->finalize().ok());
}

TEST_P(LocalGpus, OthersAreRefusedAndNamed) {
  GpuSite site(options());
  with_device_ranks(site, 2, {0, 1}, [&](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    const GpuRank elsewhere(site, 1 - rank);
    Elements data(gpu_rank, 100), foreign(elsewhere, 100);
    const Operation right = operation(Collective::all_reduce, data.data(), data.data(), 100);
    const Operation wrong = operation(Collective::all_reduce, foreign.data(), foreign.data(), 100);
    const auto refused = [&](const Operation& one, const StreamPlace& place, const char* what) {
      const Status status = communicator.run({&one, 1}, place);
      EXPECT_EQ(status.code(), Code::invalid_usage);
      EXPECT_THAT(status.message(),
                  AllOf(HasSubstr(fmt::format("rank {} uses {}", rank, gpu_rank.gpu.description())),
                        HasSubstr(fmt::format("{} of {}", what, elsewhere.gpu.description()))));
    };
    refused(right, elsewhere.place(), "a stream");
    refused(wrong, gpu_rank.place(), "memory");
    // The default stream is that of the communicator's GPU, although the thread has the other one current.
    EXPECT_EQ(current_gpu(), 1 - rank);
    data.fill(100, [&](size_t i) { return put(rank, 0, i); });
    const Status status = communicator.run({&right, 1}, StreamPlace{nullptr, true, nullptr});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(gpu_rank.gpu.synchronize(nullptr).ok());
    const auto& got = data.read(100);
    for (size_t i = 0; i < 100; ++i) ASSERT_EQ(got[i], put_sum(2, 0, i)) << i;
  });
}

TEST(LocalGpu, TheLogSaysWhichEachRankHas) {
  const Logged logged;
  GpuSite site;
  std::string names[2];
  with_device_ranks(site, 2, {1, 0}, [&](Communicator& communicator, int rank, GpuRank& gpu_rank) {
    names[rank] = fmt::format("rank {} of 2 uses {}", rank, gpu_rank.gpu.description());
    EXPECT_EQ(communicator.gpu(), &gpu_rank.gpu);
  });
  EXPECT_THAT(logged.text(), AllOf(HasSubstr(names[0]), HasSubstr(names[1])));
}

/// What connect() says to each of two ranks on GPU 0 (or rank 1 on `second`).
std::vector<Status> connect_two(const Options& options, int second) {
  GpuSite site(options);
  const auto id = site.runtime.make_unique_id();
  std::vector<Status> said(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const GpuRank gpu_rank(site, rank == 0 ? 0 : second);
      Communicator communicator(site.runtime, IdOrigin{*id, 2, rank}, Config());
      said[static_cast<size_t>(rank)] = communicator.connect();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

TEST(LocalGpu, MayBeForOneRankAlone) {
  Options options = device_options();
  options.shares_gpu = false;
  for (const Status& status : connect_two(options, 0)) {
    EXPECT_EQ(status.code(), Code::invalid_usage);
    EXPECT_THAT(status.message(), HasSubstr("Duplicate GPU detected : rank 0 and rank 1 both on GPU"));
  }
  for (const Status& status : connect_two(options, 1)) EXPECT_TRUE(status.ok()) << status.message();
}

/// Forks before it uses a GPU itself.
TEST(LocalGpuProcesses, MayBeForOneRankAlone) {
  const RootProcess root;
  const UniqueId id = root.id();
  Processes all(2, [&](int rank, const Processes::Voice& voice) {
    Options options = device_options();
    options.shares_gpu = rank == 0;
    GpuSite site(options);
    const GpuRank gpu_rank(site, 1);
    Communicator communicator(site.runtime, IdOrigin{id, 2, rank}, Config());
    const Status status = communicator.connect();
    voice.say(fmt::format("{} {}", static_cast<int>(status.code()), status.message()));
  });
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(all.line(rank), AllOf(HasSubstr("5 Duplicate GPU detected : rank 0 and rank 1 both on GPU"),
                                      HasSubstr("NCCL_MULTI_RANK_GPU_ENABLE is 0 on rank 1")));
    EXPECT_TRUE(all.ended_well(rank));
  }
}

}  // namespace
}  // namespace weir::core
