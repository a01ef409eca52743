// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/nvidia_smi.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Two NUMA nodes; at the first a GPU and a NIC at a switch, a second GPU at the next switch below the same
/// one.
constexpr const char* kTabs =
    "# a comment\n"
    "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tPXB\tNV4\tPIX\t0-31,64-95\t0\t\tN/A\n"
    "GPU1\tPXB\t X \tSYS\tPXB\t0-31,64-95\t0\t\tN/A\n"
    "GPU2\tNV4\tSYS\t X \tSYS\t32-63,96-127\t1\t\tN/A\n"
    "NIC0\tPIX\tPXB\tSYS\t X \t\t\t\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "  NV#  = Connection by # links\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_3\n"
    "\n";

NvidiaSmi nvidia_smi_of(const std::string& text, Notes* notes = nullptr) {
  auto matrix = read_nvidia_smi({"topo.txt", text}, notes);
  EXPECT_TRUE(matrix.ok()) << matrix.status().message();
  return matrix.ok() ? *matrix : NvidiaSmi{};
}

std::string nvidia_smi_error(const std::string& text) {
  return read_nvidia_smi({"topo.txt", text}).status().message();
}

/// All GPUs have that cell for each other, and one affinity.
std::string mesh(int gpus, const std::string& cell) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += fmt::format("\tGPU{}", i);
  text += "\tCPU Affinity\n";
  for (int i = 0; i < gpus; ++i) {
    text += fmt::format("GPU{}", i);
    for (int j = 0; j < gpus; ++j) text += i == j ? "\tX" : "\t" + cell;
    text += "\t0-3\n";
  }
  return text;
}

Graph graph(const NvidiaSmi& matrix, Notes* notes = nullptr, const SmiOptions& options = {}) {
  auto made = graph_of(matrix, notes, options);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : Graph{};
}

std::vector<std::string> paths_up(const Graph& graph) {
  std::vector<std::string> paths;
  for (Index node = 0; node < graph.size(); ++node) {
    if (graph[node].kind() != NodeKind::gpu && graph[node].kind() != NodeKind::nic) continue;
    std::string path;
    for (Index at = node; at != kNone; at = graph[at].parent)
      path += (path.empty() ? "" : " < ") + graph[at].name;
    paths.push_back(path);
  }
  return paths;
}

TEST(NvidiaSmi, TabsColoursAndLegends) {
  const NvidiaSmi matrix = nvidia_smi_of(kTabs);
  ASSERT_EQ(matrix.devices.size(), 4u);
  EXPECT_EQ(matrix.devices[0].cpu_affinity, "0-31,64-95");
  EXPECT_EQ(matrix.devices[2].numa_affinity, "1");
  EXPECT_EQ(matrix.devices[2].gpu_numa, "N/A");
  EXPECT_EQ(matrix.devices[3].nic, "mlx5_3");
  EXPECT_EQ(matrix.cells.at(0, 2), (SmiCell{.path = SmiPath::nvlink, .links = 4}));
  EXPECT_EQ(matrix.cells.at(3, 1).path, SmiPath::pxb);
  EXPECT_EQ(nvidia_smi_of(write_nvidia_smi(matrix)), matrix);
}

TEST(NvidiaSmi, BlanksInsteadOfTabs) {
  const NvidiaSmi matrix = nvidia_smi_of(
      "        GPU0    GPU1    mlx4_0  CPU Affinity    NUMA Affinity   GPU NUMA ID\r\n"
      "GPU0     X      SOC     PHB     0-9,20-29       0               N/A\r\n"
      "GPU1    SOC      X      SYS     10-19           1               N/A\r\n"
      "mlx4_0  PHB     SYS      X \r\n");
  EXPECT_EQ(matrix.cells.at(0, 1).path, SmiPath::sys);
  EXPECT_EQ(matrix.devices[1].cpu_affinity, "10-19");
  EXPECT_EQ(matrix.devices[1].numa_affinity, "1");
  EXPECT_EQ(matrix.devices[2].name, "mlx4_0");
  EXPECT_EQ(nvidia_smi_of(write_nvidia_smi(matrix)), matrix);
}

