// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/hwloc_machines.h"
#include "tests/topology/replaced.h"
#include "topology/formats/hwloc_xml.h"
#include "topology/model/check.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Result<Graph> graph_of_text(const std::string& text, Notes* notes = nullptr) {
  auto document = read_hwloc_xml({"m.xml", text}, notes);
  if (!document.ok()) return document.status();
  return graph_of(*document, notes);
}

Graph graph(const std::string& text) {
  auto made = graph_of_text(text);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : Graph{};
}

Index named(const Graph& graph, NodeKind kind, const std::string& name) {
  for (const Index node : graph.all(kind)) {
    if (graph[node].name == name) return node;
  }
  ADD_FAILURE() << topology::name(kind) << " " << name << " is not there";
  return 0;
}

std::vector<std::string> names(const Graph& graph, NodeKind kind) {
  std::vector<std::string> found;
  for (const Index node : graph.all(kind)) found.push_back(graph[node].name);
  return found;
}

/// "PCIe 0 15.75": the kind of each link that leaves the node, where to, its speed.
std::vector<std::string> links_from(const Graph& graph, Index node) {
  std::vector<std::string> found;
  for (const Link& link : graph.links()) {
    if (link.from != node) continue;
    found.push_back(
        fmt::format("{} x{} {} {}", name(link.kind), link.count, graph[link.to].name, link.gb_per_s));
  }
  return found;
}

TEST(HwlocGraph, ProcessorsAndMemory) {
  const Graph machine = graph(kHwloc2);
  EXPECT_EQ(machine[0].name, "node7");
  const auto* package = machine.get<PackageFacts>(named(machine, NodeKind::package, "0"));
  EXPECT_EQ(package->model_name, "Some \"CPU\"");
  // CPUID's family 0xf with the extended family 10, as NCCL writes it
  EXPECT_EQ(package->cpu, (CpuFacts{.arch = "x86_64", .vendor = "AuthenticAMD", .family = 175, .model = 17}));
  const Index numa = named(machine, NodeKind::numa, "1");
  EXPECT_EQ(machine[machine[numa].parent].kind(), NodeKind::package);
  const auto* facts = machine.get<NumaFacts>(numa);
  EXPECT_EQ(facts->number, 1);
  EXPECT_EQ(facts->affinity, "0000000c");
  EXPECT_EQ(facts->memory_bytes, 4294967296u);
  EXPECT_THAT(links_from(machine, numa), UnorderedElementsAre("CPU x1 0 16", "PCIe x1 0000:80 5000"))
      << "as NCCL plans with between AMD's processors; up to a root complex nothing limits";
}

TEST(HwlocGraph, PortsOfSwitchesAreNoNodes) {
  const Graph machine = graph(kHwloc2);
  EXPECT_THAT(names(machine, NodeKind::bridge),
              ElementsAre("0000:00", "0000:01:00.0", "0000:04:00.0", "0000:80"));
  const Index root = named(machine, NodeKind::bridge, "0000:00");
  const Index upper = named(machine, NodeKind::bridge, "0000:01:00.0");
  EXPECT_TRUE(machine.get<BridgeFacts>(root)->root);
  EXPECT_FALSE(machine.get<BridgeFacts>(upper)->root);
  EXPECT_EQ(machine.get<BridgeFacts>(upper)->pci.vendor, 0x10b5u);
  // The switch itself does not say its speed; the root port above it does.
  EXPECT_THAT(links_from(machine, upper),
              UnorderedElementsAre("PCIe x1 0000:00 31.507692", "PCIe x1 0000:03:00.0 15.753846",
                                   "PCIe x1 0000:04:00.0 15.753846"));
  const Index nic = named(machine, NodeKind::nic, "0000:06:00.0");
  EXPECT_EQ(machine[nic].parent, named(machine, NodeKind::bridge, "0000:04:00.0"));
  EXPECT_THAT(links_from(machine, nic), UnorderedElementsAre("PCIe x1 0000:04:00.0 7.876923",
                                                             "inner x1 mlx5_0:1 0", "inner x1 mlx5_0:2 0"));
}

