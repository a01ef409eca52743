// SPDX-License-Identifier: Apache-2.0
// Moves of programs as the compiled weir_transfer does them: the bits of the host's build, and no races.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/lane_library.h"
#include "tests/gpu/ptx/transfer_cases.h"

namespace weir::exec::gpu {
namespace {

TEST(PtxTransfer, GivesTheBitsOfTheHost) {
  const MoveCase cases[] = {
      {DataType::float32, RedOp::sum, 2003, 2, 1, 3, 32},
      {DataType::float32, RedOp::max, 64, 4, 2, 2, 7},
      {DataType::float32, RedOp::sum, 6001, 3, 4, 2, 512},
      {DataType::float32, RedOp::prod, 501, 2, 1, 2, 33, 4},
      {DataType::float64, RedOp::min, 301, 2, 2, 2, 16, 8},
      {DataType::bfloat16, RedOp::sum, 1001, 3, 1, 2, 64},
      {DataType::float16, RedOp::sum, 777, 2, 1, 3, 32, 2, 0b10},
      {DataType::float8e4m3, RedOp::sum, 333, 2, 1, 2, 16, 1},
      {DataType::int8, RedOp::prod, 1000, 2, 3, 2, 32, 0, 0b01},
      {DataType::int32, RedOp::sum, 999, 4, 1, 2, 32, 0, 0, 3},
      {DataType::int64, RedOp::sum, 95, 2, 1, 2, 8, 0, 0, 5},
      {DataType::uint64, RedOp::max, 1, 1, 1, 4, 32},
  };
  const ptx::KernelLibrary host(WEIR_HOST_KERNELS);
  uint64_t seed = 0;
  for (const MoveCase& one : cases) {
    EXPECT_EQ(run_move_case(library(), host, one, ++seed), "");
    const ptx::Report report = library().take();
    EXPECT_EQ(report.races, 0u) << report.first;
    EXPECT_GT(report.leaders.instructions + report.others.instructions, 0u);
  }
}

}  // namespace
}  // namespace weir::exec::gpu
