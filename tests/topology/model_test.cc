// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/make_graph.h"
#include "topology/model/check.h"
#include "topology/model/derive.h"
#include "topology/model/lost_cables.h"
#include "topology/model/merge.h"
#include "topology/model/paths.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// A host with two NUMA nodes, each with a switch that holds a GPU and a NIC.
Graph small() { return make_graph("(2 numa, 2 gpu pcie 32, 2 nic 25)"); }

void expect_wrong(const Graph& graph, const std::string& words) {
  const Status status = check(graph);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr(words));
}

TEST(Check, FindsWhatIsWrong) {
  const Graph good = small();
  ASSERT_TRUE(check(good).ok()) << check(good).message();
  const Index gpu = good.all(NodeKind::gpu)[0];
  const Index nic = good.all(NodeKind::nic)[0];
  const auto with = [&](auto change) {
    Graph graph = good;
    change(graph);
    return graph;
  };
  expect_wrong(with([&](Graph& g) { g[gpu].parent = kNone; }), "without a parent");
  expect_wrong(with([&](Graph& g) { g[gpu].parent = g.size() - 1; }), "before its parent");
  expect_wrong(with([&](Graph& g) { g[gpu].parent = -7; }), "before its parent");
  expect_wrong(with([&](Graph& g) { g.add("p", gpu, PortFacts()); }), "port p in a GPU");
  expect_wrong(with([&](Graph& g) { g.add(g[gpu]); }), "same name");
  expect_wrong(with([&](Graph& g) { g.get<GpuFacts>(good.all(NodeKind::gpu)[1])->device = 0; }),
               "GPU number 0");
  expect_wrong(with([&](Graph& g) {
                 g.get<GpuFacts>(good.all(NodeKind::gpu)[1])->pci.address = g.get<GpuFacts>(gpu)->pci.address;
               }),
               "PCI address");
  expect_wrong(with([&](Graph& g) { g.add({gpu, nic, LinkKind::pci, 1, 1, 0, -1}); }), "1 PCIe links from");
  expect_wrong(with([&](Graph& g) { g.connect({gpu, nic, LinkKind::xgmi, 1, 1, 0, -1}); }), "cannot connect");
  expect_wrong(with([&](Graph& g) { g.connect({gpu, gpu, LinkKind::xgmi, 1, 1, 0, -1}); }), "from node");
  expect_wrong(with([&](Graph& g) { g.connect({gpu, 999, LinkKind::xgmi, 1, 1, 0, -1}); }), "to node 999");
  expect_wrong(with([&](Graph& g) { g.links()[0].count = 0; }), "count below 1");
  expect_wrong(with([&](Graph& g) { g.links()[0].gb_per_s = -1; }), "negative");
  expect_wrong(with([&](Graph& g) { g.links()[0].gb_per_s = NAN; }), "not a number");
  expect_wrong(with([&](Graph& g) { g.links()[0].latency_us = INFINITY; }), "latency");
  expect_wrong(with([&](Graph& g) {
                 const Index a = g.add("a", kNone, FabricSwitchFacts{1, 0, 0});
                 const Index b = g.add("b", kNone, FabricSwitchFacts{3, 0, 0});
                 g.connect({a, b, LinkKind::cable, 1, 1, 0, -1});
               }),
               "leaves out a level");
}

PathClass between(const Graph& graph, Index a, Index b) {
  const Adjacency adjacency(graph);
  return Paths(graph, adjacency, a, PathClass::net).path_class(b);
}

TEST(Paths, ClassesWithinAHost) {
  const Graph graph = make_graph("(2 numa, 8 gpu pcie 32, 4 nic 25)");
  const auto gpus = graph.all(NodeKind::gpu);
  const auto nics = graph.all(NodeKind::nic);
  EXPECT_EQ(between(graph, gpus[0], gpus[0]), PathClass::loc);
  EXPECT_EQ(between(graph, gpus[0], gpus[1]), PathClass::pix);
  EXPECT_EQ(between(graph, gpus[0], gpus[2]), PathClass::phb);
  EXPECT_EQ(between(graph, gpus[0], gpus[7]), PathClass::sys);
  EXPECT_EQ(between(graph, gpus[0], nics[0]), PathClass::pix);
  EXPECT_EQ(between(graph, gpus[4], nics[2]), PathClass::pix);
  EXPECT_EQ(between(graph, gpus[0], nics[3]), PathClass::sys);
}

