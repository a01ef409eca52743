// SPDX-License-Identifier: Apache-2.0
// Tests with tests/drivers/fake_nvml.cc as libnvidia-ml.so.1.
#include "src/drivers/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace weir::drivers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Nvml, TellsWhatTheLibraryTells) {
  auto nvml = read_nvml();
  ASSERT_TRUE(nvml.ok()) << nvml.status().message();
  EXPECT_EQ(nvml->driver, "999.1");
  ASSERT_THAT(nvml->gpus, SizeIs(2));
  const NvmlGpu& first = nvml->gpus[0];
  EXPECT_EQ(first.address, "0000:1b:00.0");
  EXPECT_EQ(first.name, "NVIDIA H100");
  EXPECT_EQ(first.uuid, "GPU-0");
  EXPECT_EQ(first.major * 10 + first.minor, 90);
  EXPECT_EQ(first.pcie_generation, 4);
  EXPECT_EQ(first.pcie_width, 8);
  EXPECT_EQ(first.most_pcie_generation, 5);
  EXPECT_EQ(first.most_pcie_width, 16);
  const NvmlLink to_gpu{NvmlLink::Remote::gpu, "0000:2b:00.0", 4};
  const NvmlLink to_switch{NvmlLink::Remote::nvswitch, "", 4};
  EXPECT_EQ(first.links, (std::vector<NvmlLink>{to_gpu, to_gpu, to_switch}))
      << "the one that is down is left out";
  EXPECT_FALSE(first.mig);
  EXPECT_EQ(first.c2c_links, 0);
  const NvmlGpu& second = nvml->gpus[1];
  EXPECT_EQ(second.pcie_width, 0) << "not told";
  EXPECT_TRUE(second.mig);
  EXPECT_EQ(second.partitions, (std::vector<NvmlPartition>{{"MIG-0", "3g.40gb"}, {"MIG-1", "3g.40gb"}}));
}

TEST(Nvml, ARecordIsTheSame) {
  auto nvml = read_nvml();
  ASSERT_TRUE(nvml.ok());
  auto again = read_nvml_record(write_record(*nvml));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *nvml);
}

TEST(Nvml, BrokenLibrariesAndRecords) {
  setenv("WEIR_FAKE_NVML", "broken", 1);
  EXPECT_THAT(read_nvml().status().message(), HasSubstr("NVML could not start: Driver Not Loaded"));
  unsetenv("WEIR_FAKE_NVML");
  for (const char* text : {"", "{", "[]", "{\"driver\": 1}", "{\"driver\": \"x\", \"gpus\": [{}]}"})
    EXPECT_EQ(read_nvml_record(text).status().code(), Code::invalid_argument) << text;
}

}  // namespace
}  // namespace weir::drivers
