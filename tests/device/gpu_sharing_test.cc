// SPDX-License-Identifier: Apache-2.0
// GpuSharing, GpuEvents and GpuKernels over the stand-in of a driver. Compiled for CUDA and for HIP.
#include "src/device/gpu_sharing.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "src/device/gpu_kernels.h"
#include "src/device/gpu_mappings.h"
#include "tests/device/gpu_user.h"

namespace weir::device {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What one process tells the other: a pipe each way.
class Line {
 public:
  Line() { EXPECT_EQ(pipe(ends_), 0); }
  template <typename T>
  void say(const T& value) {
    EXPECT_EQ(write(ends_[1], &value, sizeof(value)), static_cast<ssize_t>(sizeof(value)));
  }
  template <typename T>
  T hear() {
    T value{};
    EXPECT_EQ(read(ends_[0], &value, sizeof(value)), static_cast<ssize_t>(sizeof(value)));
    return value;
  }

 private:
  int ends_[2] = {};
};

/// Begun before this process uses its GPU.
class Peer {
 public:
  explicit Peer(const std::function<void()>& run) : process_(fork()) {
    if (process_ != 0) return;
    run();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  void end() {
    int status = -1;
    ASSERT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_EQ(status, 0) << "the other process failed";
  }

 private:
  const pid_t process_;
};

TEST(GpuSharing, AnotherProcessSeesTheMemory) {
  Line there, back;
  Peer peer([&] {
    const auto gpus = make_gpus();
    Gpu& gpu = **gpus->at(1);
    const auto handle = there.hear<GpuShareHandle>();
    auto memory = gpu.sharing()->attach(handle);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    EXPECT_EQ(gpus->kind_of(*memory), GpuMemory::device);
    EXPECT_EQ(gpus->of(*memory), &gpu);
    EXPECT_EQ(*gpu.sharing()->attach(handle), *memory) << "the same mapping";
    int value = 0;
    ASSERT_TRUE(gpu.copy(&value, *memory, 4, nullptr).ok());
    EXPECT_EQ(value, 17);
    value = 18;
    ASSERT_TRUE(gpu.copy(*memory, &value, 4, nullptr).ok());
    ASSERT_TRUE(gpu.synchronize(nullptr).ok());
    EXPECT_TRUE(gpu.sharing()->detach(*memory).ok());
    EXPECT_EQ(gpus->kind_of(*memory), GpuMemory::device) << "attached twice";
    EXPECT_TRUE(gpu.sharing()->detach(*memory).ok());
    EXPECT_EQ(gpus->kind_of(*memory), GpuMemory::host);
    EXPECT_EQ(gpu.sharing()->detach(*memory).code(), Code::invalid_argument);
    back.say(true);
  });
  const auto gpus = make_gpus();
  Gpu& gpu = **gpus->at(0);
  auto memory = gpu.allocate(4096, GpuMemory::device);
  ASSERT_TRUE(memory.ok());
  char* const word = static_cast<char*>(*memory) + 400;
  int value = 17;
  ASSERT_TRUE(gpu.copy(word, &value, 4, nullptr).ok());
  ASSERT_TRUE(gpu.synchronize(nullptr).ok());
  auto handle = gpu.sharing()->share(word);
  ASSERT_TRUE(handle.ok()) << handle.status().message();
  EXPECT_EQ(handle->offset, 400u);
  there.say(*handle);
  EXPECT_TRUE(back.hear<bool>());
  ASSERT_TRUE(gpu.copy(&value, word, 4, nullptr).ok());
  EXPECT_EQ(value, 18);
  peer.end();
}

/// They lie in one page, of which another process gets all with the handle of any.
TEST(GpuSharing, SmallAllocationsSideBySideAreToldApart) {
  constexpr int kCount = 3, kInts = 250;
  const auto filled = [](int value) { return std::vector<int>(kInts, value); };
  Line there, back;
  Peer peer([&] {
    const auto gpus = make_gpus();
    Gpu& gpu = **gpus->at(1);
    void* attached[kCount] = {};
    for (int i = 0; i < kCount; ++i) {
      auto memory = gpu.sharing()->attach(there.hear<GpuShareHandle>());
      ASSERT_TRUE(memory.ok()) << memory.status().message();
      attached[i] = *memory;
      std::vector<int> got = filled(-1);
      ASSERT_TRUE(gpu.copy(got.data(), *memory, kInts * sizeof(int), nullptr).ok());
      ASSERT_TRUE(gpu.synchronize(nullptr).ok());
      EXPECT_EQ(got, filled(i));
    }
    const std::vector<int> other = filled(17);
    ASSERT_TRUE(gpu.copy(attached[1], other.data(), kInts * sizeof(int), nullptr).ok());
    ASSERT_TRUE(gpu.synchronize(nullptr).ok());
    EXPECT_TRUE(gpu.sharing()->detach(attached[0]).ok());
    EXPECT_EQ(gpus->kind_of(attached[0]), GpuMemory::host);
    EXPECT_EQ(gpus->kind_of(attached[1]), GpuMemory::device) << "the others stay";
    back.say(true);
  });
  const auto gpus = make_gpus();
  Gpu& gpu = **gpus->at(0);
  void* memory[kCount] = {};
  for (int i = 0; i < kCount; ++i) {
    auto made = gpu.allocate(kInts * sizeof(int), GpuMemory::device);
    ASSERT_TRUE(made.ok());
    memory[i] = *made;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory[i]) % 512, 0u);
    EXPECT_NE(reinterpret_cast<uintptr_t>(memory[i]) % 4096, 0u);
    const std::vector<int> values = filled(i);
    ASSERT_TRUE(gpu.copy(memory[i], values.data(), kInts * sizeof(int), nullptr).ok());
  }
  ASSERT_TRUE(gpu.synchronize(nullptr).ok());
  for (void* const one : memory) {
    auto handle = gpu.sharing()->share(one);
    ASSERT_TRUE(handle.ok()) << handle.status().message();
    EXPECT_EQ(handle->offset, 0u) << "in the allocation, not in the page";
    there.say(*handle);
  }
  EXPECT_TRUE(back.hear<bool>());
  for (int i = 0; i < kCount; ++i) {
    std::vector<int> got = filled(-1);
    ASSERT_TRUE(gpu.copy(got.data(), memory[i], kInts * sizeof(int), nullptr).ok());
    ASSERT_TRUE(gpu.synchronize(nullptr).ok());
    EXPECT_EQ(got, filled(i == 1 ? 17 : i));
    EXPECT_TRUE(gpu.free(memory[i], GpuMemory::device).ok());
  }
  EXPECT_EQ(gpus->kind_of(memory[2]), GpuMemory::host);
  peer.end();
}

