// SPDX-License-Identifier: Apache-2.0
// What processes pay that use no GPU, or have none: nothing is loaded, started or created for them.
#include <gmock/gmock.h>

#include "tests/device/gpu_user.h"

namespace weir::device {
namespace {

using ::testing::HasSubstr;

bool is_loaded(const char* library) { return dlopen(library, RTLD_LAZY | RTLD_NOLOAD) != nullptr; }

TEST(GpuAbsent, LooksDoNotLoadADriver) {
  const auto gpus = make_gpus();
  int word = 0;
  EXPECT_EQ(gpus->kind_of(&word), GpuMemory::host);
  EXPECT_EQ(gpus->of(nullptr), nullptr);
  EXPECT_EQ(gpus->of_stream(nullptr), nullptr);
  EXPECT_EQ(gpus->of_stream(&word), nullptr);
  EXPECT_FALSE(is_loaded(kDriver));
}

TEST(GpuAbsent, ADriverThatTheProcessLoadsLaterIsFound) {
  const auto gpus = make_gpus();
  int word = 0;
  EXPECT_EQ(gpus->kind_of(&word), GpuMemory::host);
  void* memory = nullptr;
  ASSERT_EQ(user("Malloc", &memory, size_t{64}), 0);
  EXPECT_EQ(gpus->kind_of(memory), GpuMemory::device);
  EXPECT_EQ(gpus->kind_of(&word), GpuMemory::host);
}

TEST(GpuAbsent, ALoadedDriverIsNotStarted) {
  if (kIsHip) GTEST_SKIP() << "HIP starts itself with any call";
  void* const driver = dlopen(kDriver, RTLD_NOW);
  ASSERT_NE(driver, nullptr) << dlerror();
  const auto gpus = make_gpus();
  int word = 0, count = 0;
  EXPECT_EQ(gpus->kind_of(&word), GpuMemory::host);
  EXPECT_EQ(gpus->of(nullptr), nullptr);
  EXPECT_EQ(gpus->of_stream(nullptr), nullptr);
  const auto count_gpus = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  EXPECT_EQ(count_gpus(&count), 3) << "not initialised";
}

TEST(GpuAbsent, LooksCreateNoContext) {
  if (kIsHip) GTEST_SKIP() << "HIP has none";
  int count = 0;
  ASSERT_EQ(user("GetDeviceCount", &count), 0);
  const auto gpus = make_gpus();
  int word = 0;
  EXPECT_EQ(gpus->kind_of(&word), GpuMemory::host);
  EXPECT_NE(gpus->of(nullptr), nullptr) << "the process uses CUDA: the first GPU";
  unsigned flags = 0;
  int active = 1;
  const auto state = reinterpret_cast<int (*)(int, unsigned*, int*)>(
      dlsym(dlopen(kDriver, RTLD_NOW), "cuDevicePrimaryCtxGetState"));
  ASSERT_EQ(state(0, &flags, &active), 0);
  EXPECT_EQ(active, 0);
}

TEST(GpuAbsent, ADriverWithoutGpus) {
  setenv("WEIR_FAKE_GPUS", "0", 1);
  const auto gpus = make_gpus();
  EXPECT_THAT(gpus->at(0).status().message(),
              HasSubstr(kIsHip ? "hipInit failed: hipErrorNoDevice (no GPU is detected)"
                               : "cuInit failed: CUDA_ERROR_NO_DEVICE (no GPU is detected)"));
  int word = 0;
  EXPECT_EQ(gpus->kind_of(&word), GpuMemory::host);
  EXPECT_EQ(gpus->of(nullptr), nullptr);
}

TEST(GpuAbsent, ADriverThatDoesNotStart) {
  setenv("WEIR_FAKE_GPU_FAULTS", "init", 1);
  EXPECT_THAT(make_gpus()->at(0).status().message(), HasSubstr("Init failed"));
}

TEST(GpuAbsent, EveryVendorsGpusInOne) {
  int word = 0;
  EXPECT_EQ(gpus().kind_of(&word), GpuMemory::host);
  EXPECT_EQ(gpus().of(nullptr), nullptr);
  EXPECT_EQ(gpus().of_stream(nullptr), nullptr);
  int device = -1;
  ASSERT_EQ(user("GetDevice", &device),
            0);  // HIP is at work from now on, which a driver of CUDA's does not change
  auto first = gpus().at(0);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_THAT((*first)->description(), HasSubstr(kIsHip ? "HIP GPU 0" : "CUDA GPU 0"));
  auto memory = (*first)->allocate(64, GpuMemory::device);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(gpus().kind_of(*memory), GpuMemory::device);
  EXPECT_EQ(gpus().of(*memory), *first);
  EXPECT_EQ(gpus().of(nullptr), *first);
}

}  // namespace
}  // namespace weir::device
