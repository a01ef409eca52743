// SPDX-License-Identifier: Apache-2.0
// The views for terminals and programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/topology/make_graph.h"
#include "topology/views/json.h"
#include "topology/views/matrix.h"
#include "topology/views/tree.h"
#include "topology/views/words.h"

namespace weir::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Words, FiguresHaveThreeDigitsThatCount) {
  EXPECT_EQ(bandwidth_words(450), "450 GB/s");
  EXPECT_EQ(bandwidth_words(31.507692), "31.5 GB/s");
  EXPECT_EQ(bandwidth_words(0.25), "0.25 GB/s");
  EXPECT_EQ(bandwidth_words(99.96), "100 GB/s");
  EXPECT_EQ(bandwidth_words(9.999), "10 GB/s");
  EXPECT_EQ(bandwidth_words(25), "25 GB/s");
  EXPECT_EQ(bandwidth_words(0), "? GB/s");
  PciFacts pci;
  EXPECT_EQ(pcie_words(pci), "");
  pci.gt_per_s = 16;
  pci.width = 8;
  EXPECT_EQ(pcie_words(pci), "PCIe x8 at 16 GT/s");
  pci.most_gt_per_s = 32;
  pci.most_width = 16;
  EXPECT_EQ(pcie_words(pci), "PCIe x8 at 16 GT/s of x16 at 32 GT/s");
}

TEST(Tree, ShowsWhatThereIs) {
  const std::string text =
      tree_of(make_graph("3 x (2 numa, 4 gpu nvswitch 300 pcie 32, 2 nic 25) leaf by 2 2:1 spine 2"));
  for (const char* words :
       {"host host0 and 2 more of the same class\n", "  NUMA node 0  CPU 16 GB/s to NUMA node 1\n",
        "    PCIe switch 0000:10:00.0  32 GB/s\n",
        "      GPU 0  0000:50:00.0, 32 GB/s, NVLink 300 GB/s to an NVSwitch\n",
        "        port nic0  200 Gb/s\n", "nearest NICs\n  GPU 0    PIX  nic0\n",
        "leaf leaf0  2 hosts, 4 ports, 100 GB/s down, 50 GB/s up, 2:1\n", "  2 spines\n"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
  EXPECT_THAT(text, Not(HasSubstr("host1")));
}

TEST(Tree, LinksOfEqualSpeedStandTogether) {
  const std::string text = tree_of(make_graph("(8 gpu cube 25)"));
  EXPECT_THAT(text, HasSubstr("NVLink 25 GB/s to GPU 1 and GPU 2, NVLink 50 GB/s to GPU 3 and GPU 4"));
  EXPECT_THAT(text, Not(HasSubstr("nearest"))) << "there is no NIC";
}

TEST(Matrix, ClassesAndSpeeds) {
  const Graph graph = make_graph("(2 numa, 4 gpu ring 46 pcie 32, 2 nic 25)");
  EXPECT_EQ(matrix_of(graph, graph.all(NodeKind::host)[0]),
            "      GPU0  GPU1  GPU2  GPU3  nic0  nic1\n"
            "GPU0     X   XG1   NVB   XG1   PIX   SYS\n"
            "GPU1   XG1     X   XG1   NVB   PIX   SYS\n"
            "GPU2   NVB   XG1     X   XG1   SYS   PIX\n"
            "GPU3   XG1   NVB   XG1     X   SYS   PIX\n"
            "nic0   PIX   PIX   SYS   SYS     X   SYS\n"
            "nic1   SYS   SYS   PIX   PIX   SYS     X\n"
            "\n"
            "GB/s  GPU0  GPU1  GPU2  GPU3  nic0  nic1\n"
            "GPU0     X    46    46    46    25    16\n"
            "GPU1    46     X    46    46    25    16\n"
            "GPU2    46    46     X    46    16    25\n"
            "GPU3    46    46    46     X    16    25\n"
            "nic0    25    25    16    16     X    16\n"
            "nic1    16    16    25    25    16     X\n");
}

TEST(Json, HoldsEveryNodeAndLink) {
  Graph graph = make_graph("2 x (2 gpu mesh 50, 1 nic 25) leaf");
  graph[0].name = "quote\" and \xff";
  const auto json = nlohmann::json::parse(json_of(graph));
  ASSERT_EQ(json["nodes"].size(), static_cast<size_t>(graph.size()));
  ASSERT_EQ(json["links"].size(), graph.links().size());
  EXPECT_EQ(json["nodes"][0]["kind"], "host");
  EXPECT_FALSE(json["nodes"][0].contains("parent"));
  const Index gpu = graph.all(NodeKind::gpu)[1];
  EXPECT_EQ(json["nodes"][static_cast<size_t>(gpu)]["device"], 1);
  EXPECT_EQ(json["links"][0]["gb_per_s"], graph.links()[0].gb_per_s);
}

}  // namespace
}  // namespace weir::topology