TEST(Paths, GpuLinksComeFirst) {
  const Graph cube = make_graph("(8 gpu cube 25)");
  const auto gpus = cube.all(NodeKind::gpu);
  EXPECT_EQ(between(cube, gpus[0], gpus[4]), PathClass::nvl);
  EXPECT_EQ(between(cube, gpus[0], gpus[5]), PathClass::nvb);
  const Adjacency adjacency(cube);
  const Path path = Paths(cube, adjacency, gpus[0]).to(gpus[7]);
  EXPECT_EQ(path.hops, 2);
  EXPECT_EQ(path.gb_per_s, 50) << "by GPU 4 all the way two links; by GPU 3 two and one";
  EXPECT_THAT(path.links, SizeIs(2));
  const Graph box = make_graph("(8 gpu nvswitch 450)");
  EXPECT_EQ(between(box, box.all(NodeKind::gpu)[0], box.all(NodeKind::gpu)[7]), PathClass::nvl);
}

TEST(Paths, RootComplexesAndNetworks) {
  Graph graph;
  const Index host = graph.add("h", kNone, HostFacts{});
  const Index numa = graph.add("0", host, NumaFacts{});
  std::vector<Index> gpus;
  for (int i = 0; i < 2; ++i) {
    BridgeFacts root;
    root.root = true;
    const Index bridge = graph.add("root" + std::to_string(i), numa, root);
    graph.connect({bridge, numa, LinkKind::pci, 1, 0, 0, -1});
    gpus.push_back(graph.add("gpu" + std::to_string(i), bridge, GpuFacts{}));
    graph.connect({gpus.back(), bridge, LinkKind::pci, 1, 32, 0, -1});
    if (i == 1) {
      gpus.push_back(graph.add("gpu2", bridge, GpuFacts{}));
      graph.connect({gpus.back(), bridge, LinkKind::pci, 1, 32, 0, -1});
    }
  }
  ASSERT_TRUE(check(graph).ok()) << check(graph).message();
  EXPECT_EQ(between(graph, gpus[0], gpus[1]), PathClass::node);
  EXPECT_EQ(between(graph, gpus[1], gpus[2]), PathClass::phb);
  const Graph two = make_graph("2 x (1 gpu, 1 nic 25) leaf");
  EXPECT_EQ(between(two, two.all(NodeKind::gpu)[0], two.all(NodeKind::gpu)[1]), PathClass::net);
  const Graph apart = make_graph("2 x (1 gpu, 1 nic 25)");
  EXPECT_EQ(between(apart, apart.all(NodeKind::gpu)[0], apart.all(NodeKind::gpu)[1]), PathClass::dis);
}

TEST(Derive, IslandsAndMeshes) {
  const Graph graph = make_graph("2 x (4 gpu ring 46) + (2 gpu)");
  EXPECT_THAT(islands(graph), ElementsAre(SizeIs(4), SizeIs(4), SizeIs(2)));
  EXPECT_THAT(meshes(graph), ElementsAre(SizeIs(4), SizeIs(4), SizeIs(1), SizeIs(1)));
}

TEST(Derive, LeavesAndOversubscription) {
  const Graph graph = make_graph("8 x (8 gpu, 2 nic 25) leaf by 4 4:1 spine 2");
  const std::vector<Leaf> found = leaves(graph);
  ASSERT_THAT(found, SizeIs(2));
  for (const Leaf& leaf : found) {
    EXPECT_THAT(leaf.hosts, SizeIs(4));
    EXPECT_THAT(leaf.ports, SizeIs(8));
    EXPECT_DOUBLE_EQ(leaf.oversubscription(), 4);
  }
  EXPECT_THAT(rails(graph), ElementsAre(SizeIs(8), SizeIs(8)));
  const Graph rail = make_graph("4 x (2 gpu, 2 nic 25) rail leaf by 4");
  EXPECT_THAT(leaves(rail), SizeIs(2));
  EXPECT_THAT(leaves(rail)[0].hosts, SizeIs(4));
  EXPECT_THAT(leaves(rail)[0].ports, SizeIs(4));
}

