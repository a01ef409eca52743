// SPDX-License-Identifier: Apache-2.0
// Gpu over the stand-in of a driver (stand_in): memory, streams, flags and what goes wrong with them.
// Compiled for CUDA and for HIP.
#include "src/device/gpu.h"

#include <gmock/gmock.h>

#include <array>
#include <thread>
#include <vector>

#include "tests/device/gpu_user.h"

namespace weir::device {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST_F(GpuTest, DescribesItself) {
  EXPECT_EQ(gpu_->description(), std::string(kIsHip ? "HIP" : "CUDA") + " GPU 0 (Stand-in, 0000:1b:00.0)");
  EXPECT_EQ(gpu_->index(), 0);
  auto second = gpus_->at(1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->index(), 1);
  EXPECT_EQ(gpus_->at(2).status().code(), Code::invalid_argument);
  EXPECT_THAT(gpus_->at(2).status().message(),
              HasSubstr("GPU 2; the number of GPUs visible to this process is 2"));
}

TEST_F(GpuTest, TellsKindsOfMemoryApart) {
  int on_host = 0;
  char* const device = made<char>(100, GpuMemory::device);
  char* const pinned = made<char>(100, GpuMemory::pinned);
  char* const managed = made<char>(100, GpuMemory::managed);
  EXPECT_EQ(gpus_->kind_of(&on_host), GpuMemory::host);
  EXPECT_EQ(gpus_->kind_of(nullptr), GpuMemory::host);
  EXPECT_EQ(gpus_->kind_of(device), GpuMemory::device);
  EXPECT_EQ(gpus_->kind_of(device + 99), GpuMemory::device);
  EXPECT_EQ(gpus_->kind_of(pinned + 50), GpuMemory::pinned);
  EXPECT_EQ(gpus_->kind_of(managed), GpuMemory::managed);
  EXPECT_EQ(gpus_->of(device), gpu_);
  EXPECT_EQ(gpus_->of(pinned), nullptr) << "of memory of kind device alone";
  EXPECT_TRUE(gpu_->free(device, GpuMemory::device).ok());
  EXPECT_EQ(gpus_->kind_of(device), GpuMemory::host);
  EXPECT_TRUE(gpu_->free(pinned, GpuMemory::pinned).ok());
  EXPECT_TRUE(gpu_->free(managed, GpuMemory::managed).ok());
  EXPECT_EQ(gpu_->allocate(8, GpuMemory::host).status().code(), Code::invalid_argument);
  EXPECT_EQ(gpu_->free(&on_host, GpuMemory::host).code(), Code::invalid_argument);
  EXPECT_THAT(gpu_->free(&on_host, GpuMemory::device).message(), HasSubstr("failed"));
}

TEST_F(GpuTest, FindsTheGpuOfMemoryOfStreamsAndOfTheThread) {
  Gpu* const second = *gpus_->at(1);
  void* memory = nullptr;
  ASSERT_EQ(user("SetDevice", 1), 0);
  ASSERT_EQ(user("Malloc", &memory, size_t{64}), 0);
  const GpuStream stream = user_stream();
  EXPECT_EQ(gpus_->of(nullptr), second);
  EXPECT_EQ(gpus_->of_stream(nullptr), second);
  EXPECT_EQ(gpus_->of_stream(reinterpret_cast<GpuStream>(2)), second) << "the thread's default stream";
  ASSERT_EQ(user("SetDevice", 0), 0);
  EXPECT_EQ(gpus_->of(nullptr), gpu_);
  EXPECT_EQ(gpus_->of(memory), second);
  EXPECT_EQ(gpus_->of_stream(stream), second);
  std::thread([&] {
    EXPECT_EQ(gpus_->of(nullptr), gpu_) << "a thread that chose none has the first";
  }).join();
}

TEST_F(GpuTest, LeavesTheCallersGpuCurrent) {
  ASSERT_EQ(user("SetDevice", 1), 0);
  void* const memory = made<char>(64, GpuMemory::device);
  EXPECT_EQ(gpus_->of(memory), gpu_) << "made on the first";
  EXPECT_EQ(gpus_->of(nullptr), *gpus_->at(1)) << "the second is current as before";
  int device = -1;
  ASSERT_EQ(user("GetDevice", &device), 0);
  EXPECT_EQ(device, 1);
}

TEST_F(GpuTest, TheHostCannotTouchDeviceMemory) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        volatile int* const memory = made<int>(1, GpuMemory::device);
        *memory = 1;
      },
      "");
}

