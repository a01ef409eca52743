// SPDX-License-Identifier: Apache-2.0
// The trainer's kernel of row operations as nvcc compiled it, in the place of the host's in
// tests/trainer/gpu_rows_test.cc, which calls it by the name of launch_rows(): the bits of the CPU, no races,
// and every operation runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bitset>

#include "tests/gpu/ptx/coverage.h"
#include "trainer/math/gpu/launch.h"

extern "C" {
void weir_train_rows(const void* launch, uint32_t block, uint32_t blocks);
void launch_rows(const void* launch, uint32_t block, uint32_t blocks);
}

namespace weir::trainer {
namespace {

constexpr size_t kKinds = std::variant_size_v<gpu::KernelCall>;
constexpr uint32_t kThreads = 64;  // four teams, in two warps

std::bitset<kKinds>& kinds_run() {
  static std::bitset<kKinds> kinds;
  return kinds;
}

std::vector<ptx::Coverage> coverage() {
  std::vector<ptx::Coverage> list(8);
  list.resize(weir_ptx_coverage(list.data(), static_cast<uint32_t>(list.size())));
  return list;
}

/// Sets the machine, and looks at what it found in all tests together.
class MachineOfAllTests final : public ::testing::Environment {
 public:
  void SetUp() override {
    const ptx::Settings settings{.threads = kThreads, .chance = 64};
    weir_ptx_set(&settings);
  }
  void TearDown() override {
    ptx::Report report;
    weir_ptx_take(&report);
    EXPECT_EQ(report.races, 0u) << report.first;
    EXPECT_GT(report.others.instructions, 0u) << "of threads that are not the first";
    fmt::print("{} of {} operations ran\n", kinds_run().count(), kKinds);
    if (::testing::GTEST_FLAG(filter) != "*") return;
    for (size_t kind = 0; kind < kKinds; ++kind)
      EXPECT_TRUE(kinds_run()[kind]) << "no test runs operation " << kind << " of KernelCall";
  }
};

[[maybe_unused]] const ::testing::Environment* const kEnvironments[] = {
    ::testing::AddGlobalTestEnvironment(new MachineOfAllTests),
    ::testing::AddGlobalTestEnvironment(new ptx::CoverageCheck(&coverage))};

}  // namespace
}  // namespace weir::trainer

void launch_rows(const void* launch, uint32_t block, uint32_t blocks) {
  weir::trainer::kinds_run().set(static_cast<const weir::trainer::gpu::RowLaunch*>(launch)->kind);
  weir_train_rows(launch, block, blocks);
}
