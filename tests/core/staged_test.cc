// SPDX-License-Identifier: Apache-2.0
// Communicators whose ranks are on a GPU and on hosts that have none.
#include "src/core/staged/staged.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "tests/device/fake_gpu.h"

namespace weir::core {
namespace {

using weir::testing::FakeGpus;
using weir::testing::gpu;

constexpr int kStagedRanks = 3;

Options options() {
  Options options = Options::from_environment();
  options.calibration = false;
  return options;
}

/// A host with a GPU and one without: runtimes are what processes are otherwise.
struct Machines {
  Machines() { with_gpu.set_gpus(&gpus); }
  Runtime& of(int rank) { return rank == 1 ? with_gpu : without; }

  FakeGpus gpus{{&gpu()}};
  Runtime with_gpu{options()};
  Runtime without{options()};
};

/// Memory of a rank: of the GPU where it has one.
class Numbers {
 public:
  Numbers(size_t count, bool on_gpu) : count_(count), on_gpu_(on_gpu) {
    if (on_gpu) {
      data_ = static_cast<int*>(*gpu().allocate(count * sizeof(int), device::GpuMemory::device));
    } else {
      host_.resize(count);
      data_ = host_.data();
    }
  }
  ~Numbers() {
    if (on_gpu_) {
      EXPECT_TRUE(gpu().free(data_, device::GpuMemory::device).ok());
    }
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  int* data() { return data_; }
  /// Where the test may look. REQUIRES: nothing is under way.
  int* seen() { return on_gpu_ ? gpu().inside(data_) : data_; }
  size_t size() const { return count_; }

 private:
  const size_t count_;
  const bool on_gpu_;
  std::vector<int> host_;
  int* data_ = nullptr;
};

/// act(communicator, rank, place) on a thread per rank; rank 1 is on the GPU.
template <typename Act>
void with_ranks(Act act) {
  Machines machines;
  const auto id = machines.without.make_unique_id();
  ASSERT_TRUE(id.ok()) << id.status().message();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kStagedRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Communicator communicator(machines.of(rank), IdOrigin{*id, kStagedRanks, rank}, Config());
      const Status connected = communicator.connect();
      ASSERT_TRUE(connected.ok()) << connected.message();
      EXPECT_EQ(communicator.gpus() != nullptr, rank == 1);
      const device::GpuStream stream = *gpu().make_stream();
      act(communicator, rank, rank == 1 ? StreamPlace{nullptr, true, stream} : StreamPlace{});
      EXPECT_TRUE(communicator.finalize().ok());
      EXPECT_TRUE(gpu().destroy_stream(stream).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class Mixed : public ::testing::TestWithParam<size_t> {};

TEST_P(Mixed, WholeAndBlockwiseCollectives) {
  const size_t count = GetParam();
  with_ranks([count](Communicator& communicator, int rank, const StreamPlace& place) {
    const bool on_gpu = rank == 1;
    Numbers in(kStagedRanks * count, on_gpu), out(kStagedRanks * count, on_gpu);
    // Block b, element i: 100 b + 10 rank + i % 7.
    for (size_t i = 0; i < in.size(); ++i)
      in.seen()[i] = static_cast<int>(i / count * 100 + i % count % 7) + 10 * rank;
    const auto run = [&](Collective kind) {
      const Operation operation = CollectiveOp{.kind = kind,
                                               .root = 2,
                                               .type = DataType::int32,
                                               .input = in.data(),
                                               .output = out.data(),
                                               .count = count};
      const Status status = communicator.run({&operation, 1}, place);
      EXPECT_TRUE(status.ok()) << status.message();
      if (place.on_gpu) {
        EXPECT_TRUE(gpu().synchronize(place.gpu).ok());
      }
    };
    const auto at = [&](size_t block, size_t i) { return out.seen()[block * count + i]; };
    const size_t probes[] = {0, count / 2, count - 1};
    const auto base = [](size_t i) { return static_cast<int>(i % 7); };
    run(Collective::all_reduce);
    for (const size_t i : probes) EXPECT_EQ(at(0, i), 30 + 3 * base(i));
    run(Collective::all_gather);
    for (const size_t i : probes)
      for (int block = 0; block < kStagedRanks; ++block)
        EXPECT_EQ(at(static_cast<size_t>(block), i), 10 * block + base(i));
    run(Collective::reduce_scatter);
    for (const size_t i : probes) EXPECT_EQ(at(0, i), 300 * rank + 30 + 3 * base(i));
    run(Collective::all_to_all);
    for (const size_t i : probes)
      for (int block = 0; block < kStagedRanks; ++block)
        EXPECT_EQ(at(static_cast<size_t>(block), i), 100 * rank + 10 * block + base(i));
    run(Collective::scatter);
    for (const size_t i : probes) EXPECT_EQ(at(0, i), 100 * rank + 20 + base(i));
    run(Collective::broadcast);
    for (const size_t i : probes) EXPECT_EQ(at(0, i), 20 + base(i));
    run(Collective::gather);
    for (const size_t i : probes)
      for (int block = 0; rank == 2 && block < kStagedRanks; ++block)
        EXPECT_EQ(at(static_cast<size_t>(block), i), 10 * block + base(i));
  });
}

// In one piece; in several on every rank, whatever its memory.
INSTANTIATE_TEST_SUITE_P(Staged, Mixed, ::testing::Values(size_t{100}, size_t{1'200'000}));

TEST(Staged, HostStreamsOfACommunicatorThatIsCutKeepTheirOrder) {
  with_ranks([](Communicator& communicator, int rank, const StreamPlace& place) {
    auto stream = std::move(*device::HostStream::create());
    const StreamPlace own = rank == 1 ? place : StreamPlace{stream.get()};
    const size_t count = 2'000'000;
    Numbers data(count, rank == 1);
    std::fill_n(data.seen(), count, 1);
    const Operation operation =
        CollectiveOp{.type = DataType::int32, .input = data.data(), .output = data.data(), .count = count};
    for (int round = 0; round < 2; ++round) EXPECT_TRUE(communicator.run({&operation, 1}, own).ok());
    EXPECT_TRUE(rank == 1 ? gpu().synchronize(own.gpu).ok() : stream->synchronize().ok());
    EXPECT_EQ(data.seen()[0], kStagedRanks * kStagedRanks);
    EXPECT_EQ(data.seen()[count - 1], kStagedRanks * kStagedRanks);
  });
}

}  // namespace
}  // namespace weir::core
