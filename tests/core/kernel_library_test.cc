// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/kernel_library.h"

#include <gmock/gmock.h>

#include <string>

namespace weir::core {
namespace {

using ::testing::HasSubstr;

/// A driver that has modules, in which one kernel may be missing.
class Modules final : public device::GpuKernels {
 public:
  explicit Modules(std::string missing = "") : missing_(std::move(missing)) {}
  int loaded() const { return loaded_; }

  std::string_view code() const override { return "hip"; }
  Result<device::GpuModule> load(const void* image) override {
    ++loaded_;
    return const_cast<void*>(image);
  }
  Status unload(device::GpuModule) override {
    --loaded_;
    return {};
  }
  Result<device::GpuKernel> find(device::GpuModule module, const char* name) override {
    if (name == missing_) return Status(Code::system_error, "no kernel " + missing_);
    return device::GpuKernel(module);
  }
  Status launch(const device::GpuLaunch&, device::GpuStream) override { return {}; }
  Result<int> multiprocessors() override { return 1; }
  Result<int> resident_blocks(device::GpuKernel, uint32_t, uint32_t) override { return 1; }

 private:
  const std::string missing_;
  int loaded_ = 0;
};

TEST(KernelLibrary, LoadsAllKernelsOrKeepsNothing) {
  const int image = 0;
  Modules whole;
  const auto kernels = load_kernels(whole, &image);
  ASSERT_TRUE(kernels.ok());
  EXPECT_EQ(kernels->transfer, &image);
  EXPECT_EQ(kernels->most_threads, exec::gpu::kMostThreadsOfAmd);
  EXPECT_EQ(whole.loaded(), 1);
  for (const char* const name :
       {"weir_lanes_bandwidth", "weir_lanes_packet", "weir_transfer", "weir_pairs"}) {
    Modules lacking(name);
    EXPECT_THAT(load_kernels(lacking, &image).status().message(), HasSubstr(name));
    EXPECT_EQ(lacking.loaded(), 0) << name;
  }
}

}  // namespace
}  // namespace weir::core
