// SPDX-License-Identifier: Apache-2.0
// Tests with tests/drivers/fake_rocm_smi.cc as librocm_smi64.so.
#include "src/drivers/rocm_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace weir::drivers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Type = RocmSmiLink::Type;

TEST(RocmSmi, TellsWhatTheLibraryTells) {
  auto smi = read_rocm_smi();
  ASSERT_TRUE(smi.ok()) << smi.status().message();
  EXPECT_EQ(smi->version, "6.1.2");
  ASSERT_THAT(smi->gpus, SizeIs(3));
  const RocmSmiGpu& first = smi->gpus[0];
  EXPECT_EQ(first.address, "0000:1b:01.0");
  EXPECT_EQ(first.partition, 0);
  EXPECT_EQ(first.name, "AMD Instinct MI250X 0");
  EXPECT_EQ(first.unique_id, 0xfedcba9876543210u);
  EXPECT_EQ(first.numa_node, 0);
  EXPECT_EQ(first.compute_partition, "SPX");
  EXPECT_EQ(first.memory_partition, "NPS1");
  EXPECT_EQ(first.links, (std::vector<RocmSmiLink>{{1, Type::xgmi, 1, 15, 50000, 200000},
                                                   {2, Type::xgmi, 1, 15, 50000, 50000}}));
  const RocmSmiGpu& last = smi->gpus[2];
  EXPECT_EQ(last.address, "0001:d1:00.0");
  EXPECT_EQ(last.partition, 2);
  EXPECT_EQ(last.numa_node, -1) << "not told";
  EXPECT_EQ(last.compute_partition, "");
  EXPECT_EQ(last.links[1], (RocmSmiLink{1, Type::pcie, 2, 72, 0, 0}));
}

TEST(RocmSmi, ARecordIsTheSame) {
  auto smi = read_rocm_smi();
  ASSERT_TRUE(smi.ok());
  auto again = read_rocm_smi_record(write_record(*smi));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *smi);
}

TEST(RocmSmi, BrokenLibrariesAndRecords) {
  setenv("WEIR_FAKE_ROCM_SMI", "broken", 1);
  EXPECT_EQ(read_rocm_smi().status().message(),
            "ROCm SMI could not start: An error occurred during initialization");
  unsetenv("WEIR_FAKE_ROCM_SMI");
  for (const char* text : {"", "{", "[]", "{\"version\": 1}", "{\"version\": \"x\", \"gpus\": [{}]}"})
    EXPECT_EQ(read_rocm_smi_record(text).status().code(), Code::invalid_argument) << text;
}

}  // namespace
}  // namespace weir::drivers
