// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/rocm_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/replaced.h"
#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// GPU0 and GPU1 are one xGMI link apart, GPU2 two from GPU0; GPU3 is on PCIe at another processor.
constexpr const char* kTopology =
    "# a comment\n"
    "\n"
    "====================== ROCm System Management Interface ======================\n"
    "=========================== Weight between two GPUs ==========================\n"
    "       GPU0         GPU1         GPU2         GPU3\n"
    "GPU0   0            15           30           72\n"
    "GPU1   15           0            15           72\n"
    "GPU2   30           15           0            72\n"
    "GPU3   72           72           72           0\n"
    "\n"
    "=== Hops between two GPUs ===\n"
    "       GPU0         GPU1         GPU2         GPU3\n"
    "GPU0   0            1            1            3\n"
    "GPU1   1            0            1            3\n"
    "GPU2   1            1            0            3\n"
    "GPU3   3            3            3            0\n"
    "=== Link Type between two GPUs ===\n"
    "       GPU[0]       GPU[1]       GPU[2]       GPU[3]\n"
    "GPU[0] 0            XGMI         XGMI         PCIE\n"
    "GPU[1] XGMI         0            XGMI         PCIE\n"
    "GPU[2] XGMI         XGMI         0            PCIE\n"
    "GPU[3] PCIE         PCIE         PCIE         0\n"
    "================================ Numa Nodes ==================================\n"
    "GPU[0]\t\t: (Topology) Numa Node: 0\n"
    "GPU[0]\t\t: (Topology) Numa Affinity: 0\n"
    "GPU[1]\t\t: (Topology) Numa Node: 0\n"
    "GPU[2]: (Topology) Numa Node: 0\n"
    "GPU3 : (Topology) Numa Node: 1\n"
    "============================ End of ROCm SMI Log =============================\n";

RocmSmiReport rocm_smi_of(const std::string& text, Notes* notes = nullptr) {
  auto matrix = read_rocm_smi({"topo.txt", text}, notes);
  EXPECT_TRUE(matrix.ok()) << matrix.status().message();
  return matrix.ok() ? *matrix : RocmSmiReport{};
}

std::string rocm_smi_error(const std::string& text) {
  return read_rocm_smi({"topo.txt", text}).status().message();
}

/// Only the types of links.
std::string types(const std::string& rows) { return "== Link Type between two GPUs ==\n" + rows; }

std::vector<std::string> links(const Graph& graph, LinkKind kind) {
  std::vector<std::string> found;
  for (const Link& link : graph.links()) {
    if (link.kind == kind && link.from < link.to)
      found.push_back(graph[link.from].name + "-" + graph[link.to].name);
  }
  return found;
}

TEST(RocmSmi, SectionsAreRead) {
  const RocmSmiReport matrix = rocm_smi_of(kTopology);
  EXPECT_THAT(matrix.gpus, ElementsAre(RocmSmiReportGpu{0, 0, 0}, RocmSmiReportGpu{1, 0, -1},
                                       RocmSmiReportGpu{2, 0, -1}, RocmSmiReportGpu{3, 1, -1}));
  EXPECT_EQ(matrix.weights.at(0, 2), 30);
  EXPECT_EQ(matrix.hops.at(3, 1), 3);
  EXPECT_EQ(matrix.links.at(0, 1), RocmLink::xgmi);
  EXPECT_EQ(matrix.links.at(2, 3), RocmLink::pcie);
  EXPECT_EQ(matrix.links.at(2, 2), RocmLink::self);
  EXPECT_EQ(rocm_smi_of(write_rocm_smi(matrix)), matrix);
}

TEST(RocmSmi, WhatIsNotAvailableStaysUnknown) {
  std::string text =
      replaced(kTopology, "GPU0   0            15           30", "GPU0   0            N/A          30");
  text = replaced(text, "GPU1   15           0 ", "GPU1   N/A          0 ");
  text = replaced(text, "GPU[0] 0            XGMI         XGMI", "GPU[0] N/A          XGMI         N/A ");
  text = replaced(text, "GPU[2] XGMI ", "GPU[2] N/A  ");
  const RocmSmiReport matrix = rocm_smi_of(text);
  EXPECT_EQ(matrix.weights.at(1, 0), -1);
  EXPECT_EQ(matrix.links.at(0, 2), RocmLink::unknown);
  EXPECT_EQ(rocm_smi_of(write_rocm_smi(matrix)), matrix);
}