TEST(HwlocGraph, GpusAndTheirNvlinks) {
  const Graph machine = graph(kHwloc2);
  EXPECT_THAT(names(machine, NodeKind::gpu), ElementsAre("0000:03:00.0", "0000:81:00.0"));
  const Index first = named(machine, NodeKind::gpu, "0000:03:00.0");
  const auto* gpu = machine.get<GpuFacts>(first);
  EXPECT_EQ(gpu->device, 0);
  EXPECT_EQ(gpu->uuid, "GPU-a");
  EXPECT_EQ(gpu->model_name, "Model C");
  EXPECT_EQ(gpu->pci.address, "0000:03:00.0");
  EXPECT_EQ(gpu->pci.class_code, 0x030200u);
  EXPECT_EQ(gpu->pci.subsystem_device, 0x131du);
  EXPECT_THAT(links_from(machine, first),
              UnorderedElementsAre("PCIe x1 0000:01:00.0 15.753846", "NVLink x2 0000:81:00.0 50"));
  EXPECT_THAT(links_from(machine, named(machine, NodeKind::gpu, "0000:81:00.0")),
              UnorderedElementsAre("PCIe x1 0000:80 15.753846", "NVLink x2 0000:03:00.0 50"));
}

TEST(HwlocGraph, NicsAndTheirPorts) {
  const Graph machine = graph(kHwloc2);
  EXPECT_THAT(names(machine, NodeKind::port), ElementsAre("mlx5_0:1", "mlx5_0:2", "eth0"));
  const auto* first = machine.get<PortFacts>(named(machine, NodeKind::port, "mlx5_0:1"));
  EXPECT_EQ(first->guid, 0x0002c90300000002u);
  EXPECT_EQ(first->lid, 0x1f);
  EXPECT_TRUE(first->active);
  EXPECT_EQ(first->layer, PortLayer::infiniband);
  const auto* second = machine.get<PortFacts>(named(machine, NodeKind::port, "mlx5_0:2"));
  EXPECT_EQ(second->number, 2);
  EXPECT_FALSE(second->active);
  const auto* ethernet = machine.get<PortFacts>(named(machine, NodeKind::port, "eth0"));
  EXPECT_EQ(ethernet->layer, PortLayer::ethernet);
  EXPECT_EQ(ethernet->guid, 0x265720fffe042000u);
  EXPECT_EQ(machine.get<NicFacts>(named(machine, NodeKind::nic, "0000:06:00.0"))->model_name, "NIC model");
}

TEST(HwlocGraph, VersionOne) {
  const Graph machine = graph(kHwloc1);
  EXPECT_EQ(machine[0].name, "host");
  EXPECT_THAT(names(machine, NodeKind::package), ElementsAre("0"));
  EXPECT_THAT(names(machine, NodeKind::numa), ElementsAre("0", "8", "252"));
  const Index nic = named(machine, NodeKind::nic, "0000:01:00.0");
  EXPECT_EQ(machine.holder(nic, NodeKind::numa), named(machine, NodeKind::numa, "0"));
  EXPECT_EQ(machine.get<NicFacts>(nic)->model_name, "A NIC");
  EXPECT_EQ(machine.get<NumaFacts>(named(machine, NodeKind::numa, "8"))->cpu.arch, "ppc64");
  // Nothing goes to memory without processors.
  EXPECT_EQ(machine.get<NumaFacts>(named(machine, NodeKind::numa, "252"))->affinity, "00000000");
  EXPECT_THAT(links_from(machine, named(machine, NodeKind::numa, "252")), SizeIs(0));
  EXPECT_THAT(links_from(machine, named(machine, NodeKind::numa, "8")), ElementsAre("CPU x1 0 5000"))
      << "in one package";
}

TEST(HwlocGraph, WithoutNumaNodesTheMachineIsOne) {
  const Graph machine = graph(
      "<topology><object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" local_memory=\"77\">"
      "<object type=\"Package\" os_index=\"0\" cpuset=\"0x3\"/></object></topology>");
  ASSERT_THAT(names(machine, NodeKind::numa), ElementsAre("0"));
  const Index numa = machine.all(NodeKind::numa)[0];
  EXPECT_EQ(machine[machine[numa].parent].kind(), NodeKind::package);
  EXPECT_EQ(machine.get<NumaFacts>(numa)->affinity, "00000003");
  EXPECT_EQ(machine.get<NumaFacts>(numa)->memory_bytes, 77u);
  EXPECT_TRUE(machine.links().empty());
}

TEST(HwlocGraph, ABusOfSeveralNumaNodesIsLinkedToEach) {
  const Graph machine = graph(
      "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x3\" gp_index=\"1\">"
      "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" gp_index=\"2\"/>"
      "<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x2\" gp_index=\"3\"/>"
      "<object type=\"OSDev\" gp_index=\"6\" name=\"eth9\" osdev_type=\"2\"/>"
      "<object type=\"Bridge\" gp_index=\"4\" bridge_type=\"0-1\" bridge_pci=\"0000:[00-00]\">"
      "<object type=\"PCIDev\" gp_index=\"5\" pci_busid=\"0000:00:05.0\" pci_type=\"0200 [1d0f:efa0] "
      "[1d0f:efa0] 00\"/>"
      "</object></object></topology>");
  const Index root = named(machine, NodeKind::bridge, "0000:00");
  EXPECT_EQ(machine[root].parent, 0);
  EXPECT_THAT(links_from(machine, root),
              ElementsAre("PCIe x1 0 5000", "PCIe x1 1 5000", "PCIe x1 0000:00:05.0 0"));
  EXPECT_THAT(links_from(machine, named(machine, NodeKind::nic, "eth9")),
              ElementsAre("PCIe x1 0 0", "PCIe x1 1 0", "inner x1 eth9 0"));
}

