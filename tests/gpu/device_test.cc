// SPDX-License-Identifier: Apache-2.0
// What weir needs of a GPU, on a GPU: memory, streams, flags, sharing between processes, and the kernels,
// whose results are the host's bits. Skipped with a sentence where there is none. Compiled for CUDA and for
// HIP (WEIR_TEST_HIP).
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "src/device/gpu_sharing.h"
#include "src/device/gpus.h"
#include "tests/algorithms/some_layout.h"
#include "tests/cli/command.h"
#include "tests/exec/island.h"
#include "tests/gpu/device_ranks.h"

namespace weir {
namespace {

using device::Gpu;
using device::GpuMemory;
using device::GpuStream;

#ifdef WEIR_TEST_HIP
constexpr const char* kKernels = "libweir_hip.so";
std::unique_ptr<device::Gpus> make_gpus() { return device::make_hip_gpus(); }
#else
constexpr const char* kKernels = "libweir_cuda.so";
std::unique_ptr<device::Gpus> make_gpus() { return device::make_cuda_gpus(); }
#endif

constexpr const char* kShared = "WEIR_TEST_SHARED_MEMORY";  ///< a handle, for another process of this program
constexpr size_t kSharedWords = 1000;

class OnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    auto found = gpus_->at(0);
    if (!found.ok()) GTEST_SKIP() << found.status().message();
    gpu_ = *found;
    auto stream = gpu_->make_stream();
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    stream_ = *stream;
  }
  void TearDown() override {
    if (stream_ != nullptr) expect_ok(gpu_->destroy_stream(stream_));
  }

  template <typename T>
  T* made(size_t count, GpuMemory kind) {
    auto memory = gpu_->allocate(count * sizeof(T), kind);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    return memory.ok() ? static_cast<T*>(*memory) : nullptr;
  }
  void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

  const std::unique_ptr<device::Gpus> gpus_ = make_gpus();
  Gpu* gpu_ = nullptr;
  GpuStream stream_ = nullptr;
};

TEST_F(OnAGpu, CopiesOfAnySizeArrive) {
  for (const size_t bytes : {size_t{1}, size_t{4097}, size_t{16} << 20}) {
    std::vector<uint8_t> in(bytes), out(bytes, 0);
    std::iota(in.begin(), in.end(), uint8_t{3});
    auto* const first = made<uint8_t>(bytes, GpuMemory::device);
    auto* const second = made<uint8_t>(bytes, GpuMemory::device);
    auto* const pinned = made<uint8_t>(bytes, GpuMemory::pinned);
    EXPECT_EQ(gpus_->kind_of(first + bytes - 1), GpuMemory::device);
    EXPECT_EQ(gpus_->kind_of(pinned), GpuMemory::pinned);
    EXPECT_EQ(gpus_->kind_of(in.data()), GpuMemory::host);
    expect_ok(gpu_->copy(first, in.data(), bytes, stream_));
    expect_ok(gpu_->copy(second, first, bytes, stream_));
    expect_ok(gpu_->copy(pinned, second, bytes, stream_));
    expect_ok(gpu_->copy(out.data(), pinned, bytes, stream_));
    expect_ok(gpu_->synchronize(stream_));
    EXPECT_EQ(out, in);
    expect_ok(gpu_->free(first, GpuMemory::device));
    expect_ok(gpu_->free(second, GpuMemory::device));
    expect_ok(gpu_->free(pinned, GpuMemory::pinned));
  }
}

TEST_F(OnAGpu, FlagsHoldStreamsUpUntilTheHostSetsThem) {
  auto* const words = made<uint32_t>(3, GpuMemory::pinned);
  const auto gate = gpu_->flag_at(words), done = gpu_->flag_at(words + 1);
  ASSERT_TRUE(gate.ok() && done.ok());
  auto* const there = made<uint32_t>(1, GpuMemory::device);
  words[2] = 1;
  expect_ok(gpu_->await(*gate, 7, stream_));
  expect_ok(gpu_->copy(there, words + 2, 4, stream_));
  expect_ok(gpu_->set(*done, 9, stream_));
  EXPECT_EQ(done->host->load(), 0u);
  words[2] = 5;  // read when the flag lets the copy go
  gate->host->store(7);
  expect_ok(gpu_->synchronize(stream_));
  EXPECT_EQ(done->host->load(), 9u);
  uint32_t result = 0;
  expect_ok(gpu_->copy(&result, there, 4, stream_));
  expect_ok(gpu_->synchronize(stream_));
  EXPECT_EQ(result, 5u);
  expect_ok(gpu_->free(there, GpuMemory::device));
  expect_ok(gpu_->free(words, GpuMemory::pinned));
}