/// As in a container whose CPUs are all of one socket, with the tab that the tool adds before the last
/// column.
TEST(NvidiaSmi, AnEmptyAffinityShiftsNoColumn) {
  for (const char* const last : {"\tN/A", "\t\tN/A", "\t\tN/A\t"}) {
    std::string text = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
    text += std::string("GPU0\t X \tNV18\tNODE\t0-35\t0") + last + "\n";
    text += std::string("GPU1\tNV18\t X \tSYS\t\t1") + last + "\n";
    text += "NIC0\tNODE\tSYS\t X \t\t\t\t\n";
    const NvidiaSmi matrix = nvidia_smi_of(text);
    EXPECT_EQ(matrix.devices[0].cpu_affinity, "0-35");
    EXPECT_EQ(matrix.devices[1].cpu_affinity, "");
    EXPECT_EQ(matrix.devices[1].numa_affinity, "1");
    EXPECT_EQ(matrix.devices[1].gpu_numa, "N/A");
    const Graph machine = graph(matrix);
    const auto nodes = machine.all(NodeKind::numa);
    ASSERT_THAT(nodes, SizeIs(2));
    for (const int number : {0, 1}) {
      const NumaFacts& facts = *machine.get<NumaFacts>(nodes[static_cast<size_t>(number)]);
      EXPECT_EQ(facts.number, number);
      EXPECT_EQ(facts.affinity.empty(), number == 1);
    }
  }
}

TEST(NvidiaSmi, GapsAreNotedAndStay) {
  const std::string text =
      "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\n"
      "GPU0\tX\tNV2\tPIX\tSYS\t0-3\n"
      "GPU1\tNV2\tX\tSYS\tPIX\t\n"
      "NIC0\tPIX\tSYS\n"
      "NIC1\tSYS\tPIX\n"
      "some words\n";
  EXPECT_EQ(nvidia_smi_error(text),
            "topo.txt:4: row NIC0 has 2 cells; expected 4; the others are treated as unknown");
  Notes notes;
  const NvidiaSmi matrix = nvidia_smi_of(text, &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("row NIC0 has 2 cells"), HasSubstr("row NIC1 has 2 cells"),
                                 HasSubstr("topo.txt:6: unknown line \"some words\"")));
  EXPECT_EQ(matrix.cells.at(2, 3).path, SmiPath::unknown);
  Notes more;
  EXPECT_EQ(nvidia_smi_of(write_nvidia_smi(matrix), &more), matrix);
  // NIC1 is SYS apart from GPU0, and with that from NIC0.
  EXPECT_THAT(
      paths_up(graph(matrix)),
      ElementsAre("GPU0 < bridge1 < bridge0 < of GPU0 < host", "NIC0 < bridge1 < bridge0 < of GPU0 < host",
                  "GPU1 < bridge3 < bridge2 < of GPU1 < host", "NIC1 < bridge3 < bridge2 < of GPU1 < host"));
}

TEST(NvidiaSmi, EmptyCellsStayUnknown) {
  Notes notes;
  NvidiaSmi matrix = nvidia_smi_of(
      "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \t\tPIX\t0-3\nGPU1\t\t X \tSYS\t4-7\nNIC0\tPIX\tSYS\t X "
      "\t\n",
      &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("row GPU0 has 2 cells"), HasSubstr("row GPU1 has 2 cells")));
  EXPECT_EQ(matrix.cells.at(0, 1).path, SmiPath::unknown);
  EXPECT_EQ(matrix.cells.at(0, 2).path, SmiPath::pix);
  // With blanks, the columns of the head decide.
  matrix = nvidia_smi_of(
      "        GPU0    GPU1    GPU2    CPU Affinity\n"
      "GPU0     X              SYS     0-3\n"
      "GPU1             X      NV12    4-7\n"
      "GPU2    SYS     NV12     X      4-7\n",
      &notes);
  EXPECT_EQ(matrix.cells.at(0, 1).path, SmiPath::unknown);
  EXPECT_EQ(matrix.cells.at(0, 2).path, SmiPath::sys);
  EXPECT_EQ(matrix.cells.at(1, 2).links, 12);
  EXPECT_EQ(matrix.devices[0].cpu_affinity, "0-3");
}