/// A machine of version 3.0 with one bus, what is on it, and what stands behind.
std::string version3(const std::string& devices, const std::string& behind = "") {
  return "<topology version=\"3.0\"><object type=\"Machine\" cpuset=\"0x1\" id=\"obj1\">"
         "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" id=\"obj2\"/>"
         "<object type=\"Bridge\" id=\"obj3\" bridge_type=\"0-1\" bridge_pci=\"0000:[00-09]\">" +
         devices + "</object></object>" + behind + "<info name=\"HostName\" value=\"three\"/></topology>";
}

std::string function(int index, const std::string& type, const std::string& inside = "") {
  return fmt::format(
      "<object type=\"PCIDev\" id=\"obj{}\" pci_busid=\"0000:00:{:02x}.0\" pci_type=\"{} [0000:0000] a1 "
      "00\">{}</object>",
      10 * index, index, type, inside);
}

std::string device(int index, const std::string& name, int type) {
  return fmt::format("<object type=\"OSDev\" id=\"obj{}\" name=\"{}\" osdev_type=\"{}\"/>", index, name,
                     type);
}

TEST(HwlocGraph, VersionThreeHasOtherNumbersAndNvswitches) {
  const std::string matrix =
      "<distances2hetero nbobjs=\"3\" kind=\"25\" name=\"NVLinkBandwidth\">"
      "<indexes length=\"27\">OSDev:11 OSDev:21 PCIDev:30</indexes>"
      "<u64values length=\"30\">0 0 40000 0 0 25000 40000 25000 0</u64values></distances2hetero>";
  const Graph machine = graph(version3(
      function(1, "0302 [10de:1db8]", device(11, "nvml0", 12)) +
          function(2, "0302 [10de:1db8]", device(21, "nvml1", 12)) + function(3, "0680 [10de:1ac2]") +
          function(4, "0200 [1137:0043]", device(41, "eth4", 16) + device(42, "usnic_0", 48)) +
          function(5, "0300 [1a03:2000]") + function(6, "0280 [1234:5678]"),
      matrix));
  EXPECT_EQ(machine[0].name, "three");
  EXPECT_THAT(names(machine, NodeKind::gpu), SizeIs(2));
  EXPECT_THAT(names(machine, NodeKind::nic), ElementsAre("0000:00:04.0", "0000:00:06.0"));
  EXPECT_THAT(names(machine, NodeKind::port), ElementsAre("usnic_0"));
  EXPECT_THAT(
      links_from(machine, named(machine, NodeKind::nvswitch, "0000:00:03.0")),
      UnorderedElementsAre("PCIe x1 0000:00 0", "NVLink x2 0000:00:01.0 40", "NVLink x1 0000:00:02.0 25"));
}

TEST(HwlocGraph, XgmiOfOneHopIsALink) {
  const auto matrix = [](const char* name, const char* values) {
    return fmt::format(
        "<distances2 type=\"OSDev\" nbobjs=\"3\" kind=\"9\" name=\"{}\" indexing=\"gp\">"
        "<indexes length=\"1\">11 12 21</indexes><u64values length=\"1\">{}</u64values></distances2>",
        name, values);
  };
  // The first function is a GPU that is split in two.
  const std::string gpus =
      function(1, "1200 [1002:74a1]", device(11, "rsmi0", 12) + device(12, "rsmi1", 12)) +
      function(2, "0380 [1002:740c]", device(21, "rsmi2", 12));
  const std::string hops = matrix("XGMIHops", "0 1 2 1 0 1 2 1 0");
  const Graph machine =
      graph(version3(gpus, matrix("XGMIBandwidth", "0 200000 50000 200000 0 50000 50000 50000 0") + hops));
  EXPECT_THAT(names(machine, NodeKind::gpu), ElementsAre("0000:00:01.0", "0000:00:01.0#2", "0000:00:02.0"));
  EXPECT_THAT(
      links_from(machine, named(machine, NodeKind::gpu, "0000:00:01.0#2")),
      UnorderedElementsAre("PCIe x1 0000:00 0", "xGMI x1 0000:00:01.0 200", "xGMI x1 0000:00:02.0 50"));
  EXPECT_EQ(machine.get<GpuFacts>(machine.all(NodeKind::gpu)[1])->package, 0);
  EXPECT_EQ(machine.get<GpuFacts>(machine.all(NodeKind::gpu)[1])->device, 1);
  EXPECT_EQ(machine.get<GpuFacts>(machine.all(NodeKind::gpu)[2])->package, -1);
  const Graph invented =
      graph(version3(gpus, matrix("XGMIBandwidth", "1000000 100000 0 100000 1000000 0 0 0 1000000")));
  EXPECT_THAT(links_from(invented, named(invented, NodeKind::gpu, "0000:00:01.0")),
              UnorderedElementsAre("PCIe x1 0000:00 0", "xGMI x1 0000:00:01.0#2 0"));
}