/// The GPU that maps it may be another one; the memory goes with the last mapping.
TEST(GpuMappings, AFileStandsForMemory) {
  const auto gpus = make_gpus();
  Gpu& gpu = **gpus->at(0);
  Gpu& other = **gpus->at(1);
  ASSERT_NE(gpu.mappings(), nullptr);
  Socket file;
  auto made = gpu.mappings()->make(4097, file);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_GE(made->bytes, 4097u);
  EXPECT_EQ(gpus->of(made->memory), &gpu);
  EXPECT_FALSE(gpu.sharing()->share(made->memory).ok()) << "drivers have no IPC handles of such memory";
  auto mapped = other.mappings()->map(file, made->bytes);
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  file.close();
  EXPECT_NE(mapped->memory, made->memory);
  EXPECT_EQ(gpus->of(mapped->memory), &other);
  int value = 17;
  ASSERT_TRUE(gpu.copy(static_cast<char*>(made->memory) + 4092, &value, 4, nullptr).ok());
  ASSERT_TRUE(gpu.synchronize(nullptr).ok());
  EXPECT_TRUE(gpu.mappings()->free(*made).ok());
  EXPECT_EQ(gpus->kind_of(made->memory), GpuMemory::host);
  value = 0;
  ASSERT_TRUE(other.copy(&value, static_cast<char*>(mapped->memory) + 4092, 4, nullptr).ok());
  ASSERT_TRUE(other.synchronize(nullptr).ok());
  EXPECT_EQ(value, 17);
  EXPECT_TRUE(other.mappings()->free(*mapped).ok());
  EXPECT_FALSE(other.mappings()->free(*mapped).ok()) << "once";
}

