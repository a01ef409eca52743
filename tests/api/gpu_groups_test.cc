// SPDX-License-Identifier: Apache-2.0
// Groups, streams and graphs on memory of a GPU.
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "tests/api/gpu.h"
#include "weir/stream.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kSameGpu[3] = {0, 0, 0};

class GpuGroups : public UsesGpu {};
class GpuGraphs : public UsesGpu {};
class GpuRefusals : public UsesGpu {};
class GpuMemoryCalls : public UsesGpu {};

TEST_F(GpuGroups, SeveralStreamsOfOneCommunicatorWaitForTheGroup) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const GpuStream first, second;
    const OnGpu<int> a(100), b(100), c(200);
    for (int round = 0; round < 3; ++round) {
      a.fill(first, [=](size_t) { return rank + round; });
      b.fill(second, [=](size_t) { return 10 + rank; });
      ncclGroupStart();
      ncclAllReduce(a.data(), a.data(), 100, ncclInt, ncclSum, comm, first);
      ncclAllGather(b.data(), c.data(), 100, ncclInt, comm, second);
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
      EXPECT_EQ(wrong(a.read(first), [=](size_t) { return 1 + 2 * round; }), "");
      EXPECT_EQ(wrong(c.read(second), [](size_t i) { return i < 100 ? 10 : 11; }), "");
    }
  });
}

TEST_F(GpuGroups, AllRanksInOneThreadOnOneStream) {
  ncclComm_t comms[kRanks] = {};
  ASSERT_EQ(ncclCommInitAll(comms, kRanks, kSameGpu), ncclSuccess) << last_sentence();
  const OnGpu<int> zero(50), one(50), two(50);
  const OnGpu<int>* const data[kRanks] = {&zero, &one, &two};
  const GpuStream own;
  for (const cudaStream_t stream : {static_cast<cudaStream_t>(own), cudaStream_t{nullptr}}) {
    for (int rank = 0; rank < kRanks; ++rank) data[rank]->fill(stream, [=](size_t i) { return rank + i; });
    ncclGroupStart();
    for (int rank = 0; rank < kRanks; ++rank)
      ncclAllReduce(data[rank]->data(), data[rank]->data(), 50, ncclInt, ncclSum, comms[rank], stream);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    for (const auto* own_data : data)
      EXPECT_EQ(wrong(own_data->read(stream), [](size_t i) { return 3 + 3 * i; }), "");
  }
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST_F(GpuGroups, HostMemoryAndMemoryOfTheGpuInOneCommunicator) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    // Rank 1 has all in host memory, and calls without a stream. The second one is cut.
    for (const size_t count : {size_t{10}, size_t{3'000'000}}) {
      const OnGpu<int> device(count, rank + 1);
      std::vector<int> host(count, rank + 1);
      if (rank == 0) {
        EXPECT_EQ(ncclAllReduce(device.data(), device.data(), count, ncclInt, ncclSum, comm, own),
                  ncclSuccess);
        EXPECT_EQ(ncclSend(device.data(), count, ncclInt, 1, comm, own), ncclSuccess);
        EXPECT_EQ(wrong(device.read(own), [](size_t) { return 3; }), "");
      } else {
        EXPECT_EQ(ncclAllReduce(host.data(), host.data(), count, ncclInt, ncclSum, comm, nullptr),
                  ncclSuccess);
        EXPECT_EQ(wrong(host, [](size_t) { return 3; }), "");
        std::vector<int> received(count);
        EXPECT_EQ(ncclRecv(received.data(), count, ncclInt, 0, comm, nullptr), ncclSuccess);
        EXPECT_EQ(wrong(received, [](size_t) { return 3; }), "");
      }
    }
  });
}

