// SPDX-License-Identifier: Apache-2.0
// Gpu and captures into graphs, over the stand-in of a driver. Compiled for CUDA and for HIP.
#include <gmock/gmock.h>

#include <thread>

#include "src/device/gpu_sharing.h"
#include "tests/device/gpu_user.h"

namespace weir::device {
namespace {

using ::testing::HasSubstr;

constexpr int kGlobal = 0, kThreadLocal = 1, kRelaxed = 2;
constexpr int kUnsupported = 900, kInvalidated = 901, kUnmatched = 903, kUnjoined = 904, kIsolation = 905,
              kWrongThread = 908;

class GpuGraph : public GpuTest {
 protected:
  void capture(GpuStream stream, int mode = kGlobal) {
    ASSERT_EQ(user("StreamBeginCapture", stream, mode), 0);
    auto captures = gpu_->captures(stream);
    ASSERT_TRUE(captures.ok()) << captures.status().message();
    EXPECT_TRUE(*captures);
  }
};

TEST_F(GpuGraph, WhatIsCapturedRunsAtEachLaunch) {
  const GpuStream stream = user_stream();
  EXPECT_FALSE(*gpu_->captures(stream));
  const GpuFlag begin = flag(), end = flag();
  int* const device = made<int>(1, GpuMemory::device);
  int* const in = made<int>(1, GpuMemory::pinned);
  int* const out = made<int>(1, GpuMemory::pinned);
  std::atomic<int> calls{0};
  capture(stream);
  EXPECT_TRUE(gpu_->call([](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls, stream).ok());
  EXPECT_TRUE(gpu_->await(begin, 1, stream).ok());
  EXPECT_TRUE(gpu_->copy(device, in, 4, stream).ok());
  EXPECT_TRUE(gpu_->copy(out, device, 4, stream).ok());
  EXPECT_TRUE(gpu_->set(end, 1, stream).ok());
  UserGraph graph(stream);
  ASSERT_EQ(graph.code(), 0);
  EXPECT_FALSE(*gpu_->captures(stream));
  EXPECT_EQ(calls, 0) << "nothing ran";
  for (int round = 1; round <= 3; ++round) {
    *in = 10 * round;
    begin.host->store(0);
    end.host->store(0);
    graph.launch(stream);
    while (calls != round) std::this_thread::yield();
    EXPECT_EQ(*end.host, 0u) << "it waits for the flag";
    begin.host->store(1);
    EXPECT_TRUE(gpu_->synchronize(stream).ok());
    EXPECT_EQ(*end.host, 1u);
    EXPECT_EQ(*out, 10 * round);
  }
}

TEST_F(GpuGraph, TheLibraryMayAllocateWhileAnybodyCaptures) {
  const GpuStream stream = user_stream();
  capture(stream);
  void* const memory = made<char>(64, GpuMemory::device);
  const GpuFlag word = flag();
  const GpuStream own = own_stream();
  EXPECT_TRUE(gpu_->set(word, 3, own).ok());
  EXPECT_TRUE(gpu_->synchronize(own).ok());
  EXPECT_EQ(*word.host, 3u) << "its own streams are not captured";
  EXPECT_TRUE(gpu_->free(memory, GpuMemory::device).ok());
  std::thread([&] { made<char>(64, GpuMemory::pinned); }).join();
  EXPECT_EQ(UserGraph(stream).code(), 0) << "the capture is whole";
}

TEST_F(GpuGraph, AllocationOfTheProgramSpoilsIts) {
  const GpuStream stream = user_stream();
  void* memory = nullptr;
  capture(stream, kGlobal);
  EXPECT_EQ(user("Malloc", &memory, size_t{64}), kUnsupported);
  EXPECT_EQ(UserGraph(stream).code(), kInvalidated);
  capture(stream, kGlobal);
  std::thread([&] { EXPECT_EQ(user("Malloc", &memory, size_t{64}), kUnsupported); }).join();
  EXPECT_EQ(UserGraph(stream).code(), kInvalidated) << "by another thread";
  capture(stream, kThreadLocal);
  std::thread([&] { EXPECT_EQ(user("Malloc", &memory, size_t{64}), 0); }).join();
  EXPECT_EQ(UserGraph(stream).code(), 0);
  capture(stream, kThreadLocal);
  EXPECT_EQ(user("Malloc", &memory, size_t{64}), kUnsupported);
  EXPECT_EQ(UserGraph(stream).code(), kInvalidated);
  capture(stream, kRelaxed);
  EXPECT_EQ(user("Malloc", &memory, size_t{64}), 0);
  EXPECT_EQ(UserGraph(stream).code(), 0);
}

TEST_F(GpuGraph, WaitingForACapturedStreamSpoilsIt) {
  const GpuStream stream = user_stream();
  capture(stream, kRelaxed);
  const Status waited = gpu_->synchronize(stream);
  EXPECT_EQ(waited.code(), Code::system_error);
  EXPECT_THAT(waited.message(), HasSubstr("operation not permitted when stream is capturing"));
  EXPECT_FALSE(gpu_->call([](void*) {}, nullptr, stream).ok()) << "it is spoilt";
  EXPECT_EQ(UserGraph(stream).code(), kInvalidated);
}

TEST_F(GpuGraph, TheDefaultStreamAndABlockingOneThatIsCaptured) {
  const GpuStream stream = user_stream(), free_one = user_stream(1);
  EXPECT_EQ(user("StreamBeginCapture", static_cast<GpuStream>(nullptr), kGlobal), kUnsupported);
  const GpuFlag word = flag();
  capture(stream);
  EXPECT_THAT(gpu_->captures(nullptr).status().message(), HasSubstr("legacy"));
  EXPECT_THAT(gpu_->set(word, 1, nullptr).message(), HasSubstr("legacy"));
  EXPECT_EQ(UserGraph(stream).code(), kIsHip ? 0 : kInvalidated) << "over HIP it was asked for first";
  capture(free_one);
  EXPECT_TRUE(gpu_->set(word, 1, nullptr).ok()) << "a stream that does not block is none of its business";
  EXPECT_EQ(UserGraph(free_one).code(), 0);
}

TEST_F(GpuGraph, EventsBringOtherStreamsIn) {
  const GpuStream stream = user_stream(), other = user_stream();
  const GpuFlag first = flag(), second = flag();
  const UserEvent fork, join;
  capture(stream);
  ASSERT_TRUE(gpu_->events()->record(fork, stream).ok());
  ASSERT_TRUE(gpu_->events()->wait(fork, other).ok());
  EXPECT_TRUE(*gpu_->captures(other));
  EXPECT_TRUE(gpu_->await(first, 1, other).ok());
  EXPECT_TRUE(gpu_->set(second, 1, other).ok());
  ASSERT_TRUE(gpu_->events()->record(join, other).ok());
  EXPECT_TRUE(gpu_->set(first, 1, stream).ok()) << "which the other list waits for";
  ASSERT_TRUE(gpu_->events()->wait(join, stream).ok());
  UserGraph graph(stream);
  ASSERT_EQ(graph.code(), 0);
  EXPECT_FALSE(*gpu_->captures(other));
  graph.launch(stream);
  EXPECT_TRUE(gpu_->synchronize(stream).ok());
  EXPECT_EQ(*second.host, 1u);
  EXPECT_EQ(user("EventQuery", static_cast<void*>(fork)), 907) << "last recorded in a capture";
}

TEST_F(GpuGraph, WrongEnds) {
  const GpuStream stream = user_stream(), other = user_stream();
  const UserEvent fork, before;
  ASSERT_TRUE(gpu_->events()->record(before, other).ok());
  capture(stream);
  ASSERT_TRUE(gpu_->events()->record(fork, stream).ok());
  ASSERT_TRUE(gpu_->events()->wait(fork, other).ok());
  EXPECT_EQ(UserGraph(stream).code(), kUnjoined);
  capture(stream);
  ASSERT_TRUE(gpu_->events()->record(fork, stream).ok());
  ASSERT_TRUE(gpu_->events()->wait(fork, other).ok());
  EXPECT_EQ(UserGraph(other).code(), kUnmatched);
  EXPECT_EQ(UserGraph(stream).code(), kInvalidated);
  capture(stream);
  EXPECT_EQ(user("StreamWaitEvent", stream, static_cast<void*>(before), 0u), kIsolation);
  EXPECT_EQ(UserGraph(stream).code(), kInvalidated);
  capture(stream);
  std::thread([&] { EXPECT_EQ(UserGraph(stream).code(), kWrongThread); }).join();
  EXPECT_EQ(UserGraph(stream).code(), 0);
}

TEST_F(GpuGraph, AGraphMayRunOnAnyStream) {
  const GpuStream stream = user_stream(), other = own_stream();
  const GpuFlag gate = flag();
  std::atomic<int> calls{0};
  capture(stream);
  EXPECT_TRUE(gpu_->call([](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls, stream).ok());
  UserGraph graph(stream);
  EXPECT_TRUE(gpu_->await(gate, 1, other).ok());
  graph.launch(other);
  graph.launch(other);
  EXPECT_EQ(calls, 0);
  gate.host->store(1);
  EXPECT_TRUE(gpu_->synchronize(other).ok());
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace weir::device
