// SPDX-License-Identifier: Apache-2.0
#include "src/exec/gpu/kernel_executor.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/exec/gpu/pairs_launch.h"
#include "tests/device/fake_gpu.h"

namespace weir::exec::gpu {
namespace {

/// A GPU that notes its launches and runs none.
class NotingGpu final : public testing::FakeGpu, private device::GpuKernels {
 public:
  device::GpuKernels* kernels() override { return this; }
  std::vector<device::GpuLaunch> launches;

 private:
  std::string_view code() const override { return "none"; }
  Result<device::GpuModule> load(const void*) override { return device::GpuModule(); }
  Status unload(device::GpuModule) override { return {}; }
  Result<device::GpuKernel> find(device::GpuModule, const char*) override { return device::GpuKernel(); }
  Status launch(const device::GpuLaunch& launch, device::GpuStream) override {
    launches.push_back(launch);
    return {};
  }
  Result<int> multiprocessors() override { return 132; }
  Result<int> resident_blocks(device::GpuKernel, uint32_t, uint32_t) override { return 1; }
};

/// As NCCL, however many the communicator may use.
TEST(KernelExecutor, SendsAndReceivesUseAtMost32Blocks) {
  constexpr size_t kRanks = 8, kSegment = size_t{7} << 20, kMessage = size_t{1} << 20;
  NotingGpu gpu;
  const Result<device::GpuStream> stream = gpu.make_stream();
  std::vector<std::byte*> memory;
  GpuSegments segments{0, {}, kSegment};
  for (size_t rank = 0; rank < kRanks; ++rank) {
    memory.push_back(static_cast<std::byte*>(*gpu.allocate(kSegment, device::GpuMemory::device)));
    segments.at.push_back(memory.back());
  }
  for (const uint32_t blocks : {64u, 5u}) {
    auto executor = KernelExecutor::create(gpu, {}, segments, {blocks});
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    std::vector<PeerTransfer> pairs;
    for (Rank peer = 1; peer < static_cast<Rank>(kRanks); ++peer)
      for (const bool sends : {true, false}) pairs.push_back({peer, sends, memory[0], kMessage});
    gpu.launches.clear();
    ASSERT_TRUE((*executor)->exchange(pairs, *stream).ok());
    ASSERT_EQ(gpu.launches.size(), 1u);
    EXPECT_LE(gpu.launches[0].blocks, std::min(blocks, 32u));
    EXPECT_GE(gpu.launches[0].blocks, std::min<uint32_t>(blocks, 2 * (kRanks - 1)));
    EXPECT_TRUE(gpu.synchronize(*stream).ok());
  }
  for (std::byte* const one : memory) EXPECT_TRUE(gpu.free(one, device::GpuMemory::device).ok());
  EXPECT_TRUE(gpu.destroy_stream(*stream).ok());
}

}  // namespace
}  // namespace weir::exec::gpu
