// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/transfer_survey.h"

#include <gtest/gtest.h>

namespace weir::trainer {
namespace {

constexpr double kMegabyte = 1e6;

/// A ring of W ranks carries (W-1)/W of the bytes in W-1 steps.
double ring(const MeasuredLinks& links, int ranks, double bytes) {
  return bytes * (ranks - 1) / ranks / links.rate + (ranks - 1) * links.latency;
}

TEST(TransferSurvey, TheTopologyTakesWhatWasMeasured) {
  const MeasuredLinks inside{4e9, 20e-6}, between{1e8, 100e-6};
  for (const int hosts : {1, 2, 4}) {
    SCOPED_TRACE(hosts);
    const auto links = measured_topology(hosts, 2, inside, hosts > 1 ? between : MeasuredLinks{});
    ASSERT_TRUE(links.ok()) << links.status().message();
    const auto in_hosts = (*links)->seconds(Collective::all_gather, hosts, {2, 1}, kMegabyte);
    ASSERT_TRUE(in_hosts.ok());
    EXPECT_NEAR(*in_hosts, ring(inside, 2, kMegabyte), 1e-6);
    if (hosts == 1) continue;
    const auto everywhere = (*links)->seconds(Collective::all_gather, hosts, {2 * hosts, 1}, kMegabyte);
    ASSERT_TRUE(everywhere.ok());
    EXPECT_NEAR(*everywhere, ring(between, 2 * hosts, kMegabyte), 0.2 * *everywhere);
  }
}

TEST(TransferSurvey, HostsOfOneRankHaveOnlyTheirNics) {
  const MeasuredLinks between{1e8, 100e-6};
  const auto links = measured_topology(4, 1, {}, between);
  ASSERT_TRUE(links.ok()) << links.status().message();
  const auto seconds = (*links)->seconds(Collective::all_gather, 4, {4, 1}, kMegabyte);
  ASSERT_TRUE(seconds.ok());
  EXPECT_NEAR(*seconds, ring(between, 4, kMegabyte), 1e-6);
}

}  // namespace
}  // namespace weir::trainer