TEST(NvidiaSmi, CellsThatTouchAreDivided) {
  const NvidiaSmi apart = nvidia_smi_of(
      "        GPU0    GPU1    mlx5_0  CPU Affinity\n"
      "GPU0     X      NV12    NODE    0-3\n"
      "GPU1    NV12     X      SYS     0-3\n"
      "mlx5_0  NODE    SYS      X\n");
  EXPECT_EQ(nvidia_smi_of("GPU0GPU1mlx5_0CPU Affinity\n"
                          "GPU0 XNV12NODE 0-3\n"
                          "GPU1 NV12 XSYS0-3\n"
                          "mlx5_0NODESYSX\n"),
            apart);
  EXPECT_EQ(nvidia_smi_of("\tGPU0\tGPU1\tmlx5_0CPU Affinity\n"
                          "GPU0\t X NV12\tNODE\t0-3\n"
                          "GPU1\tNV12 X \tSYS0-3\n"
                          "mlx5_0\tNODE\tSYS X\n"),
            apart);
  EXPECT_THAT(nvidia_smi_error(" GPU0 GPU1\nGPU0 XNVX\nGPU1 SYS X\n"), HasSubstr("\"NVX\" in row GPU0"));
}

/// As in reports whose tabs became single blanks, or none.
TEST(NvidiaSmi, ColumnsThatTouchAreDivided) {
  const std::string head = "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n";
  const auto rows = [&](const std::string& first, const std::string& second) {
    return head + "GPU0     X      SYS     " + first + "\nGPU1    SYS      X      " + second + "\n";
  };
  const NvidiaSmi apart = nvidia_smi_of(rows("0-15,32-47   0   N/A", "16-31,48-63   1   N/A"));
  EXPECT_EQ(nvidia_smi_of(rows("0-15,32-47 0N/A", "16-31,48-63 1N/A")), apart);
  const std::string touching = rows("0-15,32-47 0N/A", "16-31,48-631    N/A");
  Notes notes;
  EXPECT_EQ(nvidia_smi_of(touching, &notes), apart);
  EXPECT_THAT(notes,
              ElementsAre("topo.txt:3: \"16-31,48-631\" in row GPU1 is treated as two columns that touch, "
                          "16-31,48-63 and 1"));
  EXPECT_THAT(nvidia_smi_error(touching), HasSubstr("two columns that touch"));
  // Without a second range in the list, rows before tell how long they are.
  notes.clear();
  EXPECT_EQ(nvidia_smi_of(rows("0-15 0N/A", "16-311N/A"), &notes),
            nvidia_smi_of(rows("0-15  0   N/A", "16-31  1   N/A")));
  EXPECT_EQ(notes.size(), 1u);
  // What is as long as it should be is not divided, nor what would fit in no way.
  for (const std::string whole : {"16-31", "16-329", "5"}) {
    notes.clear();
    EXPECT_EQ(nvidia_smi_of(rows("0-15 0 N/A", whole), &notes).devices[1].cpu_affinity, whole);
    EXPECT_THAT(notes, IsEmpty()) << whole;
  }
}

TEST(NvidiaSmi, WhatDoesNotReadIsRefusedWithItsLine) {
  EXPECT_THAT(nvidia_smi_error(""), HasSubstr("no matrix found"));
  const std::string head = "\tGPU0\tGPU1\n";
  const std::string rows = "GPU0\tX\tSYS\nGPU1\tSYS\tX\n";
  EXPECT_EQ(nvidia_smi_error(head + rows), "");
  EXPECT_EQ(nvidia_smi_error(head + "GPU0\tX\tSYS\n"),
            "topo.txt:2: row GPU1 is missing, although the head has that device");
  EXPECT_EQ(nvidia_smi_error(head + "GPU0\tX\tNEAR\n"),
            "topo.txt:2: \"NEAR\" in row GPU0 for GPU1 is not a valid cell; expected X, NV#, PIX, PXB, PHB, "
            "NODE or SYS");
  for (const char* links : {"NV", "NV0", "NV-1", "NVx", "NV1000", "NV99999999999999999999"})
    EXPECT_THAT(nvidia_smi_error(head + "GPU0\tX\t" + links + "\n"), HasSubstr("is not a valid cell"))
        << links;
  EXPECT_THAT(nvidia_smi_error(head + "GPU0\tSYS\tX\n"),
              HasSubstr("row GPU0 has SYS for GPU0; expected X exactly for"));
  EXPECT_THAT(nvidia_smi_error(head + "GPU0\tX\tX\n"), HasSubstr("row GPU0 has X for GPU1"));
  EXPECT_THAT(nvidia_smi_error(head + rows + "GPU1\tSYS\tX\n"),
              HasSubstr("topo.txt:4: row GPU1 occurs twice; the first is in line 3"));
  EXPECT_THAT(nvidia_smi_error(head + "GPU0\tX\tSYS\t0-3\n"),
              HasSubstr("1 words follow the cells of row GPU0"));
  EXPECT_THAT(nvidia_smi_error("\tGPU0\tGPU0\n"), HasSubstr("GPU0 occurs twice in the head"));
  EXPECT_THAT(nvidia_smi_error("\tGPU0\tCPU Affinity\tCPU Affinity\n"),
              HasSubstr("the head ends with \"CPU Affinity\""));
  EXPECT_THAT(nvidia_smi_error("\tGPU0\tSize\xff\n"), HasSubstr("the head ends with"));
  EXPECT_THAT(nvidia_smi_error("\tGPU0\tCPU Affinity\nGPU0\tX\t3-1\n"),
              HasSubstr("\"3-1\" after the cells of row GPU0"));
  EXPECT_THAT(nvidia_smi_error("\tGPU0\tNIC0\nGPU0\tX\tNV4\n"),
              HasSubstr("expected NVLinks between GPUs only"));
  EXPECT_THAT(nvidia_smi_error(head + rows + "NIC Legend:\n  NIC0: mlx5_0\n"),
              HasSubstr("which is not a NIC of the head"));
  std::string wide;
  for (int i = 0; i < 1025; ++i) wide += fmt::format("\tGPU{}", i);
  EXPECT_THAT(nvidia_smi_error(wide), HasSubstr("the head has 1025 devices; expected at most 1024"));
}

