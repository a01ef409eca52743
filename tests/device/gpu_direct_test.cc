// SPDX-License-Identifier: Apache-2.0

#include "src/device/gpu_direct.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/device/gpu_user.h"

namespace weir::device {
namespace {

using ::testing::HasSubstr;

TEST(GpuDirect, AFileIsTheMemoryOfTheGpu) {
  const auto gpus = make_gpus();
  Gpu& gpu = **gpus->at(1);
  ASSERT_NE(gpu.direct(), nullptr);
  constexpr size_t kPage = 4096, kBytes = 1 << 16;
  auto memory = gpu.allocate(kBytes + kPage, GpuMemory::device);
  ASSERT_TRUE(memory.ok());
  EXPECT_FALSE(gpu.direct()->file_of(*memory, kBytes).ok()) << "it begins inside a page";
  char* const inside = static_cast<char*>(*memory) + kPage - reinterpret_cast<uintptr_t>(*memory) % kPage;
  EXPECT_FALSE(gpu.direct()->file_of(inside, kBytes - 512).ok()) << "it ends inside a page";
  auto file = gpu.direct()->file_of(inside, kBytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const off_t begin = lseek(file->fd(), 0, SEEK_CUR);  // of the stand-in
  auto* const seen =
      static_cast<int*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd(), begin));
  ASSERT_NE(seen, MAP_FAILED);
  const int value = 17;
  ASSERT_TRUE(gpu.copy(reinterpret_cast<int*>(inside) + 5, &value, sizeof(value), nullptr).ok());
  ASSERT_TRUE(gpu.synchronize(nullptr).ok());
  EXPECT_EQ(seen[5], 17);
  munmap(seen, kBytes);
  EXPECT_FALSE(gpu.direct()->file_of(inside + kPage, kBytes).ok()) << "over the end";
  EXPECT_TRUE(gpu.free(*memory, GpuMemory::device).ok());
}

TEST(GpuDirect, ARefusalNamesTheGpu) {
  const auto gpus = make_gpus();
  Gpu& gpu = **gpus->at(0);
  auto memory = gpu.allocate(1 << 16, GpuMemory::device);
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_FAULTS", "dmabuf,flush", 1), 0);
  EXPECT_THAT(gpu.direct()->file_of(*memory, 1 << 16).status().message(),
              AllOf(HasSubstr("GPU 0"), HasSubstr("MemGetHandleForAddressRange failed")));
  if (gpu.direct()->may_be_written().ok()) {
    EXPECT_THAT(gpu.direct()->settle().message(), HasSubstr("cuFlushGPUDirectRDMAWrites failed"));
  }
  unsetenv("WEIR_FAKE_GPU_FAULTS");
  EXPECT_TRUE(gpu.free(*memory, GpuMemory::device).ok());
}

/// CUDA's driver reports what is needed; HIP's does not, so NICs only read there.
TEST(GpuDirect, WhatAdaptersWriteIsSeenOrRefused) {
  const auto gpus = make_gpus();
  GpuDirect& direct = *(*gpus->at(0))->direct();
  EXPECT_EQ(direct.may_be_written().ok(), !kIsHip);
  if (kIsHip) {
    EXPECT_THAT(direct.may_be_written().message(), HasSubstr("that NIC writes become visible to kernels"));
  } else {
    EXPECT_TRUE(direct.settle().ok());
  }
}

}  // namespace
}  // namespace weir::device