TEST_F(OnAGpu, StreamsOrderEachOtherByFlags) {
  auto other = gpu_->make_stream();
  ASSERT_TRUE(other.ok());
  auto* const words = made<uint32_t>(64, GpuMemory::pinned);
  auto* const value = made<uint32_t>(1, GpuMemory::device);
  for (uint32_t turn = 0; turn < 30; ++turn) {  // there and back, each after the other
    const auto there = gpu_->flag_at(words + 2 * turn), back = gpu_->flag_at(words + 2 * turn + 1);
    ASSERT_TRUE(there.ok() && back.ok());
    expect_ok(gpu_->copy(value, words + 2 * turn, 4, stream_));
    expect_ok(gpu_->set(*there, turn + 1, stream_));
    expect_ok(gpu_->await(*there, turn + 1, *other));
    expect_ok(gpu_->copy(words + 63, value, 4, *other));
    expect_ok(gpu_->set(*back, turn + 1, *other));
    expect_ok(gpu_->await(*back, turn + 1, stream_));
  }
  expect_ok(gpu_->synchronize(stream_));
  for (uint32_t turn = 0; turn < 30; ++turn) {
    EXPECT_EQ(words[2 * turn], turn + 1);
    EXPECT_EQ(words[2 * turn + 1], turn + 1);
  }
  expect_ok(gpu_->destroy_stream(*other));
  expect_ok(gpu_->free(value, GpuMemory::device));
  expect_ok(gpu_->free(words, GpuMemory::pinned));
}

TEST_F(OnAGpu, HostFunctionsRunInTheOrderOfTheStream) {
  auto* const words = made<uint32_t>(2, GpuMemory::pinned);
  const auto gate = gpu_->flag_at(words);
  ASSERT_TRUE(gate.ok());
  std::atomic<int> calls = 0;
  expect_ok(gpu_->await(*gate, 1, stream_));
  expect_ok(gpu_->call([](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls, stream_));
  EXPECT_EQ(calls, 0);
  gate->host->store(1);
  expect_ok(gpu_->synchronize(stream_));
  EXPECT_EQ(calls, 1);
  expect_ok(gpu_->free(words, GpuMemory::pinned));
}

std::string hex(const device::GpuShareHandle& handle) {
  std::string text;
  char two[3];
  for (const std::byte byte : handle.bytes) {
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned>(byte));
    text += two;
  }
  return text + ":" + std::to_string(handle.offset);
}

device::GpuShareHandle from_hex(const std::string& text) {
  device::GpuShareHandle handle;
  for (size_t i = 0; i < handle.bytes.size(); ++i)
    handle.bytes[i] = static_cast<std::byte>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  handle.offset = std::stoull(text.substr(text.find(':') + 1));
  return handle;
}

/// The other process of the test below.
TEST_F(OnAGpu, DISABLED_DoublesMemoryOfAnotherProcess) {
  const char* const given = std::getenv(kShared);
  ASSERT_NE(given, nullptr) << "the test below starts this one";
  const auto memory = gpu_->sharing()->attach(from_hex(given));
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  std::vector<uint32_t> words(kSharedWords);
  expect_ok(gpu_->copy(words.data(), *memory, words.size() * 4, stream_));
  expect_ok(gpu_->synchronize(stream_));
  for (uint32_t& word : words) word *= 2;
  expect_ok(gpu_->copy(*memory, words.data(), words.size() * 4, stream_));
  expect_ok(gpu_->synchronize(stream_));
  expect_ok(gpu_->sharing()->detach(*memory));
}

TEST_F(OnAGpu, MemoryIsSharedWithAnotherProcess) {
  if (gpu_->sharing() == nullptr) GTEST_SKIP() << "this driver shares no memory";
  auto* const memory = made<uint32_t>(kSharedWords + 64, GpuMemory::device);
  std::vector<uint32_t> words(kSharedWords), wanted(kSharedWords);
  std::iota(words.begin(), words.end(), 1u);
  for (size_t i = 0; i < words.size(); ++i) wanted[i] = 2 * words[i];
  uint32_t* const part = memory + 64;  // the handle names the whole, and says where the part begins
  expect_ok(gpu_->copy(part, words.data(), words.size() * 4, stream_));
  expect_ok(gpu_->synchronize(stream_));
  const auto handle = gpu_->sharing()->share(part);
  if (!handle.ok()) GTEST_SKIP() << "this machine shares no memory of GPUs: " << handle.status().message();
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto result = testing::run_command(
      std::string(kShared) + "=" + hex(*handle) + " " + self +
      " --gtest_also_run_disabled_tests --gtest_filter=*DoublesMemoryOfAnotherProcess 2>&1");
  EXPECT_EQ(result.code, 0) << result.text;
  expect_ok(gpu_->copy(words.data(), part, words.size() * 4, stream_));
  expect_ok(gpu_->synchronize(stream_));
  EXPECT_EQ(words, wanted);
  expect_ok(gpu_->free(memory, GpuMemory::device));
}

