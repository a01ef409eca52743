// SPDX-License-Identifier: Apache-2.0
// Staged by itself: what it asks of a GPU and of the thread that carries operations out, for a communicator
// of one rank whose operations are a copy.
#include "src/core/staged/staged_launch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "src/core/staged/staged.h"
#include "tests/device/fake_gpu.h"

namespace weir::core {
namespace {

using device::GpuMemory;
using weir::testing::FakeGpu;
using weir::testing::FakeGpus;
using weir::testing::gpu;

/// What a communicator does around Staged.
class OneRank {
 public:
  OneRank() {
    Staged::Dependencies dependencies;
    dependencies.gpus = &gpus_;
    dependencies.gpu = &gpu();
    dependencies.aborted = &aborted_;
    dependencies.run = [this](std::span<const Operation> operations) {
      for (const Operation& operation : operations) {
        ++runs_;
        if (fails_) return Status(Code::remote_error, "rank 1 has died");
        std::memmove(output_of(operation), input_of(operation), bytes_of(operation));
      }
      return Status();
    };
    staged_ = std::make_unique<Staged>(dependencies);
  }
  ~OneRank() { staged_->stop(); }

  Status call(const Operation& operation, device::GpuStream stream) {
    const StreamPlace place{nullptr, true, stream};
    auto launch = staged_->prepare({&operation, 1}, {&place, 1});
    WEIR_TRY(launch.status());
    (*launch)->submit = [this](std::shared_ptr<StagedLaunch> own) { submit(std::move(own)); };
    staged_->begin(*launch);
    if (!(*launch)->calls_back) submit(*launch);
    while (!(*launch)->ended) staged_->follow(**launch);
    return {};
  }
  void abort() { aborted_.store(true); }
  void fail() { fails_ = true; }
  int runs() const { return runs_.load(); }
  void wait_idle() const { staged_->wait_idle(); }

 private:
  void submit(std::shared_ptr<StagedLaunch> launch) {
    staged_->thread().submit([this, own = std::move(launch)] {
      const Status status = staged_->carry_out(*own);
      own->finish(status.ok());
      staged_->leave(*own);
      return status;
    });
  }

  FakeGpus gpus_{{&gpu()}};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> fails_{false};
  std::atomic<int> runs_{0};
  std::unique_ptr<Staged> staged_;
};

/// Elements in memory of the GPU, and a stream.
struct Bench {
  explicit Bench(size_t elements) : count(elements) {
    from = static_cast<int*>(*gpu().allocate(count * sizeof(int), GpuMemory::device));
    to = static_cast<int*>(*gpu().allocate(count * sizeof(int), GpuMemory::device));
  }
  ~Bench() {
    EXPECT_TRUE(gpu().destroy_stream(stream).ok());
    EXPECT_TRUE(gpu().free(from, GpuMemory::device).ok());
    EXPECT_TRUE(gpu().free(to, GpuMemory::device).ok());
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Operation operation() const {
    return CollectiveOp{.type = DataType::int32, .input = from, .output = to, .count = count};
  }
  void fill(int value) {
    gpu().run(stream, [=, at = gpu().inside(from), n = count] { std::fill_n(at, n, value); });
  }
  /// The last element of the result, when the stream has come so far.
  int last() {
    EXPECT_TRUE(gpu().synchronize(stream).ok());
    return gpu().inside(to)[count - 1];
  }

  const size_t count;
  int* from = nullptr;
  int* to = nullptr;
  const device::GpuStream stream = *gpu().make_stream();
};

TEST(StagedLaunch, EachCallSeesWhatTheStreamHadWritten) {
  Bench bench(3'000'000);
  OneRank rank;
  for (int value = 1; value <= 3; ++value) {
    bench.fill(value);
    ASSERT_TRUE(rank.call(bench.operation(), bench.stream).ok());
    EXPECT_EQ(bench.last(), value);
  }
  EXPECT_EQ(rank.runs(), 3 * 3) << "in pieces of 4 MiB";
}

TEST(StagedLaunch, ManyCallsQueueUp) {
  Bench bench(10);
  OneRank rank;
  for (int value = 1; value <= 100; ++value) {
    bench.fill(value);
    ASSERT_TRUE(rank.call(bench.operation(), bench.stream).ok());
  }
  EXPECT_EQ(bench.last(), 100);
  rank.wait_idle();
  EXPECT_EQ(rank.runs(), 100);
}

TEST(StagedLaunch, GraphsAndCallsBesideThemTakeTurns) {
  Bench bench(10);
  OneRank rank;
  ASSERT_TRUE(rank.call(bench.operation(), bench.stream).ok());  // has memory of its own
  EXPECT_TRUE(gpu().synchronize(bench.stream).ok());
  gpu().begin_capture(bench.stream);
  ASSERT_TRUE(rank.call(bench.operation(), bench.stream).ok());
  const FakeGpu::Graph graph = gpu().end_capture(bench.stream);
  EXPECT_EQ(rank.runs(), 1);
  const int64_t before = gpu().allocations();
  for (int value = 1; value <= 20; ++value) {
    bench.fill(value);
    gpu().launch(graph, bench.stream);
    if (value % 2 == 0) {
      ASSERT_TRUE(rank.call(bench.operation(), bench.stream).ok());
    }
    if (value % 7 == 0) {
      EXPECT_EQ(bench.last(), value);
    }
  }
  EXPECT_EQ(bench.last(), 20);
  rank.wait_idle();
  EXPECT_EQ(rank.runs(), 31);
  EXPECT_EQ(gpu().allocations(), before);
}

TEST(StagedLaunch, StreamsGoOnAfterErrors) {
  Bench bench(10);
  OneRank rank;
  rank.fail();
  bench.fill(1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(rank.call(bench.operation(), bench.stream).ok());
  EXPECT_TRUE(gpu().synchronize(bench.stream).ok());
  rank.wait_idle();
  EXPECT_EQ(rank.runs(), 3);
}

TEST(StagedLaunch, AnAbortEndsWhatHasNotBegun) {
  Bench bench(10);
  std::atomic<bool> open{false};
  gpu().run(bench.stream, [&] {
    while (!open.load()) std::this_thread::yield();
  });
  {
    OneRank rank;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(rank.call(bench.operation(), bench.stream).ok());
    rank.abort();
    rank.wait_idle();
    EXPECT_EQ(rank.runs(), 0);
  }
  open = true;  // the stream meets flags and memory that outlive the communicator
  EXPECT_TRUE(gpu().synchronize(bench.stream).ok());
}

TEST(StagedLaunch, AGraphThatComesTooLateEnds) {
  Bench bench(10);
  FakeGpu::Graph graph;
  {
    OneRank rank;
    gpu().begin_capture(bench.stream);
    ASSERT_TRUE(rank.call(bench.operation(), bench.stream).ok());
    graph = gpu().end_capture(bench.stream);
  }
  bench.fill(1);
  gpu().launch(graph, bench.stream);
  EXPECT_TRUE(gpu().synchronize(bench.stream).ok());
}

}  // namespace
}  // namespace weir::core
