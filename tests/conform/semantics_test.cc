// SPDX-License-Identifier: Apache-2.0
// What frameworks rely on beside results: the order of streams, scalars in memory, registered memory, who
// makes communicators and how they end. One definition for host memory and for GPUs, whichever way calls go
// there.
#include <future>
#include <memory>
#include <thread>

#include "tests/conform/collectives.h"
#include "tests/conform/team.h"

namespace weir::conform {
namespace {

constexpr size_t kCount = 1000;

std::vector<float> ramp(float first, size_t count = kCount) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i % 16);
  return values;
}
std::vector<float> times(float factor, std::vector<float> values) {
  for (float& value : values) value *= factor;
  return values;
}

ncclResult_t sum(const void* from, void* to, ncclComm_t comm, cudaStream_t stream, ncclRedOp_t op = ncclSum) {
  return ncclAllReduce(from, to, kCount, ncclFloat32, op, comm, stream);
}

TEST(StreamOrder, ResultsAreInputsWithoutTheHostWaiting) {
  with_comms({2}, [](ncclComm_t comm, int) {
    const Stream stream;
    const Buffer first(kCount * 4), second(kCount * 4);
    first.write(ramp(1), stream);
    for (int turn = 0; turn < 6; ++turn)  // there and back, six times twice as much
      ASSERT_EQ(failure(sum(turn % 2 == 0 ? first.data() : second.data(),
                            turn % 2 == 0 ? second.data() : first.data(), comm, stream)),
                "");
    EXPECT_EQ(first.read<float>(kCount, stream), times(64, ramp(1)));
  });
}

TEST(StreamOrder, SeveralStreamsOfOneCommunicator) {
  with_comms({2}, [](ncclComm_t comm, int rank) {
    const Stream streams[3];
    const Buffer in(kCount * 4);
    std::vector<std::unique_ptr<Buffer>> out;
    in.write(ramp(static_cast<float>(rank)), streams[0]);
    streams[0].wait();
    for (size_t turn = 0; turn < 9; ++turn) {
      out.push_back(std::make_unique<Buffer>(kCount * 4));
      const auto root = static_cast<int>(turn % 2);
      ASSERT_EQ(failure(ncclBroadcast(in.data(), out[turn]->data(), kCount, ncclFloat32, root, comm,
                                      streams[turn % 3])),
                "");
    }
    for (size_t turn = 0; turn < 9; ++turn)
      EXPECT_EQ(out[turn]->read<float>(kCount, streams[turn % 3]), ramp(static_cast<float>(turn % 2)))
          << turn;
  });
}

/// A GPU has one legacy default stream per process: ranks on threads would wait on it for each other.
TEST(StreamOrder, DefaultStreams) {
  with_comms({2, kOnGpus ? Way::processes : Way::threads}, [](ncclComm_t comm, int) {
    std::vector<cudaStream_t> streams = {nullptr};
    if (kOnGpus) {  // the legacy one and the thread's own by the runtimes' names for them
      streams.push_back(reinterpret_cast<cudaStream_t>(uintptr_t{1}));
      streams.push_back(reinterpret_cast<cudaStream_t>(uintptr_t{2}));
    }
    for (const cudaStream_t stream : streams) {
      const Buffer buffer(kCount * 4);
      buffer.write(ramp(3), stream);
      ASSERT_EQ(failure(sum(buffer.data(), buffer.data(), comm, stream)), "");
      EXPECT_EQ(buffer.read<float>(kCount, stream), times(2, ramp(3)));
    }
  });
}

TEST(StreamOrder, HostMemoryOnTheStreamOfAGpu) {
  // The library takes pinned memory for it, for which drivers may wait until the GPU has run the other rank's
  // kernel.
  if (gpus() == 1) GTEST_SKIP() << "needs a GPU per rank";
  with_comms({2}, [](ncclComm_t comm, int rank) {
    const Stream stream;
    const std::vector<float> in = ramp(static_cast<float>(rank));
    std::vector<float> out(kCount, -1);
    ASSERT_EQ(failure(sum(in.data(), out.data(), comm, stream)), "");
    stream.wait();
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], 1 + 2 * static_cast<float>(i % 16)) << i;
  });
}