TEST_F(GpuGroups, NonBlockingCommunicatorsAreDoneOnceItIsQueued) {
  on_threads(2, [](int rank, const ncclUniqueId& id) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, rank, &config), ncclInProgress);
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) ncclCommGetAsyncError(comm, &state);
    ASSERT_EQ(state, ncclSuccess);
    const GpuStream own;
    const OnGpu<int> data(10, rank);
    std::atomic<bool> open{false};
    gpu().run(static_cast<cudaStream_t>(own), [&] {
      while (!open.load()) std::this_thread::yield();
    });
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess);
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclSuccess) << "it is queued, though it has not begun";
    open = true;
    EXPECT_EQ(wrong(data.read(own), [](size_t) { return 1; }), "");
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST_F(GpuGraphs, ReplaysCarryOutAgainWhatWasCaptured) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    constexpr size_t kCount = 64;
    const OnGpu<int> in(kCount), out(kCount), blocks(2 * kCount), gathered(2 * kCount), received(kCount),
        outside(kCount, 5);
    const auto fill = [&](int round) {
      in.fill(own, [=](size_t i) { return rank * 1000 + round * 100 + static_cast<int>(i); });
      blocks.fill(own, [=](size_t i) { return rank * 1000 + round * 100 + static_cast<int>(i); });
    };
    gpu().begin_capture(static_cast<cudaStream_t>(own));
    EXPECT_EQ(ncclAllReduce(in.data(), out.data(), kCount, ncclInt, ncclSum, comm, own), ncclSuccess)
        << last_sentence();
    EXPECT_EQ(ncclAlltoAll(blocks.data(), gathered.data(), kCount, ncclInt, comm, own), ncclSuccess);
    ncclGroupStart();
    ncclSend(in.data(), kCount, ncclInt, 1 - rank, comm, own);
    ncclRecv(received.data(), kCount, ncclInt, 1 - rank, comm, own);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    const FakeGpu::Graph graph = gpu().end_capture(static_cast<cudaStream_t>(own));
    for (int round = 0; round < 4; ++round) {
      fill(round);
      gpu().launch(graph, static_cast<cudaStream_t>(own));
      // Beside the graph, and issued long before that has come to its end.
      EXPECT_EQ(ncclBroadcast(outside.data(), outside.data(), kCount, ncclInt, round % 2, comm, own),
                ncclSuccess);
      EXPECT_EQ(wrong(out.read(own), [=](size_t i) { return 1000 + 200 * round + 2 * static_cast<int>(i); }),
                "");
      EXPECT_EQ(wrong(gathered.read(own),
                      [=](size_t i) {
                        const int at = static_cast<int>(i % kCount) + rank * static_cast<int>(kCount);
                        return static_cast<int>(i / kCount) * 1000 + round * 100 + at;
                      }),
                "");
      EXPECT_EQ(wrong(received.read(own),
                      [=](size_t i) { return (1 - rank) * 1000 + round * 100 + static_cast<int>(i); }),
                "");
    }
  });
}

TEST_F(GpuGraphs, EveryCollectiveCanBeCaptured) {
  std::barrier captured(2);
  with_ranks(2, [&](ncclComm_t comm, int rank) {
    const GpuStream own;
    constexpr size_t kCount = 1'500'000;  // of ints: all are cut
    const OnGpu<int> in(2 * kCount), out(2 * kCount);
    const auto capture = [&](const std::function<ncclResult_t()>& call) {
      gpu().begin_capture(static_cast<cudaStream_t>(own));
      EXPECT_EQ(call(), ncclSuccess) << last_sentence();
      return gpu().end_capture(static_cast<cudaStream_t>(own));
    };
    const std::vector<FakeGpu::Graph> graphs = {
        capture([&] { return ncclReduce(in.data(), out.data(), kCount, ncclInt, ncclSum, 0, comm, own); }),
        capture([&] { return ncclBroadcast(in.data(), out.data(), kCount, ncclInt, 0, comm, own); }),
        capture([&] { return ncclAllGather(in.data(), out.data(), kCount, ncclInt, comm, own); }),
        capture(
            [&] { return ncclReduceScatter(in.data(), out.data(), kCount, ncclInt, ncclSum, comm, own); }),
        capture([&] { return ncclGather(in.data(), out.data(), kCount, ncclInt, 0, comm, own); }),
        capture([&] { return ncclScatter(in.data(), out.data(), kCount, ncclInt, 0, comm, own); }),
    };
    // The last element of the result on each rank; -1: none. Rank r, element i: r * 10 + i / kCount.
    const int expected[2][6] = {{10, 0, 10, 10, 10, 0}, {-1, 0, 10, 12, -1, 1}};
    const size_t sizes[6] = {kCount, kCount, 2 * kCount, kCount, 2 * kCount, kCount};
    captured.arrive_and_wait();
    const int64_t allocations = gpu().allocations();
    for (size_t g = 0; g < graphs.size(); ++g) {
      in.fill(own, [=](size_t i) { return rank * 10 + static_cast<int>(i / kCount); });
      out.fill(own, [](size_t) { return -1; });
      gpu().launch(graphs[g], static_cast<cudaStream_t>(own));
      EXPECT_EQ(out.read(own)[sizes[g] - 1], expected[rank][g]) << "graph " << g;
    }
    EXPECT_EQ(gpu().allocations(), allocations) << "a replay allocates nothing";
  });
}

