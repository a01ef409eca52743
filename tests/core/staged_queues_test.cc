// SPDX-License-Identifier: Apache-2.0
// Staged calls where all streams of a process share one hardware queue of a GPU, which is served in the order
// of submission: nothing may be behind a wait that needs it.
#include <gmock/gmock.h>

#include "tests/core/device_collectives.h"
#include "tests/core/rank.h"

namespace weir::core {
namespace {

using testing::Processes;
using testing::RootProcess;

constexpr size_t kMessagesPerPair = 2;  // of each rank to each rank, itself included

class StagedQueues : public ::testing::Test {
 protected:
  StagedQueues() {
    setenv("WEIR_FAKE_GPU_QUEUES", "1", 1);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  }
  ~StagedQueues() override {
    unsetenv("WEIR_FAKE_GPU_QUEUES");
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
  }
  static Options options() {
    Options options = device_options();
    options.gpu_path = "staged";
    return options;
  }
};

Operation message(bool sends, int peer, int* data, size_t count) {
  return sends ? send(data, count, peer) : receive(data, count, peer);
}

/// Messages between all ranks and an all-reduce, in one call.
class Exchange {
 public:
  Exchange(Communicator& communicator, const GpuRank& gpu_rank, size_t count, size_t sums)
      : communicator_(communicator),
        ranks_(static_cast<size_t>(communicator.size())),
        count_(count),
        in_(gpu_rank, ranks_ * kMessagesPerPair * count),
        out_(gpu_rank, in_.size()),
        sum_(gpu_rank, sums) {}

  void fill(int round) {
    const int rank = communicator_.rank();
    in_.fill(in_.size(), [&](size_t i) { return put(rank, i / count_, i % count_) + round; });
    out_.fill(out_.size(), [](size_t) { return -1; });
    sum_.fill(sum_.size(), [&](size_t i) { return put(rank, 0, i) + round; });
  }
  Status call(const StreamPlace& place) {
    std::vector<Operation> all;
    for (size_t block = 0; block < ranks_ * kMessagesPerPair; ++block) {
      const int peer = static_cast<int>(block / kMessagesPerPair);
      all.push_back(message(true, peer, in_.data() + block * count_, count_));
      all.push_back(message(false, peer, out_.data() + block * count_, count_));
    }
    all.push_back(operation(Collective::all_reduce, sum_.data(), sum_.data(), sum_.size()));
    return communicator_.run(all, place);
  }
  /// REQUIRES: the call is done.
  void check(int round) {
    const int ranks = communicator_.size();
    const size_t own = static_cast<size_t>(communicator_.rank()) * kMessagesPerPair;
    const std::vector<int>& got = out_.read(out_.size());
    for (size_t block = 0; block < ranks_ * kMessagesPerPair; ++block)
      for (const size_t i : {size_t{0}, count_ / 2, count_ - 1})
        ASSERT_EQ(got[block * count_ + i],
                  put(static_cast<int>(block / kMessagesPerPair), own + block % kMessagesPerPair, i) + round)
            << "message " << block << ", element " << i;
    const std::vector<int>& sums = sum_.read(sum_.size());
    for (const size_t i : {size_t{0}, sums.size() - 1})
      ASSERT_EQ(sums[i], put_sum(ranks, 0, i) + ranks * round);
  }