TEST(Scalars, AreReadWhenTheStreamComesThere) {
  with_comms({2}, [](ncclComm_t comm, int rank) {
    const Stream stream;
    const Buffer scalar(4), in(kCount * 4), first(kCount * 4), second(kCount * 4);
    in.write(ramp(0), stream);
    scalar.write(std::vector<float>{static_cast<float>(2 + rank)}, stream);
    ncclRedOp_t op;
    const auto residence = kOnGpus ? ncclScalarDevice : ncclScalarHostImmediate;
    ASSERT_EQ(failure(ncclRedOpCreatePreMulSum(&op, scalar.data(), ncclFloat32, residence, comm)), "");
    ASSERT_EQ(failure(sum(in.data(), first.data(), comm, stream, op)), "");
    if (kOnGpus) scalar.write(std::vector<float>{10}, stream);
    ASSERT_EQ(failure(sum(in.data(), second.data(), comm, stream, op)), "");
    EXPECT_EQ(first.read<float>(kCount, stream), times(5, ramp(0)));
    EXPECT_EQ(second.read<float>(kCount, stream), times(kOnGpus ? 20 : 5, ramp(0)));
    EXPECT_EQ(failure(ncclRedOpDestroy(op, comm)), "");
  });
}

TEST(MemoryCalls, MemoryOfTheLibraryRegisteredAndInWindows) {
  with_comms({2}, [](ncclComm_t comm, int) {
    const Stream stream;
    void* memory = nullptr;
    ASSERT_EQ(failure(ncclMemAlloc(&memory, kCount * 4)), "");
    void* handle = nullptr;
    ASSERT_EQ(failure(ncclCommRegister(comm, memory, kCount * 4, &handle)), "");
    ncclWindow_t window = nullptr;
    ASSERT_EQ(failure(ncclCommWindowRegister(comm, memory, kCount * 4, &window, NCCL_WIN_COLL_SYMMETRIC)),
              "");
    const Buffer buffer(kCount * 4);
    buffer.write(ramp(5), stream);
    ASSERT_EQ(failure(sum(buffer.data(), memory, comm, stream)), "");
    ASSERT_EQ(failure(sum(memory, buffer.data(), comm, stream)), "");
    EXPECT_EQ(buffer.read<float>(kCount, stream), times(4, ramp(5)));
    EXPECT_EQ(failure(ncclCommWindowDeregister(comm, window)), "");
    EXPECT_EQ(failure(ncclCommDeregister(comm, handle)), "");
    EXPECT_EQ(failure(ncclMemFree(memory)), "");
  });
}

/// Until the communicator is no longer busy; what it says then.
ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    if (const ncclResult_t asked = ncclCommGetAsyncError(comm, &state); asked != ncclSuccess) return asked;
    std::this_thread::yield();
  }
  return state;
}
/// In progress is no failure of a call that does not block.
std::string begun(ncclResult_t result) { return result == ncclInProgress ? "" : failure(result); }

TEST(NonBlocking, CommunicatorsAreMadeUsedAndFinalized) {
  on_ranks({2}, [](int rank, const ncclUniqueId& id) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    ASSERT_EQ(begun(ncclCommInitRankConfig(&comm, 2, id, rank, &config)), "");
    ASSERT_EQ(settled(comm), ncclSuccess);
    {
      const Stream stream;
      const Buffer buffer(kCount * 4);
      buffer.write(ramp(1), stream);
      ASSERT_EQ(begun(sum(buffer.data(), buffer.data(), comm, stream)), "");
      ASSERT_EQ(settled(comm), ncclSuccess);
      EXPECT_EQ(buffer.read<float>(kCount, stream), times(2, ramp(1)));
      EXPECT_EQ(begun(ncclCommFinalize(comm)), "");
      EXPECT_EQ(settled(comm), ncclSuccess);
    }
    EXPECT_EQ(begun(ncclCommDestroy(comm)), "");
  });
}

TEST(Split, PartsInTheOrderOfKeysAndNobody) {
  with_comms({4}, [](ncclComm_t comm, int rank) {
    const int color = rank == 3 ? NCCL_SPLIT_NOCOLOR : 0;
    ncclComm_t part = nullptr;
    ASSERT_EQ(failure(ncclCommSplit(comm, color, -rank, &part, nullptr)), "");
    if (rank == 3) {
      EXPECT_EQ(part, nullptr);
      return;
    }
    int own = -1;
    ASSERT_EQ(failure(ncclCommUserRank(part, &own)), "");
    EXPECT_EQ(own, 2 - rank);
    const Stream stream;
    const Buffer in(4), out(12);
    in.write(std::vector<float>{static_cast<float>(rank)}, stream);
    ASSERT_EQ(failure(ncclAllGather(in.data(), out.data(), 1, ncclFloat32, part, stream)), "");
    EXPECT_EQ(out.read<float>(3, stream), (std::vector<float>{2, 1, 0}));
    EXPECT_EQ(failure(ncclCommDestroy(part)), "");
  });
}