TEST_F(GpuGraphs, OneThatOutlivesItsCommunicatorEnds) {
  FakeGpu::Graph graph;
  const GpuStream own;
  const OnGpu<int> data(10, 1);
  {
    const Alone comm;
    gpu().begin_capture(static_cast<cudaStream_t>(own));
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess);
    graph = gpu().end_capture(static_cast<cudaStream_t>(own));
    gpu().launch(graph, static_cast<cudaStream_t>(own));
    own.wait();
  }
  gpu().launch(graph, static_cast<cudaStream_t>(own));
  EXPECT_EQ(wrong(data.read(own), [](size_t) { return 1; }), "");
}

TEST_F(GpuGraphs, AGroupOfAllRanksOnOneStream) {
  ncclComm_t comms[2] = {};
  ASSERT_EQ(ncclCommInitAll(comms, 2, kSameGpu), ncclSuccess) << last_sentence();
  const GpuStream own;
  const OnGpu<int> zero(10), one(10);
  gpu().begin_capture(static_cast<cudaStream_t>(own));
  ncclGroupStart();
  ncclAllReduce(zero.data(), zero.data(), 10, ncclInt, ncclSum, comms[0], own);
  ncclAllReduce(one.data(), one.data(), 10, ncclInt, ncclSum, comms[1], own);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  const FakeGpu::Graph graph = gpu().end_capture(static_cast<cudaStream_t>(own));
  zero.fill(own, [](size_t) { return 1; });
  one.fill(own, [](size_t) { return 2; });
  for (int round = 0; round < 3; ++round) gpu().launch(graph, static_cast<cudaStream_t>(own));
  EXPECT_EQ(wrong(zero.read(own), [](size_t) { return 12; }), "");
  EXPECT_EQ(wrong(one.read(own), [](size_t) { return 12; }), "");
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

/// Captures a call on each of some streams, which no one launches.
void capture_on(ncclComm_t comm, const OnGpu<int>& data, std::initializer_list<const GpuStream*> own) {
  for (const GpuStream* stream : own) gpu().begin_capture(static_cast<cudaStream_t>(*stream));
  ncclGroupStart();
  for (const GpuStream* stream : own)
    ncclAllReduce(data.data(), data.data(), data.size(), ncclInt, ncclSum, comm, *stream);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  for (const GpuStream* stream : own) gpu().end_capture(static_cast<cudaStream_t>(*stream));
}

TEST_F(GpuGraphs, CallsBesideThemKeepTheirOrderAcrossStreams) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const GpuStream first, second;
    const OnGpu<int> small(10, 1), large(1000, 1);
    capture_on(comm, small, {&first, &second});
    for (int round = 0; round < 3; ++round) {
      if (rank == 1) {  // its second stream is free long before the first
        gpu().run(static_cast<cudaStream_t>(first),
                  [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
      }
      EXPECT_EQ(ncclAllReduce(small.data(), small.data(), 10, ncclInt, ncclSum, comm, first), ncclSuccess);
      EXPECT_EQ(ncclAllReduce(large.data(), large.data(), 1000, ncclInt, ncclSum, comm, second), ncclSuccess);
    }
    EXPECT_EQ(wrong(small.read(first), [](size_t) { return 8; }), "");
    EXPECT_EQ(wrong(large.read(second), [](size_t) { return 8; }), "");
  });
}

TEST_F(GpuGraphs, AbortDoesNotWaitForAStreamThatHangs) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  const GpuStream own;
  const OnGpu<int> data(10, 1);
  capture_on(comm, data, {&own});
  std::atomic<bool> open{false};
  gpu().run(static_cast<cudaStream_t>(own), [&] {
    while (!open.load()) std::this_thread::yield();
  });
  EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  open = true;
  EXPECT_EQ(wrong(data.read(own), [](size_t) { return 1; }), "");
}

TEST_F(GpuGroups, PartsOfASplitWorkOnTheGpuToo) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    ncclComm_t part = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, rank == 1 ? 1 : 0, rank, &part, nullptr), ncclSuccess) << last_sentence();
    const GpuStream own;
    const OnGpu<int> data(10, rank + 1);
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, part, own), ncclSuccess);
    EXPECT_EQ(wrong(data.read(own), [=](size_t) { return rank == 1 ? 2 : 4; }), "");
    EXPECT_EQ(ncclCommDestroy(part), ncclSuccess);
  });
}