TEST(LostCables, ArePortsOrNicsWithoutLink) {
  const Graph whole = make_graph("3 x (2 gpu, 2 nic 25) leaf");
  Graph graph = whole;
  const auto hosts = graph.all(NodeKind::host);
  for (size_t i = 0; i < hosts.size(); ++i) graph.get<HostFacts>(hosts[i])->identity = 10 + i;
  const Index port = graph.all(NodeKind::port)[1];  // the second one of the first host
  const Index other = graph.all(NodeKind::port)[4];
  const std::string nic = graph[graph.holder(other, NodeKind::nic)].name;
  const PortNames without = {{10, {graph[port].name, "eth7"}}, {11, {}}, {12, {nic}}};
  const auto words = [&](Index one) {
    return graph.describe(graph.holder(one, NodeKind::nic)) + ", port " + graph[one].name;
  };
  EXPECT_THAT(remove_lost_cables(graph, without), ElementsAre(words(port), words(other)));
  EXPECT_EQ(graph.links().size() + 4, whole.links().size());
  EXPECT_FALSE(graph.get<PortFacts>(port)->active);
  EXPECT_THAT(remove_lost_cables(graph, without), SizeIs(0));
  // A port that was seen without link before may have one now.
  Graph later = whole;
  later.get<HostFacts>(hosts[0])->identity = 10;
  later.get<PortFacts>(port)->active = false;
  EXPECT_THAT(remove_lost_cables(later, {{10, {}}}), SizeIs(0));
  EXPECT_TRUE(later.get<PortFacts>(port)->active);
  EXPECT_EQ(later.links(), whole.links());
}

TEST(Derive, HostsOfOneClass) {
  Graph graph = make_graph("3 x (4 gpu nvswitch 300, 2 nic 25) + (4 gpu nvswitch 300, 2 nic 50) leaf");
  EXPECT_THAT(host_classes(graph), ElementsAre(0, 0, 0, 1));
  graph.get<GpuFacts>(graph.all(NodeKind::gpu)[5])->uuid = "another";
  EXPECT_THAT(host_classes(graph), ElementsAre(0, 0, 0, 1)) << "names do not count";
  graph.get<GpuFacts>(graph.all(NodeKind::gpu)[5])->arch = "sm_80";
  EXPECT_THAT(host_classes(graph), ElementsAre(0, 1, 0, 2));
}

TEST(Merge, HostsAndFabricMeetAtGuids) {
  const Graph whole = make_graph("3 x (2 gpu, 2 nic 25) leaf by 2 2:1");
  const auto hosts = hosts_of(whole);
  const auto host_list = whole.all(NodeKind::host);
  std::vector<Graph> parts;
  for (const Index host : host_list)
    parts.push_back(subgraph(whole, [&](Index node) { return hosts[static_cast<size_t>(node)] == host; }));
  // The fabric knows ports by their GUIDs; it has other names for the hosts.
  Graph fabric = subgraph(whole, [&](Index node) {
    return whole[node].kind() == NodeKind::port || whole[node].kind() == NodeKind::fabric_switch;
  });
  Graph bare;
  std::vector<Index> place;
  for (const Node& node : fabric.nodes()) {
    Node copy = node;
    if (copy.kind() == NodeKind::bridge || copy.kind() == NodeKind::numa) {
      place.push_back(place[static_cast<size_t>(copy.parent)]);
      continue;
    }
    if (copy.parent != kNone) copy.parent = place[static_cast<size_t>(copy.parent)];
    if (auto* host = std::get_if<HostFacts>(&copy.facts)) *host = {}, copy.name += ".cluster";
    if (auto* nic = std::get_if<NicFacts>(&copy.facts)) *nic = {}, copy.name = "HCA-" + copy.name;
    place.push_back(bare.add(copy));
  }
  for (Link link : fabric.links()) {
    link.from = place[static_cast<size_t>(link.from)];
    link.to = place[static_cast<size_t>(link.to)];
    if (link.kind == LinkKind::cable) bare.add(link);
  }
  parts.push_back(bare);
  const auto merged = merge(parts);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  ASSERT_TRUE(check(*merged).ok());
  Graph graph = *merged;
  EXPECT_EQ(graph.size(), whole.size());
  EXPECT_EQ(graph.links().size(), whole.links().size());
  EXPECT_THAT(leaves(graph), SizeIs(2));
}

/// A host of that identity with a PCIe switch, a GPU, and a NIC whose port is called mlx5_0.
Graph host_with_nic(const std::string& name, uint64_t identity) {
  Graph graph = make_graph("(1 gpu, 1 nic 50)");
  graph[0].name = name;
  graph.get<HostFacts>(0)->identity = identity;
  const Index port = graph.all(NodeKind::port)[0];
  graph[port].name = "mlx5_0";
  *graph.get<PortFacts>(port) = {.mbit_per_s = 400'000, .guid = 7};
  return graph;
}

TEST(Merge, HostsThatDifferStayApart) {
  const std::vector<Graph> parts = {host_with_nic("one", 1), host_with_nic("two", 2)};
  auto merged = merge(parts);  // of one GUID, as where they are simulated
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->size(), 2 * parts[0].size());
  EXPECT_TRUE(check(*merged).ok());
}

