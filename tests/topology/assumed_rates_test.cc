// SPDX-License-Identifier: Apache-2.0
#include "topology/model/assumed_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/make_graph.h"
#include "topology/formats/any.h"
#include "topology/model/check.h"
#include "topology/model/device_rates.h"

namespace weir::topology {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Graph read(std::string_view text) {
  Notes notes;
  auto graph = read_any({"file", text}, &notes);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(*graph) : Graph();
}

bool complete(const Graph& graph) {
  return check(graph).ok() && std::all_of(graph.links().begin(), graph.links().end(),
                                          [](const Link& link) { return link.gb_per_s > 0; });
}

/// The rates of all links of that kind, each once.
std::vector<double> rates(const Graph& graph, LinkKind kind) {
  std::vector<double> found;
  for (const Link& link : graph.links()) {
    if (link.kind == kind) found.push_back(link.gb_per_s);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

constexpr std::string_view kFourLinks =
    "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\n"
    "GPU0\t X \tNV12\tPIX\t0-15\n"
    "GPU1\tNV12\t X \tSYS\t16-31\n"
    "mlx5_0\tPIX\tSYS\t X \n";

TEST(AssumedRates, FollowTheNumberOfNvlinks) {
  Graph graph = read(kFourLinks);
  const std::string said = assume_rates(graph);
  EXPECT_TRUE(complete(graph));
  EXPECT_EQ(
      said,
      "NVLink 25 GB/s per link (NVLink 3), PCIe 31.5 GB/s (Gen4 x16), between NUMA nodes 16 GB/s (unknown "
      "processor), NIC 25 GB/s (mlx5, 200 Gb/s)");
  EXPECT_EQ(rates(graph, LinkKind::nvlink), std::vector<double>{12 * 25.0});
  EXPECT_EQ(assume_rates(graph), "") << "nothing is missing any more";
}

TEST(AssumedRates, PreferWhatIsGiven) {
  Graph graph = read(kFourLinks);
  const auto preferred = parse_assumed_rates("nvlink=20,pcie=26,cpu=32,nic=12.5");
  ASSERT_TRUE(preferred.ok());
  const std::string said = assume_rates(graph, *preferred);
  EXPECT_THAT(said,
              AllOf(HasSubstr("NVLink 20 GB/s per link (as given)"), HasSubstr("NIC 12.5 GB/s (as given)")));
  EXPECT_EQ(rates(graph, LinkKind::nvlink), std::vector<double>{12 * 20.0});
  EXPECT_EQ(rates(graph, LinkKind::cpu), std::vector<double>{32});
  EXPECT_EQ(rates(graph, LinkKind::inner), std::vector<double>{12.5});
}

TEST(AssumedRates, KeepWhatIsKnown) {
  const Graph before = make_graph("2 x (8 gpu nvswitch 450, 8 nic 50) leaf 4:1 spine 2");
  Graph after = before;
  EXPECT_EQ(assume_rates(after, {.nvlink = 1, .pcie = 1, .nic = 1, .network = 1}), "");
  EXPECT_EQ(after, before);
}

TEST(AssumedRates, FollowTheNamesOfDevices) {
  const auto gpu = [](const std::string& name, uint32_t vendor = 0, uint32_t device = 0) {
    GpuFacts facts;
    facts.model_name = name;
    facts.pci.vendor = vendor;
    facts.pci.device = device;
    return arch_of(facts);
  };
  EXPECT_EQ(gpu("Tesla V100-SXM2-16GB"), "sm_70");
  EXPECT_EQ(gpu("GA100 [A100 SXM4 40GB]"), "sm_80");
  EXPECT_EQ(gpu("NVIDIA H200"), "sm_90");
  EXPECT_EQ(gpu("NVIDIA A10"), "sm_86");
  EXPECT_EQ(gpu("AMD Instinct MI300X OAM"), "gfx942");
  EXPECT_EQ(gpu("A GPU"), "");
  EXPECT_EQ(gpu("", 0x10de, 0x2330), "sm_90");
  EXPECT_EQ(gpu("", 0x1002, 0x740c), "gfx90a");
  EXPECT_EQ(gpu("", 0x1234, 0x2330), "");

  NicFacts nic;
  EXPECT_EQ(assumed_nic(nic, "mlx5_0", "").gb_per_s, 25);
  EXPECT_EQ(assumed_nic(nic, "mlx5_0", "sm_90").gb_per_s, 50);
  EXPECT_EQ(assumed_nic(nic, "rdmap0s1", "sm_90").gb_per_s, 12.5);
  nic.model_name = "MT27710 Family [ConnectX-4 Lx]";
  EXPECT_EQ(assumed_nic(nic, "mlx5_0", "sm_90"), (NamedRate{3.125, "ConnectX-4 Lx, 25 Gb/s"}));
  nic.pci.vendor = 0x15b3;
  nic.pci.device = 0x1021;
  EXPECT_EQ(assumed_nic(nic, "mlx5_0", "sm_70").name, "ConnectX-7, 400 Gb/s");
  EXPECT_EQ(assumed_pcie(5).name, "Gen5 x16");
  EXPECT_EQ(assumed_pcie(0).name, "Gen4 x16");
}

TEST(AssumedRates, AllOfEightJoinedByXgmiAreMi300) {
  std::string head = "       ", rows;
  for (int i = 0; i < 8; ++i) head += " GPU" + std::to_string(i);
  for (int i = 0; i < 8; ++i) {
    rows += "GPU" + std::to_string(i);
    for (int j = 0; j < 8; ++j) rows += i == j ? " 0" : " XGMI";
    rows += "\n";
  }
  Graph graph =
      read("=== Link Type between two GPUs ===\n" + head + "\n" + rows + "=== End of ROCm SMI Log ===\n");
  EXPECT_THAT(assume_rates(graph), HasSubstr("xGMI 64 GB/s per link (gfx942), PCIe 63 GB/s (Gen5 x16)"));
  EXPECT_TRUE(complete(graph));
}

TEST(AssumedRates, SwitchesAreNotOversubscribed) {
  Graph graph = read(
      "SwitchName=leaf1 Nodes=n[1-4]\nSwitchName=leaf2 Nodes=n[5-6]\n"
      "SwitchName=spine Switches=leaf[1-2]\n");
  const std::string said = assume_rates(graph);
  EXPECT_TRUE(complete(graph));
  EXPECT_EQ(said, "NIC 25 GB/s (200 Gb/s), no oversubscription between switches");
  EXPECT_EQ(rates(graph, LinkKind::cable), (std::vector<double>{25, 50, 100}));
  graph = read(
      "SwitchName=leaf1 Nodes=n[1-4]\nSwitchName=leaf2 Nodes=n[5-6]\nSwitchName=spine Switches=leaf[1-2]\n");
  EXPECT_THAT(assume_rates(graph, {.network = 60}), HasSubstr("60 GB/s between switches (as given)"));
  EXPECT_EQ(rates(graph, LinkKind::cable), (std::vector<double>{25, 60}));
}

TEST(AssumedRates, BlocksAreConnectedByANetwork) {
  Graph graph = read("BlockName=a Nodes=a[1-2]\nBlockName=b Nodes=b[1-2]\n");
  EXPECT_THAT(assume_rates(graph),
              AllOf(HasSubstr("NVLink 3600 GB/s per host"), HasSubstr("connects all blocks")));
  EXPECT_TRUE(complete(graph));
  EXPECT_EQ(graph.all(NodeKind::fabric_switch).size(), 3u);
  EXPECT_EQ(rates(graph, LinkKind::cable), std::vector<double>{25});
  graph = read("BlockName=a Nodes=a[1-2]\n");
  EXPECT_THAT(assume_rates(graph), Not(HasSubstr("network")));
}

TEST(AssumedRates, HostsWithoutContentsAreAsFastAsTheirNics) {
  const Graph before = make_graph("2 x (1 nic 50) leaf");
  Graph graph = before;
  EXPECT_EQ(assume_rates(graph), "hosts as fast as their NICs");
  EXPECT_TRUE(complete(graph));
  EXPECT_TRUE(check(graph).ok());
  ASSERT_EQ(graph.links().size(), before.links().size() + 4) << "cables are counted once";
  EXPECT_EQ(graph[graph.links().back().to].kind(), NodeKind::host);
  EXPECT_EQ(graph.links().back().kind, LinkKind::inner);
  EXPECT_EQ(assume_rates(graph), "");
  graph = make_graph("2 x (1 gpu pcie 32, 1 nic 50) leaf");
  EXPECT_EQ(assume_rates(graph), "") << "GPUs are the ranks";
}

TEST(AssumedRates, RefuseBadChoices) {
  const auto message = [](std::string_view text) { return parse_assumed_rates(text).status().message(); };
  EXPECT_THAT(message("nvlinks=3"), HasSubstr("\"nvlinks=3\" is no assumption; expected NAME=GB/s"));
  EXPECT_THAT(message("nvlink"), HasSubstr("is no assumption"));
  for (const char* bad : {"nic=", "nic=0", "nic=-1", "nic=25GB", "nic=nan", "nic=inf", "nic=1e9"})
    EXPECT_THAT(message(bad), HasSubstr("expected GB/s, a number above 0")) << bad;
  EXPECT_THAT(message("nic=1,nic=2"), HasSubstr("nic occurs twice"));
  EXPECT_EQ(*parse_assumed_rates(""), AssumedRates{});
}

}  // namespace
}  // namespace weir::topology