TEST(GpuMappings, RefusalsNameTheGpuAndTheCall) {
  const auto gpus = make_gpus();
  Gpu& gpu = **gpus->at(0);
  const Socket none;
  EXPECT_THAT(gpu.mappings()->map(none, 4096).status().message(),
              AllOf(HasSubstr(gpu.description()), HasSubstr("MemImportFromShareableHandle failed")));
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_FAULTS", "vmm", 1), 0);
  Socket file;
  EXPECT_THAT(gpu.mappings()->make(4096, file).status().message(), HasSubstr("MemCreate failed"));
  unsetenv("WEIR_FAKE_GPU_FAULTS");
  EXPECT_FALSE(file.valid());
}

TEST(GpuSharing, EventsOrderStreamsOfTwoProcesses) {
  Line there, back;
  Peer peer([&] {
    const auto gpus = make_gpus();
    Gpu& gpu = **gpus->at(0);
    auto event = gpu.events()->open(there.hear<GpuEventHandle>());
    ASSERT_TRUE(event.ok()) << event.status().message();
    auto pinned = gpu.allocate(4, GpuMemory::pinned);
    ASSERT_TRUE(pinned.ok());
    const GpuFlag flag = *gpu.flag_at(*pinned);
    auto stream = gpu.make_stream();
    ASSERT_TRUE(stream.ok());
    ASSERT_TRUE(gpu.await(flag, 1, *stream).ok());
    ASSERT_TRUE(gpu.events()->record(*event, *stream).ok());
    back.say(true);
    EXPECT_TRUE(there.hear<bool>());
    flag.host->store(1);
    ASSERT_TRUE(gpu.synchronize(*stream).ok());
    back.say(true);
    EXPECT_TRUE(there.hear<bool>()) << "the event outlives what waits for it";
    EXPECT_TRUE(gpu.events()->destroy(*event).ok());
  });
  const auto gpus = make_gpus();
  Gpu& gpu = **gpus->at(0);
  auto event = gpu.events()->make(GpuEventUse::processes);
  ASSERT_TRUE(event.ok());
  auto handle = gpu.events()->share(*event);
  ASSERT_TRUE(handle.ok()) << handle.status().message();
  there.say(*handle);
  EXPECT_TRUE(back.hear<bool>());
  auto pinned = gpu.allocate(4, GpuMemory::pinned);
  ASSERT_TRUE(pinned.ok());
  const GpuFlag flag = *gpu.flag_at(*pinned);
  auto stream = gpu.make_stream();
  ASSERT_TRUE(gpu.events()->wait(*event, *stream).ok());
  ASSERT_TRUE(gpu.set(flag, 1, *stream).ok());
  usleep(2000);
  EXPECT_EQ(*flag.host, 0u) << "the other process's stream has not come there";
  there.say(true);
  ASSERT_TRUE(gpu.synchronize(*stream).ok());
  EXPECT_EQ(*flag.host, 1u);
  EXPECT_TRUE(back.hear<bool>());
  there.say(true);
  peer.end();
  EXPECT_TRUE(gpu.events()->destroy(*event).ok());
}

class GpuRefusals : public GpuTest {};

TEST_F(GpuRefusals, OfSharing) {
  int on_host = 0;
  char* const device = made<char>(64, GpuMemory::device);
  EXPECT_THAT(gpu_->sharing()->share(&on_host).status().message(),
              HasSubstr("cannot be shared with other processes"));
  char* const pinned = made<char>(64, GpuMemory::pinned);
  EXPECT_THAT(gpu_->sharing()->share(pinned).status().message(), HasSubstr("IpcGetMemHandle failed"));
  auto own = gpu_->sharing()->share(device);
  ASSERT_TRUE(own.ok());
  EXPECT_THAT(gpu_->sharing()->attach(*own).status().message(),
              HasSubstr("cannot attach memory of another process"));
  EXPECT_FALSE(gpu_->sharing()->attach(GpuShareHandle{}).ok());
  auto event = gpu_->events()->make(GpuEventUse::processes);
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(gpu_->events()->open(*gpu_->events()->share(*event)).ok()) << "its own";
  EXPECT_FALSE(gpu_->events()->open(GpuEventHandle{}).ok());
  const UserEvent plain;
  EXPECT_FALSE(gpu_->events()->share(plain).ok()) << "made without leave to";
  EXPECT_TRUE(gpu_->events()->destroy(*event).ok());
}