TEST(RocmSmi, WhatDoesNotReadIsRefusedWithItsLine) {
  EXPECT_THAT(rocm_smi_error(""), HasSubstr("the section Link Type between two GPUs is missing"));
  EXPECT_EQ(rocm_smi_error(types("  GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n")), "");
  EXPECT_EQ(rocm_smi_error(types("  GPU0 GPU1\nGPU0 0 XGMI\n")),
            "topo.txt:3: the section Link Type between two GPUs ends without a row for GPU1");
  EXPECT_THAT(rocm_smi_error(types("")), HasSubstr("ends before its head"));
  EXPECT_THAT(
      rocm_smi_error(types("  GPU0 GPU1\nGPU0 0 ROAD\n")),
      HasSubstr("topo.txt:3: Link Type between two GPUs has \"ROAD\" in row GPU0 for GPU1; expected XGMI"));
  EXPECT_THAT(rocm_smi_error(types("  GPU0 GPU1\nGPU0 0\n")), HasSubstr("row GPU0 has 1 cells; expected 2"));
  EXPECT_THAT(rocm_smi_error(types("  GPU0\nGPU0 XGMI\n")), HasSubstr("expected 0 for a GPU and itself"));
  EXPECT_THAT(rocm_smi_error(types("  GPU0\nGPU0 0\nGPU0 0\n")),
              HasSubstr("row GPU0 occurs twice; the first is in line 3"));
  EXPECT_THAT(rocm_smi_error(types("  GPU0\nGPU7 0\n")), HasSubstr("row GPU7 belongs to no GPU of the head"));
  EXPECT_THAT(rocm_smi_error(types("  GPU0 GPU0\n")), HasSubstr("GPU0 occurs twice in the head"));
  EXPECT_THAT(rocm_smi_error(types("  GPU0 CPU0\n")), HasSubstr("\"CPU0\" is not a GPU"));
  EXPECT_THAT(rocm_smi_error(replaced(kTopology, "GPU0   0            15 ", "GPU0   0            1e9")),
              HasSubstr("a whole number"));
  EXPECT_THAT(rocm_smi_error(replaced(kTopology, "GPU[0]       GPU[1] ", "GPU[1]       GPU[0] ")),
              HasSubstr("differs from that of the first matrix"));
  EXPECT_THAT(rocm_smi_error(replaced(kTopology, "Hops", "Weight")),
              HasSubstr("Weight between two GPUs occurs twice"));
  EXPECT_THAT(rocm_smi_error(std::string(kTopology) + "== Numa Nodes ==\n"),
              HasSubstr("Numa Nodes occurs twice"));
  EXPECT_THAT(rocm_smi_error(replaced(kTopology, "Node: 1", "Node: x")),
              HasSubstr("\"x\" is not a NUMA node number"));
  EXPECT_THAT(rocm_smi_error(replaced(kTopology, "GPU3 :", "GPU9 :")),
              HasSubstr("GPU9 is in no matrix before"));
  EXPECT_THAT(rocm_smi_error(replaced(kTopology, "GPU3 :", "GPU0 :")),
              HasSubstr("GPU0 has two values for Numa Node:"));
}

TEST(RocmSmi, WhatMeansNothingIsNoted) {
  const std::string text = "WARNING: something\n" + std::string(kTopology) +
                           "=== Link accessibility between two GPUs ===\n  GPU0\nGPU0 True\n";
  EXPECT_EQ(rocm_smi_error(text), "topo.txt:1: unknown line \"WARNING: something\"");
  Notes notes;
  const RocmSmiReport matrix = rocm_smi_of(text, &notes);
  EXPECT_THAT(notes, SizeIs(2));
  EXPECT_EQ(matrix, rocm_smi_of(kTopology));
  const std::string uneven = replaced(kTopology, "GPU2   30 ", "GPU2   15 ");
  EXPECT_THAT(rocm_smi_error(uneven),
              HasSubstr("topo.txt:8: Weight between two GPUs: the cells of GPU2 and GPU0 differ"));
}

TEST(RocmSmiGraph, OnlyDirectXgmiIsALink) {
  auto graph = graph_of(rocm_smi_of(kTopology));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(links(*graph, LinkKind::xgmi), ElementsAre("GPU0-GPU1", "GPU1-GPU2"));
  EXPECT_THAT(links(*graph, LinkKind::pci), ElementsAre("0-GPU0", "0-GPU1", "0-GPU2", "1-GPU3"));
  EXPECT_THAT(links(*graph, LinkKind::cpu), ElementsAre("0-1"));
  const Index gpu = graph->all(NodeKind::gpu)[3];
  EXPECT_EQ(graph->get<GpuFacts>(gpu)->device, 3);
  EXPECT_EQ(graph->get<NumaFacts>((*graph)[gpu].parent)->number, 1);
}

TEST(RocmSmiGraph, WithoutNumaNodesHopsOfPcieDecide) {
  const std::string text = kTopology;
  const std::string without = text.substr(0, text.find("================================ Numa"));
  const RocmSmiReport matrix = rocm_smi_of(without);
  EXPECT_THAT(graph_of(matrix).status().message(), HasSubstr("no NUMA node is given for 4 of 4 GPUs"));
  Notes notes;
  auto graph = graph_of(matrix, &notes);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(notes, SizeIs(1));
  ASSERT_THAT(graph->all(NodeKind::numa), SizeIs(2));
  EXPECT_EQ(graph->get<NumaFacts>(graph->all(NodeKind::numa)[0])->number, -1);
  EXPECT_EQ((*graph)[graph->all(NodeKind::gpu)[2]].parent, graph->all(NodeKind::numa)[0]);
}

TEST(RocmSmiGraph, HopsThatContradictTheNodesAreRefusedOrNoted) {
  const RocmSmiReport matrix =
      rocm_smi_of(replaced(kTopology, "GPU3 : (Topology) Numa Node: 1", "GPU3 : (Topology) Numa Node: 0"));
  EXPECT_THAT(graph_of(matrix).status().message(), HasSubstr("GPU0 and GPU3 are 3 PCIE hops apart"));
  Notes notes;
  auto graph = graph_of(matrix, &notes);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(graph->all(NodeKind::numa), SizeIs(1));
  RocmSmiReport by_hand;
  by_hand.gpus.resize(2);
  EXPECT_FALSE(graph_of(by_hand).ok());
}

}  // namespace
}  // namespace weir::topology