TEST(OneThread, HasRanksOnAllDevices) {
  const int ranks = 3, devices = kOnGpus ? gpus() : 1;
  std::vector<int> list;
  for (int rank = 0; rank < ranks; ++rank) list.push_back((rank + 1) % devices);
  std::vector<ncclComm_t> comms(ranks);
  choose_gpu(0);
  ASSERT_EQ(failure(ncclCommInitAll(comms.data(), ranks, list.data())), "");
  if (kOnGpus) {
    int current = -1;
    EXPECT_EQ(runtime("GetDevice", &current), 0);
    EXPECT_EQ(current, 0) << "the caller's GPU is as before";
  }
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (size_t rank = 0; rank < comms.size(); ++rank) {
    choose_gpu(list[rank]);
    int device = -1;
    EXPECT_EQ(failure(ncclCommCuDevice(comms[rank], &device)), "");
    if (kOnGpus) {
      EXPECT_EQ(device, list[rank]);
    }
    streams.push_back(std::make_unique<Stream>());
    buffers.push_back(std::make_unique<Buffer>(kCount * 4));
    buffers[rank]->write(ramp(static_cast<float>(rank)), *streams[rank]);
  }
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(failure(ncclGroupStart()), "");
    for (size_t rank = 0; rank < comms.size(); ++rank)
      EXPECT_EQ(failure(sum(buffers[rank]->data(), buffers[rank]->data(), comms[rank], *streams[rank])), "");
    ASSERT_EQ(failure(ncclGroupEnd()), "");
  }
  for (size_t rank = 0; rank < comms.size(); ++rank) {
    choose_gpu(list[rank]);
    EXPECT_EQ(buffers[rank]->read<float>(kCount, *streams[rank]), times(9, ramp(1)));
    buffers[rank] = nullptr;
    streams[rank] = nullptr;
  }
  for (const ncclComm_t comm : comms) EXPECT_EQ(failure(ncclCommDestroy(comm)), "");
}

TEST(Abort, EndsACallThatWaitsForAPeer) {
  std::promise<void> called, aborted;
  on_ranks({2}, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(failure(ncclCommInitRank(&comm, 2, id, rank)), "");
    if (rank == 1) {  // never comes
      aborted.get_future().wait();
      EXPECT_EQ(failure(ncclCommAbort(comm)), "");
      return;
    }
    const Stream stream;
    const Buffer buffer(kCount * 4);
    std::thread other([&] {
      called.get_future().wait();
      EXPECT_EQ(failure(ncclCommAbort(comm)), "");
      aborted.set_value();
    });
    EXPECT_EQ(failure(sum(buffer.data(), buffer.data(), comm, stream)), "");
    called.set_value();
    stream.wait();  // ends
    other.join();
  });
}

#if defined(WEIR_CONFORM_CUDA) || defined(WEIR_CONFORM_HIP)
TEST(Captures, TakeNoMemoryOfTheGpuAndRunInTheStreamsOrder) {
  with_comms({2, Way::processes}, [](ncclComm_t comm, int) {
    const Stream stream;
    const Buffer buffer(kCount * 4);
    size_t before = 0, after = 0, all = 0;
    // What capturing needs was found when the communicator was made, or by the first call.
    ASSERT_EQ(failure(sum(buffer.data(), buffer.data(), comm, stream)), "");
    stream.wait();
    EXPECT_EQ(runtime("MemGetInfo", &before, &all), 0);
    Graph::begin(stream);
    ASSERT_EQ(failure(sum(buffer.data(), buffer.data(), comm, stream)), "");
    ASSERT_EQ(failure(sum(buffer.data(), buffer.data(), comm, stream)), "");
    const Graph graph(stream);
    EXPECT_EQ(runtime("MemGetInfo", &after, &all), 0);
    EXPECT_EQ(before, after);
    buffer.write(ramp(1), stream);
    graph.launch(stream);
    ASSERT_EQ(failure(sum(buffer.data(), buffer.data(), comm, stream)), "");
    graph.launch(stream);
    EXPECT_EQ(buffer.read<float>(kCount, stream), times(32, ramp(1)));
  });
}
#endif

}  // namespace
}  // namespace weir::conform