TEST_F(GpuRefusals, OfPeerAccess) {
  Gpu& second = **gpus_->at(1);
  EXPECT_TRUE(gpu_->sharing()->reach(*gpu_).ok());
  EXPECT_TRUE(gpu_->sharing()->reach(second).ok());
  EXPECT_TRUE(gpu_->sharing()->reach(second).ok()) << "again";
  setenv("WEIR_FAKE_GPU_FAULTS", "peer", 1);
  const Status refused = second.sharing()->reach(*gpu_);
  EXPECT_THAT(refused.message(),
              HasSubstr("no peer access to " + gpu_->description() + " from " + second.description()));
}

TEST(GpuSharing, RefusedByTheDriver) {
  Line there, back;
  Peer peer([&] {
    const auto gpus = make_gpus();
    setenv("WEIR_FAKE_GPU_FAULTS", "ipc", 1);
    auto memory = (*gpus->at(0))->sharing()->attach(there.hear<GpuShareHandle>());
    EXPECT_THAT(memory.status().message(), HasSubstr("IpcOpenMemHandle failed"));
    auto event = (*gpus->at(0))->events()->open(there.hear<GpuEventHandle>());
    EXPECT_THAT(event.status().message(), HasSubstr("IpcOpenEventHandle failed"));
    back.say(true);
  });
  const auto gpus = make_gpus();
  Gpu& gpu = **gpus->at(0);
  auto memory = gpu.allocate(64, GpuMemory::device);
  ASSERT_TRUE(memory.ok());
  there.say(*gpu.sharing()->share(*memory));
  auto event = gpu.events()->make(GpuEventUse::processes);
  ASSERT_TRUE(event.ok());
  there.say(*gpu.events()->share(*event));
  EXPECT_TRUE(back.hear<bool>());
  EXPECT_TRUE(gpu.events()->destroy(*event).ok());
  peer.end();
}

class GpuKernelTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    auto module = gpu_->kernels()->load("fake-gpu-module:" WEIR_TEST_KERNELS);
    ASSERT_TRUE(module.ok()) << module.status().message();
    module_ = *module;
  }
  void TearDown() override {
    EXPECT_TRUE(gpu_->kernels()->unload(module_).ok());
    GpuTest::TearDown();
  }
  GpuModule module_ = nullptr;
};

struct AddArguments {
  const int* from;
  int* to;
  uint64_t count;
  int value;
};

TEST_F(GpuKernelTest, RunsInTheOrderOfTheStream) {
  auto kernel = gpu_->kernels()->find(module_, "fake_add");
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const GpuStream stream = own_stream();
  std::vector<int> in(1000), out(1000);
  for (int i = 0; i < 1000; ++i) in[static_cast<size_t>(i)] = i;
  int* const memory = made<int>(2000, GpuMemory::device);
  AddArguments arguments{memory, memory + 1000, 1000, 5};
  void* list[] = {&arguments};
  EXPECT_TRUE(gpu_->copy(memory, in.data(), 4000, stream).ok());
  EXPECT_TRUE(gpu_->kernels()->launch({*kernel, 7, 32, 0, list}, stream).ok());
  arguments = {};  // taken at the launch
  EXPECT_TRUE(gpu_->copy(out.data(), memory + 1000, 4000, stream).ok());
  EXPECT_TRUE(gpu_->synchronize(stream).ok());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], i + 5);
}

TEST_F(GpuKernelTest, BlocksRunAtOnce) {
  auto kernel = gpu_->kernels()->find(module_, "fake_meet");
  ASSERT_TRUE(kernel.ok());
  auto* const arrived = made<std::atomic<uint32_t>>(1, GpuMemory::device);
  void* list[] = {const_cast<void*>(static_cast<const void*>(&arrived))};
  EXPECT_TRUE(gpu_->kernels()->launch({*kernel, 8, 32, 0, list}, nullptr).ok());
  EXPECT_TRUE(gpu_->synchronize(nullptr).ok());
}