TEST_F(GpuGroups, HostStreamsAndPlainCallsGoOnBesideTheGpu) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    weirStream_t host = nullptr;
    ASSERT_EQ(weirStreamCreate(&host), ncclSuccess);
    const OnGpu<int> device(10, rank + 1);
    std::vector<int> queued(10, rank + 1), plain(10, rank + 1);
    EXPECT_EQ(ncclAllReduce(device.data(), device.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(queued.data(), queued.data(), 10, ncclInt, ncclSum, comm,
                            reinterpret_cast<cudaStream_t>(host)),
              ncclSuccess);
    EXPECT_EQ(ncclAllReduce(plain.data(), plain.data(), 10, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(wrong(plain, [](size_t) { return 3; }), "");
    EXPECT_EQ(weirStreamSynchronize(host), ncclSuccess);
    EXPECT_EQ(wrong(queued, [](size_t) { return 3; }), "");
    EXPECT_EQ(wrong(device.read(own), [](size_t) { return 3; }), "");
    EXPECT_EQ(weirStreamDestroy(host), ncclSuccess);
  });
}

TEST_F(GpuGroups, AbortLetsTheStreamGoOn) {
  std::atomic<int> left{2};
  on_threads(2, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << last_sentence();
    const GpuStream own;
    const OnGpu<int> data(10, 1);
    if (rank == 0) {  // the other one never calls
      EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess);
      EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess);
    }
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    own.wait();
    --left;
    while (left.load() > 0) std::this_thread::yield();
  });
}

TEST_F(GpuGroups, AFailingGpuIsTheAsyncErrorOfTheCommunicator) {
  const Alone comm;
  const GpuStream own;
  const OnGpu<int> data(10, 1);
  gpu().break_copies(true);
  EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess);
  own.wait();
  gpu().break_copies(false);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclUnhandledCudaError);
  EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclUnhandledCudaError);
  EXPECT_THAT(last_sentence(), HasSubstr("copies fail"));
}

TEST_F(GpuRefusals, SayWhy) {
  const GpuStream own, foreign(other_gpu());
  const OnGpu<int> data(10, 1);
  int on_host = 1;
  const Alone comm;
  EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm,
                          reinterpret_cast<cudaStream_t>(&on_host)),
            ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("neither a stream of a GPU nor a host stream"));
  EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, foreign), ncclInvalidUsage);
  EXPECT_THAT(last_sentence(),
              AllOf(HasSubstr("rank 0 uses fake GPU 0"), HasSubstr("a stream of fake GPU 1")));
  weirStream_t host = nullptr;
  ASSERT_EQ(weirStreamCreate(&host), ncclSuccess);
  ncclGroupStart();
  ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own);
  ncclAllReduce(&on_host, &on_host, 1, ncclInt, ncclSum, comm, reinterpret_cast<cudaStream_t>(host));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_THAT(last_sentence(), HasSubstr("expected all on streams of the GPU, or none"));
  EXPECT_EQ(weirStreamDestroy(host), ncclSuccess);
  own.wait();
}

TEST_F(GpuRefusals, ACommunicatorFromBeforeTheProcessHadAGpu) {
  runtime().set_gpus(nullptr);
  const Alone comm;
  static FakeGpus gpus({&gpu()});
  runtime().set_gpus(&gpus);
  const GpuStream own;
  int value = 1;
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, own), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("after the process had chosen a GPU"));
}

TEST_F(GpuMemoryCalls, MemAllocGivesMemoryOfTheGpu) {
  void* memory = nullptr;
  ASSERT_EQ(ncclMemAlloc(&memory, 100), ncclSuccess);
  EXPECT_EQ(gpu().kind_of(memory), device::GpuMemory::device);
  const Alone comm;
  void* handle = &memory;
  EXPECT_EQ(ncclCommRegister(comm, memory, 100, &handle), ncclSuccess);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(ncclCommDeregister(comm, handle), ncclSuccess);
  ncclWindow_t window = nullptr;
  EXPECT_EQ(ncclCommWindowRegister(comm, memory, 100, &window, NCCL_WIN_COLL_SYMMETRIC), ncclSuccess);
  EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclSuccess);
  EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
  EXPECT_EQ(gpu().kind_of(memory), device::GpuMemory::host);
}

TEST_F(GpuMemoryCalls, PinnedMemoryIsGivenBackAndBounded) {
  const size_t before = gpu().held(device::GpuMemory::pinned);
  {
    const Alone comm;
    const GpuStream own;
    const OnGpu<char> data(20'000'000, 'a');
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), data.size(), ncclChar, ncclSum, comm, own),
              ncclSuccess);
    EXPECT_EQ(wrong(data.read(own), [](size_t) { return 'a'; }), "");
    EXPECT_LE(gpu().held(device::GpuMemory::pinned) - before, (size_t{12} << 20) + (64 << 10));
  }
  EXPECT_EQ(gpu().held(device::GpuMemory::pinned), before);
}

}  // namespace
}  // namespace weir::api