TEST_F(GpuTest, CopiesInTheOrderOfAStream) {
  std::vector<int> in(1000, 7), out(1000, 0);
  int* const first = made<int>(1000, GpuMemory::device);
  int* const second = made<int>(1000, GpuMemory::device);
  int* const pinned = made<int>(1000, GpuMemory::pinned);
  const GpuStream stream = own_stream();
  EXPECT_TRUE(gpu_->copy(first, in.data(), 4000, stream).ok());
  EXPECT_TRUE(gpu_->copy(second, first, 4000, stream).ok());
  EXPECT_TRUE(gpu_->copy(pinned, second, 4000, stream).ok());
  EXPECT_TRUE(gpu_->copy(out.data(), pinned, 4000, stream).ok());
  EXPECT_TRUE(gpu_->copy(nullptr, nullptr, 0, stream).ok());
  EXPECT_TRUE(gpu_->synchronize(stream).ok());
  EXPECT_THAT(out, Each(7));
  EXPECT_TRUE(gpu_->destroy_stream(stream).ok());
  EXPECT_FALSE(gpu_->synchronize(stream).ok()) << "it is gone";
}

TEST_F(GpuTest, FlagsOrderStreamsAndTheHost) {
  const GpuFlag begin = flag(), end = flag();
  EXPECT_EQ(*begin.host, 0u);
  int* const pinned = made<int>(1, GpuMemory::pinned);
  int* const device = made<int>(1, GpuMemory::device);
  *pinned = 1;
  const GpuStream stream = own_stream(), other = own_stream();
  EXPECT_TRUE(gpu_->await(begin, 5, stream).ok());
  EXPECT_TRUE(gpu_->copy(device, pinned, 4, stream).ok());
  EXPECT_TRUE(gpu_->set(end, 9, stream).ok());
  EXPECT_TRUE(gpu_->await(end, 9, other).ok());
  EXPECT_TRUE(gpu_->copy(pinned + 0, device, 4, other).ok());
  *begin.host = 4;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(*end.host, 0u) << "4 is not 5";
  *pinned = 3;  // read when the flag lets the copy go
  begin.host->store(5);
  EXPECT_TRUE(gpu_->synchronize(other).ok());
  EXPECT_EQ(*end.host, 9u);
  EXPECT_EQ(*pinned, 3);
}