TEST(NvidiaSmi, CellsThatDifferAreNoted) {
  const std::string text = "\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tNODE\tX\n";
  EXPECT_EQ(nvidia_smi_error(text),
            "topo.txt:3: row GPU1 has NODE for GPU0, but row GPU0 has SYS for the same pair");
  Notes notes;
  EXPECT_THAT(graph(nvidia_smi_of(text, &notes), &notes).all(NodeKind::numa), SizeIs(2));
  EXPECT_THAT(notes, SizeIs(1));
}

TEST(NvidiaSmiGraph, TheTreeHasTheClassesOfTheCells) {
  const Graph machine = graph(nvidia_smi_of(kTabs));
  EXPECT_THAT(paths_up(machine),
              ElementsAre("GPU0 < bridge2 < bridge1 < bridge0 < 0 < host",
                          "mlx5_3 < bridge2 < bridge1 < bridge0 < 0 < host",
                          "GPU1 < bridge3 < bridge1 < bridge0 < 0 < host", "GPU2 < bridge4 < 1 < host"));
  const Index numa = machine.all(NodeKind::numa)[1];
  EXPECT_EQ(machine.get<NumaFacts>(numa)->affinity, "ffffffff,00000000,ffffffff,00000000");
  EXPECT_TRUE(machine.get<BridgeFacts>(machine.all(NodeKind::bridge)[0])->root);
  EXPECT_FALSE(machine.get<BridgeFacts>(machine.all(NodeKind::bridge)[1])->root);
  EXPECT_EQ(machine[machine.all(NodeKind::port)[0]].name, "mlx5_3");
  EXPECT_EQ(machine.get<GpuFacts>(machine.all(NodeKind::gpu)[1])->device, 1);
}

TEST(NvidiaSmiGraph, NvlinksBetweenTwoGpus) {
  const Graph machine = graph(nvidia_smi_of(kTabs));
  int links = 0;
  for (const Link& link : machine.links()) {
    if (link.kind != LinkKind::nvlink) continue;
    ++links;
    EXPECT_EQ(link.count, 4);
    EXPECT_EQ(link.gb_per_s, 0);
  }
  EXPECT_EQ(links, 2);
}