/// The code of the kernels, in the library beside this program or where WEIR_GPU_KERNELS says.
class KernelsOnAGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (gpu_->kernels() == nullptr) GTEST_SKIP() << "this driver loads no kernels";
    const void* image = find_image();
    if (image == nullptr)
      GTEST_SKIP() << kKernels << " is not here: it is built where there is a compiler for it";
    auto module = gpu_->kernels()->load(image);
    ASSERT_TRUE(module.ok()) << module.status().message();
    module_ = *module;
  }
  void TearDown() override {
    if (module_ != nullptr) expect_ok(gpu_->kernels()->unload(module_));
    OnAGpu::TearDown();
  }

  const void* find_image() {
    const auto folder = std::filesystem::path(std::filesystem::read_symlink("/proc/self/exe")).parent_path();
    const char* const given = std::getenv("WEIR_GPU_KERNELS");
    const std::string path = given != nullptr ? given : folder.parent_path() / "lib" / kKernels;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? dlsym(library, "weir_gpu_image") : nullptr;
  }

  device::GpuKernel kernel(exec::gpu::RingProtocol protocol) {
    const bool packet = protocol == exec::gpu::RingProtocol::packet;
    auto found = gpu_->kernels()->find(module_, packet ? "weir_lanes_packet" : "weir_lanes_bandwidth");
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found : nullptr;
  }

  device::GpuModule module_ = nullptr;
};

/// Input and output of all ranks, in memory of the host.
struct Operation {
  Operation(const ir::Shape& shape, const exec::Work& work, uint32_t seed) {
    std::mt19937_64 random(seed);
    const size_t bytes = work.count * size_of(work.type);
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      sizes.emplace_back(ir::input_blocks(shape, rank) * bytes, ir::output_blocks(shape, rank) * bytes);
      input.emplace_back(sizes.back().first / 8 + 2);
      output.emplace_back(sizes.back().second / 8 + 2, 77);
      for (uint64_t& word : input.back()) word = random();
      works.push_back(work);
      works.back().input = reinterpret_cast<const std::byte*>(input.back().data());
      works.back().output = reinterpret_cast<std::byte*>(output.back().data());
    }
  }
  std::vector<std::pair<size_t, size_t>> sizes;
  std::vector<std::vector<uint64_t>> input, output;
  std::vector<exec::Work> works;
};

void run_on_host(const std::vector<exec::Program>& programs, Operation& operation) {
  exec::Island island(static_cast<int>(programs.size()));
  exec::Bound bound(island, programs);
  std::vector<exec::Task*> tasks;
  for (const exec::Program& program : programs) {
    bound.run(program.rank).start(operation.works[static_cast<size_t>(program.rank)]);
    tasks.push_back(&bound.run(program.rank));
  }
  const Status status = exec::finish(tasks);
  ASSERT_TRUE(status.ok()) << status.message();
}

class EveryCollective : public KernelsOnAGpu {
 protected:
  /// One entry of the catalogue with one type; the bits are the host's.
  void compare(const algorithms::Entry& entry, int ranks, const exec::Work& work,
               exec::gpu::RingProtocol protocol) {
    const algorithms::Layout layout = algorithms::some_layout(ranks);
    ir::Shape shape{entry.kind, ranks, 0, algorithms::default_chunks(entry, ranks, layout)};
    const auto plan = algorithms::emit(entry.algorithm, shape, layout);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    exec::gpu::DeviceRanks::Options options;
    options.protocol = protocol;
    options.ordered = exec::gpu::orders_memory(*plan);
    const std::vector<exec::Program> programs = exec::lower_all(*plan);
    Operation wanted(shape, work, 9), got(shape, work, 9);
    run_on_host(programs, wanted);
    if (HasFatalFailure()) return;
    exec::gpu::DeviceRanks gpu(*gpu_, kernel(protocol), programs, options);
    gpu.run(got.works, got.sizes);
    if (HasFatalFailure()) return;
    for (size_t rank = 0; rank < programs.size(); ++rank)
      ASSERT_EQ(got.output[rank], wanted.output[rank])
          << exec::label(entry, ranks) << " " << name(work.type) << " rank " << rank;
  }
};

TEST_F(EveryCollective, HasTheHostsBits) {
  uint32_t turn = 0;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    exec::Work work;
    work.count = 5003;
    work.op = static_cast<RedOp>(turn % 4);
    work.tag = (uint64_t{++turn} << 32) + 5;
    compare(entry, 3, work,
            turn % 2 == 0 ? exec::gpu::RingProtocol::bandwidth : exec::gpu::RingProtocol::packet);
    if (HasFatalFailure()) return;
  }
}

TEST_F(EveryCollective, OfEveryTypeAndOperationHasTheHostsBits) {
  const algorithms::Entry& ring = *algorithms::find("ring", Collective::all_reduce);
  for (int kind = 0; kind < kDataTypes; ++kind) {
    for (int op = 0; op < 4; ++op) {
      exec::Work work;
      work.type = static_cast<DataType>(kind);
      work.op = static_cast<RedOp>(op);
      work.count = 333;
      compare(ring, 2, work,
              (kind + op) % 2 == 0 ? exec::gpu::RingProtocol::bandwidth : exec::gpu::RingProtocol::packet);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace weir
