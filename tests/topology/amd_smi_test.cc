// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/amd_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/replaced.h"
#include "topology/model/check.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Three GPUs: the first two by two links at once, the third by PCIe.
constexpr const char* kText = R"(ACCESS TABLE:
             0000:0C:00.0 0000:22:00.0 0000:38:00.0
0000:0c:00.0 ENABLED      ENABLED      DISABLED
0000:22:00.0 ENABLED      ENABLED      DISABLED
0000:38:00.0 DISABLED     DISABLED     ENABLED

WEIGHT TABLE:
             0000:0c:00.0 0000:22:00.0 0000:38:00.0
0000:0c:00.0 0            15           40
0000:22:00.0 15           0            40
0000:38:00.0 40           40           0

HOPS TABLE:
             0000:0c:00.0 0000:22:00.0 0000:38:00.0
0000:0c:00.0 0            1            2
0000:22:00.0 1            0            2
0000:38:00.0 2            2            0

LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0 0000:38:00.0
0000:0c:00.0 SELF         XGMI         PCIE
0000:22:00.0 XGMI         SELF         PCIE
0000:38:00.0 PCIE         PCIE         SELF

NUMA BW TABLE:
             0000:0c:00.0 0000:22:00.0 0000:38:00.0
0000:0c:00.0 N/A          50000-100000 N/A
0000:22:00.0 50000-100000 N/A          N/A
0000:38:00.0 N/A          N/A          N/A

Legend:
  SELF = Current GPU
)";

std::string amd_smi_error(const std::string& text) {
  return read_amd_smi({"topo.txt", text}).status().message();
}

TEST(AmdSmi, TablesAreRead) {
  auto report = read_amd_smi({"topo.txt", kText});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(report->addresses, ElementsAre("0000:0c:00.0", "0000:22:00.0", "0000:38:00.0"));
  EXPECT_EQ(report->weights.at(0, 2), 40);
  EXPECT_EQ(report->links.at(1, 2), RocmLink::pcie);
  EXPECT_EQ(report->bandwidths.at(0, 1), (AmdSmiBandwidth{50000, 100000}));
}

TEST(AmdSmi, GpusHaveAddressesAndLinksHaveRates) {
  auto report = read_amd_smi({"topo.txt", kText});
  ASSERT_TRUE(report.ok()) << report.status().message();
  Notes notes;
  auto graph = graph_of(*report, &notes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_TRUE(check(*graph).ok()) << check(*graph).message();
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no NUMA node is given")));
  const auto gpus = graph->all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(3));
  EXPECT_EQ(graph->get<GpuFacts>(gpus[1])->pci.address, "0000:22:00.0");
  int xgmi = 0;
  for (const Link& link : graph->links()) {
    if (link.kind != LinkKind::xgmi) continue;
    ++xgmi;
    EXPECT_EQ(link.gb_per_s, 100);
    EXPECT_EQ(link.count, 2);
  }
  EXPECT_EQ(xgmi, 2);
  // Some drivers report no figures.
  std::string text = kText;
  for (int i = 0; i < 2; ++i) text = replaced(text, "50000-100000", "0-0         ");
  auto without = graph_of(*read_amd_smi({"topo.txt", text}), &notes);
  ASSERT_TRUE(without.ok());
  for (const Link& link : without->links()) EXPECT_EQ(link.gb_per_s, 0);
}

TEST(AmdSmi, WhatDoesNotReadIsRefusedWithItsLine) {
  EXPECT_THAT(amd_smi_error(""), HasSubstr("the table LINK TYPE is missing"));
  EXPECT_THAT(
      amd_smi_error(replaced(kText, "XGMI ", "ROAD ")),
      HasSubstr("topo.txt:21: the table LINK TYPE has \"ROAD\" in row 0000:0c:00.0 for 0000:22:00.0"));
  EXPECT_THAT(amd_smi_error(replaced(kText, "XGMI         SELF", "XGMI         PCIE")),
              HasSubstr("expected SELF"));
  EXPECT_THAT(amd_smi_error(replaced(kText, "0000:38:00.0 40 ", "0000:39:00.0 40 ")),
              HasSubstr("row 0000:39:00.0 belongs to no GPU"));
  EXPECT_THAT(amd_smi_error(replaced(kText, "0000:38:00.0 40 ", "0000:22:00.0 40 ")),
              HasSubstr("occurs twice"));
  EXPECT_THAT(amd_smi_error(replaced(kText, "15           40", "15")), HasSubstr("has 2 cells; expected 3"));
  EXPECT_THAT(amd_smi_error(replaced(kText, "0000:38:00.0 2            2            0\n", "")),
              HasSubstr("the table HOPS ends without a row for 0000:38:00.0"));
  EXPECT_THAT(amd_smi_error(replaced(kText, "50000-100000", "100000-50000")), HasSubstr("expected MB/s"));
  EXPECT_THAT(amd_smi_error(replaced(kText, "ACCESS TABLE:\n", "")), HasSubstr("unknown line"));
  EXPECT_THAT(amd_smi_error(replaced(kText, "ACCESS", "SUCCESS")), HasSubstr("unknown table \"SUCCESS\""));
  Notes notes;
  EXPECT_TRUE(read_amd_smi({"topo.txt", replaced(kText, "ACCESS", "SUCCESS")}, &notes).ok());
  EXPECT_THAT(notes, SizeIs(1));
}

}  // namespace
}  // namespace weir::topology
