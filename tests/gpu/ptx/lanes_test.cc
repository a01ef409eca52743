// SPDX-License-Identifier: Apache-2.0
// The compiled kernels with blocks of several threads, random turns and a weak memory model: the bits of Run,
// and no races.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/coverage.h"
#include "tests/gpu/ptx/run_cases.h"

namespace weir::exec::gpu {

const ptx::KernelLibrary& library() {
  static const ptx::KernelLibrary library(WEIR_PTX_KERNELS);
  return library;
}
HostKernel host_kernel(RingProtocol protocol) {
  return library().find<HostKernel>(protocol == RingProtocol::packet ? "weir_lanes_packet"
                                                                     : "weir_lanes_bandwidth");
}
HostPairsKernel pairs_kernel() { return library().find<HostPairsKernel>("weir_pairs"); }

namespace {

[[maybe_unused]] const ::testing::Environment* const kAllKernelsRun =
    ::testing::AddGlobalTestEnvironment(new ptx::CoverageCheck([] { return library().coverage(); }));

void expect_no_races() {
  const ptx::Report report = library().take();
  EXPECT_EQ(report.races, 0u) << report.first;
  EXPECT_GT(report.leaders.instructions, 0u);
}

class PtxLanes : public ::testing::TestWithParam<Case> {};

TEST_P(PtxLanes, GiveTheBitsOfRun) {
  EXPECT_EQ(run_case(GetParam()), "");
  expect_no_races();
}

constexpr auto kBandwidth = RingProtocol::bandwidth;
constexpr auto kPacket = RingProtocol::packet;
INSTANTIATE_TEST_SUITE_P(
    Compiled, PtxLanes,
    ::testing::Values(
        Case{"ring", Collective::all_reduce, 3, kBandwidth, 7, 1, 701, 2},
        Case{"ring", Collective::all_reduce, 3, kBandwidth, 32, 2, 1003, 1, DataType::bfloat16},
        Case{"ring", Collective::all_reduce, 2, kBandwidth, 64, 3, 2000, 2, DataType::float16},
        Case{"ring", Collective::all_reduce, 2, kBandwidth, 512, 4, 3000},
        Case{"ring", Collective::all_gather, 3, kBandwidth, 16, 5, 500, 1, DataType::uint8},
        Case{"ring", Collective::reduce_scatter, 3, kBandwidth, 33, 6, 500},
        Case{"one_shot", Collective::all_reduce, 3, kBandwidth, 32, 12, 900, 1, DataType::int32, true},
        Case{"one_shot", Collective::all_gather, 3, kBandwidth, 9, 13, 300, 1, DataType::int32, true},
        Case{"one_shot", Collective::all_reduce, 3, kPacket, 7, 7, 300},
        Case{"one_shot", Collective::all_reduce, 3, kPacket, 32, 8, 301, 1, DataType::bfloat16},
        Case{"one_shot", Collective::all_reduce, 2, kPacket, 512, 9, 1500},
        Case{"ring", Collective::all_reduce, 3, kPacket, 64, 10, 700},
        Case{"ring", Collective::broadcast, 3, kPacket, 16, 11, 300, 2}),
    [](const auto& info) {
      return fmt::format("{}{}Of{}Threads", info.param.protocol == kPacket ? "Packets" : "Slots", info.index,
                         info.param.threads);
    });

TEST(PtxPairs, MessagesArrive) {
  for (const uint32_t threads : {7u, 64u, 512u}) {
    library().set({threads, 4, threads});
    PairRanks all(3, 2, 2);
    EXPECT_EQ(exchange(all, 3, 20, true, threads, 9000), "");
    EXPECT_EQ(exchange(all, 3, 20, threads == 7, threads + 1, 9000), "");
    expect_no_races();
  }
}

}  // namespace
}  // namespace weir::exec::gpu