TEST_F(GpuTest, CallsAFunctionWhenTheStreamComesThere) {
  const GpuFlag begin = flag();
  std::atomic<int> calls{0};
  const GpuStream stream = own_stream();
  EXPECT_TRUE(gpu_->await(begin, 1, stream).ok());
  EXPECT_TRUE(gpu_->call([](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls, stream).ok());
  EXPECT_EQ(calls, 0);
  begin.host->store(1);
  EXPECT_TRUE(gpu_->synchronize(stream).ok());
  EXPECT_EQ(calls, 1);
}

TEST_F(GpuTest, OwnStreamsWaitForNoOther) {
  const GpuFlag gate = flag(), done = flag();
  EXPECT_TRUE(gpu_->await(gate, 1, nullptr).ok());
  const GpuStream own = own_stream(), blocking = user_stream();
  EXPECT_TRUE(gpu_->set(done, 1, own).ok());
  EXPECT_TRUE(gpu_->synchronize(own).ok()) << "though the default stream waits";
  EXPECT_EQ(*done.host, 1u);
  EXPECT_TRUE(gpu_->set(done, 2, blocking).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(*done.host, 1u) << "a program's blocking stream waits for the default stream";
  gate.host->store(1);
  EXPECT_TRUE(gpu_->synchronize(blocking).ok());
  EXPECT_EQ(*done.host, 2u);
}

TEST_F(GpuTest, TheDefaultStreamWaitsForBlockingOnes) {
  const GpuFlag gate = flag(), done = flag();
  const GpuStream blocking = user_stream(), free_one = user_stream(1);
  EXPECT_TRUE(gpu_->await(gate, 1, blocking).ok());
  EXPECT_TRUE(gpu_->await(gate, 1, free_one).ok());
  EXPECT_TRUE(gpu_->set(done, 1, nullptr).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(*done.host, 0u);
  gate.host->store(1);
  EXPECT_TRUE(gpu_->synchronize(nullptr).ok());
  EXPECT_EQ(*done.host, 1u);
}

TEST_F(GpuTest, SaysWhatFailed) {
  setenv("WEIR_FAKE_GPU_FAULTS", "alloc=2", 1);
  EXPECT_TRUE(gpu_->allocate(64, GpuMemory::device).ok());
  const Status refused = gpu_->allocate(64, GpuMemory::device).status();
  EXPECT_EQ(refused.code(), Code::system_error);
  EXPECT_EQ(
      refused.message(),
      kIsHip
          ? "64 bytes on HIP GPU 0 (Stand-in, 0000:1b:00.0): hipMalloc failed: hipErrorOutOfMemory (out of "
            "memory)"
          : "64 bytes on CUDA GPU 0 (Stand-in, 0000:1b:00.0): cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY "
            "(out of memory)");
  EXPECT_TRUE(gpu_->allocate(64, GpuMemory::device).ok()) << "only the second";
  setenv("WEIR_FAKE_GPU_BYTES", "1000000", 1);
  EXPECT_FALSE(gpu_->allocate(1000001, GpuMemory::device).ok());
  unsetenv("WEIR_FAKE_GPU_BYTES");
  int word = 0;
  EXPECT_FALSE(gpu_->flag_at(&word).ok()) << "no pinned memory";
  EXPECT_FALSE(gpu_->set({nullptr, 0x1000}, 1, nullptr).ok());
  EXPECT_FALSE(gpu_->await({nullptr, 0x1000}, 1, nullptr).ok());
  EXPECT_FALSE(gpu_->synchronize(&word).ok()) << "no stream";
}

TEST_F(GpuTest, AllocatesCoherentMemoryOrSaysWhyNot) {
  int* const words = made<int>(16, GpuMemory::coherent);
  EXPECT_EQ(gpus_->kind_of(words), GpuMemory::device);
  EXPECT_TRUE(gpu_->free(words, GpuMemory::coherent).ok());
  setenv("WEIR_FAKE_GPU_FAULTS", "uncached", 1);  // as before ROCm 6: fine-grained memory is taken
  EXPECT_TRUE(gpu_->free(made<int>(16, GpuMemory::coherent), GpuMemory::coherent).ok());
  EXPECT_EQ(user("GetLastError"), 0) << "the attempt is not the program's";
  setenv("WEIR_FAKE_GPU_FAULTS", "uncached,finegrained", 1);
  const auto refused = gpu_->allocate(64, GpuMemory::coherent);
  EXPECT_EQ(refused.ok(), !kIsHip) << "all memory of CUDA is coherent";
  EXPECT_THAT(
      refused.status().message(),
      HasSubstr(kIsHip ? "hipExtMallocWithFlags, neither for uncached nor for fine-grained memory, failed"
                       : ""));
}

TEST_F(GpuTest, ABrokenGpuIsADeviceError) {
  int* const device = made<int>(1, GpuMemory::device);
  int* const pinned = made<int>(1, GpuMemory::pinned);
  const GpuStream stream = own_stream();
  const GpuFlag never = flag();
  setenv("WEIR_FAKE_GPU_FAULTS", "fault=1", 1);
  EXPECT_TRUE(gpu_->copy(pinned, device, 4, stream).ok()) << "said later";
  static_cast<void>(
      gpu_->await(never, 1, stream));  // refused where the GPU has come that far; ends with it else
  const Status broken = gpu_->synchronize(stream);
  EXPECT_EQ(broken.code(), Code::device_error);
  EXPECT_THAT(broken.message(), HasSubstr(kIsHip ? "hipErrorIllegalAddress" : "CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(gpu_->copy(pinned, device, 4, stream).code(), Code::device_error) << "nothing works any more";
  EXPECT_EQ(gpu_->allocate(4, GpuMemory::device).status().code(), Code::device_error);
  auto second = gpus_->at(1);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE((*second)->allocate(4, GpuMemory::device).ok()) << "the other GPU works on";
}

TEST_F(GpuTest, CopiesOverTheEndBreakIt) {
  int* const device = made<int>(2, GpuMemory::device);
  int* const pinned = made<int>(4, GpuMemory::pinned);
  const GpuStream stream = own_stream();
  EXPECT_TRUE(gpu_->copy(device + 1, pinned, 8, stream).ok());
  EXPECT_EQ(gpu_->synchronize(stream).code(), Code::device_error);
}

TEST_F(GpuTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::array<int, 8> results{};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Gpu& gpu = **gpus_->at(t % 2);
      auto stream = gpu.make_stream();
      auto memory = gpu.allocate(4, GpuMemory::device);
      ASSERT_TRUE(stream.ok() && memory.ok());
      for (int i = 0; i <= 50; ++i) {
        const int value = 100 * t + i;
        ASSERT_TRUE(gpu.copy(*memory, &value, 4, *stream).ok());
        ASSERT_TRUE(gpu.copy(&results[static_cast<size_t>(t)], *memory, 4, *stream).ok());
      }
      ASSERT_TRUE(gpu.synchronize(*stream).ok());
      ASSERT_TRUE(gpu.free(*memory, GpuMemory::device).ok());
      ASSERT_TRUE(gpu.destroy_stream(*stream).ok());
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 8; ++t) EXPECT_EQ(results[static_cast<size_t>(t)], 100 * t + 50);
}

}  // namespace
}  // namespace weir::device