TEST(HwlocGraph, ContradictionsAreRefused) {
  const std::string same = replaced(kHwloc2, "name=\"nvml1\"", "name=\"nvml0\"");
  EXPECT_EQ(graph_of_text(same).status().message(), "hwloc XML: two GPUs have the name nvml0");
  const std::string unbounded =
      replaced(kHwloc1, "os_index=\"8\" cpuset=\"0x000000f0\"", "os_index=\"8\" cpuset=\"0xf...f\"");
  EXPECT_THAT(graph_of_text(unbounded).status().message(), HasSubstr("NUMA node 8 has an unbounded set"));
  std::string many = "<topology><object type=\"Machine\">";
  for (int i = 0; i < 1025; ++i) many += fmt::format("<object type=\"NUMANode\" os_index=\"{}\"/>", i);
  EXPECT_THAT(graph_of_text(many + "</object></topology>").status().message(),
              HasSubstr("has 1025 NUMA nodes"));
  HwlocXml by_hand;
  by_hand.machine.type = "Machine";
  by_hand.machine.children.emplace_back().type = "PCIDev";
  EXPECT_FALSE(graph_of(by_hand).ok());
}

TEST(HwlocGraph, NumbersOfTwoVendorsAreIndependent) {
  const auto machine = [](const std::string& second, const std::string& pci) {
    return "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x1\">"
           "<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:2330] [0000:0000] 00\">"
           "<object type=\"OSDev\" name=\"cuda0\" osdev_type=\"5\"/></object>"
           "<object type=\"PCIDev\" pci_busid=\"0000:02:00.0\" pci_type=\"0380 [" +
           pci + "] [0000:0000] 00\"><object type=\"OSDev\" name=\"" + second +
           "\" osdev_type=\"5\"/></object></object></topology>";
  };
  const auto mixed = graph_of_text(machine("opencl0d0", "1002:740f"));
  ASSERT_TRUE(mixed.ok()) << mixed.status().message();
  const auto gpus = mixed->all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(mixed->get<GpuFacts>(gpus[0])->device, 0);
  EXPECT_EQ(mixed->get<GpuFacts>(gpus[1])->device, 0);
  EXPECT_TRUE(check(*mixed).ok()) << check(*mixed).message();

  const std::string same = machine("opencl1d0", "10de:2330");
  EXPECT_THAT(graph_of_text(same).status().message(), HasSubstr("two GPUs of vendor 10de have the number 0"));
  Notes notes;
  const auto made = graph_of_text(same, &notes);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(notes, SizeIs(1));
  EXPECT_EQ(made->get<GpuFacts>(made->all(NodeKind::gpu)[1])->device, -1);
}

TEST(HwlocGraph, WhatIsLeftOutIsNoted) {
  const std::string text = replaced(kHwloc2, "<indexes length=\"6\">16 35", "<indexes length=\"6\">16 37");
  EXPECT_THAT(graph_of_text(text).status().message(),
              HasSubstr("the matrix NVLinkBandwidth refers to OSDev 37, which is no GPU"));
  Notes notes;
  EXPECT_TRUE(graph_of_text(text, &notes).ok());
  EXPECT_THAT(notes, SizeIs(1));
  const std::string loose =
      "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x1\">"
      "<info name=\"CPUFamilyNumber\" value=\"x\"/>"
      "<object type=\"OSDev\" name=\"cuda0\" osdev_type=\"5\"/></object></topology>";
  Notes more;
  auto made = graph_of_text(loose, &more);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(more,
              ElementsAre(HasSubstr("CPUFamilyNumber is \"x\""), HasSubstr("GPU cuda0 has no PCI function")));
  EXPECT_FALSE(graph_of_text(loose).ok());
}

}  // namespace
}  // namespace weir::topology