 private:
  Communicator& communicator_;
  const size_t ranks_;
  const size_t count_;
  Elements in_;
  Elements out_;
  Elements sum_;
};

/// On two streams and the default one, none waited for before the last.
void exchange_on_streams(Communicator& communicator, GpuRank& gpu_rank) {
  const device::GpuStream second = device::user_stream(1);
  constexpr size_t kPieces = 1'100'000;  // of ints: two
  for (const size_t count : {size_t{5}, size_t{20'000}}) {
    Exchange first(communicator, gpu_rank, count, count == 5 ? kPieces : 5),
        other(communicator, gpu_rank, count, 10), plain(communicator, gpu_rank, 30, count);
    for (Exchange* const one : {&first, &other, &plain}) one->fill(0);
    EXPECT_TRUE(first.call(gpu_rank.place()).ok());
    EXPECT_TRUE(other.call({nullptr, true, second}).ok());
    EXPECT_TRUE(plain.call({nullptr, true, nullptr}).ok());
    EXPECT_TRUE(gpu_rank.gpu.synchronize(second).ok());
    EXPECT_TRUE(gpu_rank.gpu.synchronize(nullptr).ok());
    for (Exchange* const one : {&first, &other, &plain}) one->check(0);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(device::user("StreamDestroy", second), 0);
}

void replay_graph(Communicator& communicator, GpuRank& gpu_rank) {
  Exchange captured(communicator, gpu_rank, 5'000, 100), beside(communicator, gpu_rank, 100, 5'000);
  constexpr int kThread = 1;
  EXPECT_EQ(device::user("StreamBeginCapture", gpu_rank.stream, kThread), 0);
  EXPECT_TRUE(captured.call(gpu_rank.place()).ok());
  device::UserGraph graph(gpu_rank.stream);
  for (int round = 0; round < 3; ++round) {
    captured.fill(round);
    beside.fill(round);
    graph.launch(gpu_rank.stream);
    EXPECT_TRUE(beside.call(gpu_rank.place()).ok());
    captured.check(round);
    beside.check(round);
  }
}

TEST_F(StagedQueues, ThreadsOfOneGpu) {
  for (const int ranks : {2, 3}) {
    GpuSite site(options());
    with_device_ranks(site, ranks, {0}, [](Communicator& communicator, int, GpuRank& gpu_rank) {
      exchange_on_streams(communicator, gpu_rank);
    });
  }
}

TEST_F(StagedQueues, ProcessesOfOneGpuAndTheirGraphs) {
  const RootProcess root;
  const UniqueId id = root.id();
  Processes all(2, [&](int rank, const Processes::Voice& voice) {
    GpuSite site(options());
    with_own_device_ranks(site, id, 2, {rank}, {0}, [](Communicator& communicator, int, GpuRank& gpu_rank) {
      exchange_on_streams(communicator, gpu_rank);
      replay_graph(communicator, gpu_rank);
    });
    voice.say(::testing::Test::HasFailure() ? "failed" : "went well");
  });
  for (const int rank : {0, 1}) {
    EXPECT_EQ(all.line(rank), "went well");
    EXPECT_TRUE(all.ended_well(rank));
  }
}

/// One thread has both ranks, in a group: nothing says that there is one queue alone, and no call waits.
TEST_F(StagedQueues, AGroupOfRanksOfOneThread) {
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
  GpuSite site(options());
  const UniqueId id = *site.runtime.make_unique_id();
  constexpr size_t kCount = 2'200'000;  // in three pieces
  GpuRank gpu_ranks[2] = {{site, 0}, {site, 0}};
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < 2; ++rank)
    communicators.push_back(std::make_unique<Communicator>(site.runtime, IdOrigin{id, 2, rank}, Config()));
  std::thread other([&] { EXPECT_TRUE(communicators[1]->connect().ok()); });
  EXPECT_TRUE(communicators[0]->connect().ok());
  other.join();
  Elements data[2] = {{gpu_ranks[0], kCount}, {gpu_ranks[1], kCount}};
  std::vector<Target> targets;
  std::vector<Operation> operations;
  for (int rank = 0; rank < 2; ++rank) {
    data[rank].fill(kCount, [&](size_t i) { return put(rank, 0, i); });
    targets.push_back({communicators[static_cast<size_t>(rank)].get(), gpu_ranks[rank].place()});
    operations.push_back(operation(Collective::all_reduce, data[rank].data(), data[rank].data(), kCount));
  }
  EXPECT_TRUE(launch_group(targets, operations).ok());
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<int>& got = data[rank].read(kCount);
    for (size_t i = 0; i < kCount; i += 1001) ASSERT_EQ(got[i], put_sum(2, 0, i));
  }
}

}  // namespace
}  // namespace weir::core