TEST(Merge, AFabricKnowsNicsByTheNamesOfTheirPorts) {
  Graph fabric;
  const Index leaf = fabric.add("leaf", kNone, FabricSwitchFacts{1, 0, 0});
  for (const char* name : {"one", "two"}) {
    const Index nic = fabric.add("mlx5_0", fabric.add(name, kNone, HostFacts()), NicFacts());
    const Index port = fabric.add("1", nic, PortFacts{.mbit_per_s = 400'000, .rail = 3});
    fabric.connect({nic, port, LinkKind::inner, 1, 50, 0, -1});
    fabric.connect({port, leaf, LinkKind::cable, 1, 50, 0, 3});
  }
  const std::vector<Graph> hosts = {host_with_nic("one", 1), host_with_nic("two", 2)};
  for (const auto& parts :
       {std::vector{hosts[0], hosts[1], fabric}, std::vector{fabric, hosts[1], hosts[0]}}) {
    auto merged = merge(parts);
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    EXPECT_TRUE(check(*merged).ok()) << check(*merged).message();
    EXPECT_EQ(merged->size(), 2 * hosts[0].size() + 1);
    EXPECT_THAT(leaves(*merged)[0].ports, SizeIs(2));
    for (const Index port : merged->all(NodeKind::port)) EXPECT_EQ(merged->get<PortFacts>(port)->rail, 3);
  }
}

TEST(Merge, TheSameTwiceIsTheSame) {
  const Graph graph = make_graph("2 x (4 gpu mi250 50, 2 nic 25) leaf");
  const std::vector<Graph> parts = {graph, graph};
  auto merged = merge(parts);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(*merged, graph);
}

TEST(Merge, UnknownIsFilledAndContradictionsAreNamed) {
  Graph a = small();
  Graph b = a;
  const Index gpu = a.all(NodeKind::gpu)[0];
  b.get<GpuFacts>(gpu)->arch = "sm_90";
  a.links()[0].gb_per_s = a.links()[1].gb_per_s = 0;
  const std::vector<Graph> parts = {a, b};
  auto merged = merge(parts);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->get<GpuFacts>(gpu)->arch, "sm_90");
  EXPECT_GT(merged->links()[0].gb_per_s, 0);
  a.get<GpuFacts>(gpu)->arch = "sm_80";
  const std::vector<Graph> contrary = {a, b};
  EXPECT_THAT(merge(contrary).status().message(), HasSubstr("its architecture is sm_80 and sm_90"));
  a = b;
  a.connect({a.all(NodeKind::gpu)[0], a.all(NodeKind::gpu)[1], LinkKind::xgmi, 1, 50, 0, -1});
  b.connect({a.all(NodeKind::gpu)[0], a.all(NodeKind::gpu)[1], LinkKind::xgmi, 2, 100, 0, -1});
  const std::vector<Graph> links = {a, b};
  EXPECT_THAT(merge(links).status().message(), HasSubstr("1 and 2 xGMI links"));
}

TEST(Rates, AreThoseOfDataSheets) {
  EXPECT_NEAR(pcie_gb_per_s(16, 16), 31.5, 0.05);
  EXPECT_NEAR(pcie_gb_per_s(2.5, 1), 0.25, 1e-9);
  EXPECT_EQ(pcie_gb_per_s(0, 16), 0);
  EXPECT_EQ(18 * nvlink_gb_per_s("sm_90"), 450);
  EXPECT_EQ(6 * nvlink_gb_per_s("sm_70"), 150);
  EXPECT_EQ(nvlink_gb_per_s("gfx942"), 0);
  EXPECT_EQ(xgmi_gb_per_s("gfx90a"), 50);
  EXPECT_EQ(pcie_gt_per_s(5), 32);
  EXPECT_EQ(pcie_gt_per_s(9), 0);
}

TEST(Scale, TenThousandGpus) {
  const Graph whole =
      make_graph("1250 x (2 numa, 8 gpu nvswitch 450 pcie 63, 8 nic 50) rail leaf by 32 spine 16");
  const std::vector<Graph> parts = {whole, whole};
  auto merged = merge(parts);
  ASSERT_TRUE(merged.ok());
  EXPECT_TRUE(check(*merged).ok());
  EXPECT_THAT(islands(*merged), SizeIs(1250));
  EXPECT_THAT(host_classes(*merged), Each(0));
  EXPECT_THAT(rails(*merged), SizeIs(8));
  EXPECT_THAT(leaves(*merged), SizeIs(40 * 8));
}

}  // namespace
}  // namespace weir::topology