TEST(NvidiaSmiGraph, MoreLinksThanAGpuHasAreASwitch) {
  const Graph many = graph(nvidia_smi_of(mesh(8, "NV18")));
  ASSERT_THAT(many.all(NodeKind::nvswitch), SizeIs(1));
  int to_switch = 0;
  for (const Link& link : many.links()) {
    if (link.to == many.all(NodeKind::nvswitch)[0]) to_switch += link.count;
  }
  EXPECT_EQ(to_switch, 8 * 18);
  EXPECT_THAT(graph(nvidia_smi_of(mesh(3, "NV12"))).all(NodeKind::nvswitch), SizeIs(1));
  // Three links to each of three others: cables, like six to each where a GPU has eighteen.
  EXPECT_THAT(graph(nvidia_smi_of(mesh(4, "NV4"))).all(NodeKind::nvswitch), IsEmpty());
  EXPECT_THAT(graph(nvidia_smi_of(mesh(4, "NV6"))).all(NodeKind::nvswitch), IsEmpty());
  EXPECT_THAT(graph(nvidia_smi_of(mesh(4, "NV6")), nullptr, {.host = "v100", .most_nvlinks = 6})
                  .all(NodeKind::nvswitch),
              SizeIs(1));
  EXPECT_THAT(graph(nvidia_smi_of(mesh(2, "NV18"))).all(NodeKind::nvswitch), IsEmpty());
  std::string uneven = mesh(8, "NV18");
  for (size_t at; (at = uneven.find("NV18\t0-3\n")) != std::string::npos;) uneven.replace(at, 4, "NV17");
  uneven.replace(uneven.rfind("\tNV18\tX"), 5, "\tNV17");
  Notes notes;
  NvidiaSmi matrix = nvidia_smi_of(uneven, &notes);
  EXPECT_THAT(graph_of(matrix).status().message(), HasSubstr("NVLinks to other GPUs; expected at most 18"));
  EXPECT_TRUE(graph_of(matrix, &notes).ok());
}

TEST(NvidiaSmiGraph, ContradictionsAreRefusedOrNoted) {
  const std::string text = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tPXB\nGPU1\tPIX\tX\tPIX\nGPU2\tPXB\tPIX\tX\n";
  const NvidiaSmi matrix = nvidia_smi_of(text);
  EXPECT_EQ(graph_of(matrix).status().message(),
            "nvidia-smi: GPU0 and GPU2 have the path PXB, but other cells or affinities imply PIX (over "
            "GPU1); the nearer path is used");
  Notes notes;
  EXPECT_THAT(graph(matrix, &notes).all(NodeKind::bridge), SizeIs(2));
  EXPECT_THAT(notes, SizeIs(1));
  const NvidiaSmi apart = nvidia_smi_of(
      "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tSYS\t0-3\t0\nGPU1\tSYS\tX\t0-3\t0\n");
  EXPECT_THAT(graph_of(apart).status().message(),
              HasSubstr("have the path SYS, but other cells or affinities imply NODE"));
  EXPECT_THAT(graph(apart, &notes).all(NodeKind::numa), SizeIs(1));
  const NvidiaSmi together =
      nvidia_smi_of("\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tNODE\t0-3\nGPU1\tNODE\tX\t4-7\n");
  EXPECT_THAT(graph_of(together).status().message(),
              HasSubstr("the cells put GPU0 and GPU1 on one NUMA node, but one has CPU affinity 0-3"));
  EXPECT_EQ(graph(together, &notes).get<NumaFacts>(1)->affinity, "");
  NvidiaSmi by_hand;
  by_hand.devices.resize(3);
  EXPECT_FALSE(graph_of(by_hand).ok());
}

TEST(NvidiaSmiGraph, WhatIsHiddenByNvlinkGoesByAffinity) {
  const Graph one = graph(nvidia_smi_of(mesh(4, "NV4")));
  EXPECT_THAT(one.all(NodeKind::numa), SizeIs(1));
  EXPECT_THAT(one.all(NodeKind::bridge), SizeIs(4));
  const NvidiaSmi unsaid = nvidia_smi_of(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\tX\tNV4\tNV4\t0-3\nGPU1\tNV4\tX\tNV4\t\nGPU2\tNV4\tNV4\tX\t\n");
  EXPECT_THAT(graph_of(unsaid).status().message(),
              HasSubstr("it is unknown whether GPU0 and GPU1 share a NUMA node"));
  Notes notes;
  EXPECT_THAT(graph(unsaid, &notes).all(NodeKind::numa), SizeIs(2));
}

TEST(NvidiaSmi, AThousandDevicesAreQuick) {
  const NvidiaSmi matrix = nvidia_smi_of(mesh(1000, "SYS"));
  EXPECT_EQ(matrix.devices.size(), 1000u);
  Notes notes;
  EXPECT_EQ(graph(matrix, &notes).all(NodeKind::gpu).size(), 1000u);
}

}  // namespace
}  // namespace weir::topology