struct CrowdArguments {
  std::atomic<uint32_t>* here;
  std::atomic<uint32_t>* most;
  uint32_t awaited;
};

/// Of two kernels on two streams, as many blocks run at the same time as one multiprocessor has room for.
TEST_F(GpuKernelTest, BlocksForWhichThereIsNoRoomWait) {
  setenv("WEIR_FAKE_GPU_MULTIPROCESSORS", "1", 1);
  auto kernel = gpu_->kernels()->find(module_, "fake_crowd");
  ASSERT_TRUE(kernel.ok());
  constexpr uint32_t kThreads = 512, kShared = 100 << 10;
  for (const uint32_t shared : {0u, kShared}) {  // memory of which two blocks have room
    const auto fitting = static_cast<uint32_t>(*gpu_->kernels()->resident_blocks(*kernel, kThreads, shared));
    EXPECT_EQ(fitting, shared == 0 ? 4u : 2u);
    auto* const words = made<std::atomic<uint32_t>>(2, GpuMemory::pinned);
    CrowdArguments arguments{words, words + 1, fitting};
    void* list[] = {&arguments};
    const GpuStream first = own_stream(), second = own_stream();
    for (const GpuStream stream : {first, second})
      EXPECT_TRUE(gpu_->kernels()->launch({*kernel, 3 * fitting, kThreads, shared, list}, stream).ok());
    for (const GpuStream stream : {first, second}) EXPECT_TRUE(gpu_->synchronize(stream).ok());
    EXPECT_EQ(words[0].load(), 0u);
    EXPECT_EQ(words[1].load(), fitting);
  }
  unsetenv("WEIR_FAKE_GPU_MULTIPROCESSORS");
}

TEST_F(GpuKernelTest, RegistersLimitBlocks) {
  auto kernel = gpu_->kernels()->find(module_, "fake_crowd");
  ASSERT_TRUE(kernel.ok());
  setenv("WEIR_FAKE_GPU_REGISTERS", "128", 1);
  EXPECT_EQ(*gpu_->kernels()->resident_blocks(*kernel, 512, 0), 1);
  EXPECT_EQ(*gpu_->kernels()->resident_blocks(*kernel, 256, 0), 2);
  EXPECT_EQ(*gpu_->kernels()->resident_blocks(*kernel, 1024, 0), 0);
  CrowdArguments arguments{};
  void* list[] = {&arguments};
  EXPECT_THAT(gpu_->kernels()->launch({*kernel, 1, 1024, 0, list}, nullptr).message(),
              HasSubstr("too many resources requested for launch"));
  unsetenv("WEIR_FAKE_GPU_REGISTERS");
}

TEST_F(GpuKernelTest, Errors) {
  EXPECT_FALSE(gpu_->kernels()->load("no module").ok());
  EXPECT_THAT(gpu_->kernels()->find(module_, "nothing").status().message(),
              HasSubstr("cannot find kernel nothing: "));
  EXPECT_EQ(*gpu_->kernels()->multiprocessors(), 8);
  auto kernel = gpu_->kernels()->find(module_, "fake_add");
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(*gpu_->kernels()->resident_blocks(*kernel, 512, 0), 4);
  EXPECT_FALSE(gpu_->kernels()->resident_blocks(*kernel, 0, 0).ok());
  int* const memory = made<int>(2, GpuMemory::device);
  AddArguments arguments{memory, memory + 1, 1, 5};
  void* list[] = {&arguments};
  EXPECT_FALSE(gpu_->kernels()->launch({*kernel, 0, 32, 0, list}, nullptr).ok());
  setenv("WEIR_FAKE_GPU_FAULTS", "launch=1", 1);
  EXPECT_THAT(gpu_->kernels()->launch({*kernel, 1, 32, 0, list}, nullptr).message(),
              HasSubstr("too many resources requested for launch"));
  EXPECT_TRUE(gpu_->kernels()->launch({*kernel, 1, 32, 0, list}, nullptr).ok());
  EXPECT_TRUE(gpu_->synchronize(nullptr).ok());
}

}  // namespace
}  // namespace weir::device
