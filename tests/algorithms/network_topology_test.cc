// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "algorithms/bound/bound.h"
#include "algorithms/network/host_ranks.h"
#include "algorithms/network/network.h"
#include "algorithms/network/relays.h"
#include "tests/algorithms/ground_truth.h"
#include "topology/formats/fabric_file.h"
#include "topology/formats/synthetic.h"

namespace weir::algorithms {
namespace {

using topology::Graph;
using topology::Index;
using topology::LinkKind;
using topology::NodeKind;

Graph machine(const char* line) {
  auto read = topology::read_synthetic({"line", line});
  EXPECT_TRUE(read.ok()) << read.status().message();
  return graph_of(*read);
}

Network between(const Graph& graph, const std::vector<Index>& devices) {
  auto network = network_of(graph, devices);
  EXPECT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(check(*network).message(), "");
  return *network;
}

std::string refused(const Graph& graph, const std::vector<Index>& devices) {
  auto network = network_of(graph, devices);
  return network.ok() ? "accepted" : network.status().message();
}

/// M / T in GB/s.
std::string gb_per_s(const Network& network, Collective collective) {
  auto bound = lower_bound(network, collective);
  if (!bound.ok()) return bound.status().message();
  EXPECT_EQ(check_bound(network, *bound).message(), "");
  return text(Ratio(bound->bandwidth().numerator, bound->bandwidth().denominator * 1'000'000));
}

std::string why(const Graph& graph, const Network& network, Collective collective) {
  auto bound = lower_bound(network, collective);
  return bound.ok() ? explain(*bound, network, graph) : bound.status().message();
}

TEST(NetworkOf, TwoGpusHaveOneWay) {
  const Graph alone = machine("(8 gpu nvswitch 300 pcie 32, 8 nic 25) leaf");
  const Network network = between(alone, alone.all(NodeKind::gpu));
  EXPECT_EQ(network.nodes, 9);
  EXPECT_EQ(gb_per_s(network, Collective::all_gather), "2400/7");

  const Graph pcie = machine("(4 gpu pcie 32)");
  EXPECT_EQ(gb_per_s(between(pcie, pcie.all(NodeKind::gpu)), Collective::all_gather), "128/3");
}

TEST(NetworkOf, NicsThatNoMoveUsesAreLeftOut) {
  const auto count = [](const Graph& graph, const Network& network) {
    return std::ranges::count_if(network.origin,
                                 [&](Index node) { return graph[node].kind() == NodeKind::nic; });
  };
  const Graph graph = machine("2 x (8 gpu nvswitch 300, 8 nic 25) leaf");
  const std::vector<Index> gpus = graph.all(NodeKind::gpu);
  EXPECT_EQ(count(graph, between(graph, gpus)), 16);
  const std::vector<Index> some = {gpus[0], gpus[1], gpus[8], gpus[9], gpus[10]};
  const Network network = between(graph, some);
  EXPECT_EQ(count(graph, network), 5) << "the nearest ones";
  EXPECT_EQ(gb_per_s(network, Collective::all_gather), "250/3") << "3/5 of all data enters by two NICs";
  auto all = network_of(graph, some, Ways::all);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(count(graph, *all), 16);

  const Graph rails = machine("2 x (4 gpu nvswitch 300, 4 nic 25) rail leaf");
  const std::vector<Index> four = rails.all(NodeKind::gpu);
  EXPECT_EQ(count(rails, between(rails, {four[0], four[4 + 3]})), 4) << "the NICs on the rails of both";
  const Graph one = machine("2 x (8 gpu nvswitch 300, 2 nic 25) leaf");
  const std::vector<Index> each = one.all(NodeKind::gpu);
  EXPECT_EQ(count(one, between(one, {each[0], each[8]})), 2) << "a NIC of a host is nearest";
}

/// Whether links lead over NUMA nodes.
bool crosses_numa(const Graph& graph, const Network& network) {
  return std::ranges::any_of(network.origin,
                             [&](Index node) { return graph[node].kind() == NodeKind::numa; });
}

/// The bounds are those of planners that leave PCIe out of hosts.
TEST(NetworkOf, PcieLeadsToTheNearestNicsWhereGpusHaveFastLinks) {
  for (const auto& [line, bound] : {std::pair("2 x (16 gpu mi250 50, 8 nic 25) rail leaf", "1040/3"),
                                    {"2 x (16 gpu mi250 50, 16 nic 16) leaf", "5312/15"},
                                    {"2 x (8 gpu nvswitch 300, 8 nic 25) leaf", "1040/3"}}) {
    const Graph graph = machine(line);
    const Network network = between(graph, graph.all(NodeKind::gpu));
    EXPECT_EQ(gb_per_s(network, Collective::all_gather), bound) << line;
    EXPECT_FALSE(crosses_numa(graph, network)) << line;
  }
  // One NIC for all: it is the nearest one, over a switch.
  const Graph shared = machine("2 x (4 gpu nvswitch 300, 1 nic 25) leaf");
  EXPECT_EQ(gb_per_s(between(shared, shared.all(NodeKind::gpu)), Collective::all_gather), "50");
}

TEST(NetworkOf, HostsKeepPcieThatMovesNeed) {
  const Graph apart = machine("2 x (4 gpu pcie 32, 4 nic 25) leaf");
  EXPECT_TRUE(crosses_numa(apart, between(apart, apart.all(NodeKind::gpu)))) << "between GPUs";
  // Host 0's GPU 0 is slower than its NIC: others help.
  Graph slow = machine("2 x (4 gpu nvswitch 300, 4 nic 25) leaf");
  const std::vector<Index> gpus = slow.all(NodeKind::gpu);
  for (topology::Link& link : slow.links())
    if (link.kind == LinkKind::pci && (link.from == gpus[0] || link.to == gpus[0])) link.gb_per_s = 10;
  const Network network = between(slow, gpus);
  for (const Index host : slow.all(NodeKind::host)) {
    const bool keeps = std::ranges::any_of(network.origin, [&](Index node) {
      return slow[node].kind() == NodeKind::numa && slow.holder(node, NodeKind::host) == host;
    });
    EXPECT_EQ(keeps, host == slow.holder(gpus[0], NodeKind::host)) << host;
  }
  // A NIC without a cable is no way out.
  Graph unplugged = machine("2 x (2 gpu nvswitch 300, 2 nic 25) leaf");
  std::erase_if(unplugged.links(), [&](const topology::Link& link) {
    const Index port = unplugged[link.from].kind() == NodeKind::port ? link.from : link.to;
    return link.kind == LinkKind::cable && unplugged[port].name == "nic1" &&
           unplugged.holder(port, NodeKind::host) == unplugged.all(NodeKind::host)[0];
  });
  EXPECT_TRUE(crosses_numa(unplugged, between(unplugged, unplugged.all(NodeKind::gpu))));
}

TEST(NetworkOf, AMachine) {
  const Graph graph = machine("(8 gpu nvswitch 300 pcie 32, 2 nic 25)");
  const Network network = between(graph, graph.all(NodeKind::gpu));
  EXPECT_EQ(network.ranks(), 8);
  EXPECT_EQ(network.origin.size(), static_cast<size_t>(network.nodes));
  for (Index node : network.origin) {
    EXPECT_NE(graph[node].kind(), NodeKind::nic) << "there is nothing behind NICs";
    EXPECT_NE(graph[node].kind(), NodeKind::host);
  }
  for (const Edge& edge : network.edges) {
    const topology::Link& link = graph.links()[static_cast<size_t>(edge.link)];
    EXPECT_EQ(link.from, network.origin[static_cast<size_t>(edge.from)]);
    EXPECT_EQ(link.to, network.origin[static_cast<size_t>(edge.to)]);
    EXPECT_EQ(static_cast<double>(edge.capacity) * kCapacityUnit, link.gb_per_s);
  }
  EXPECT_EQ(gb_per_s(network, Collective::all_gather), "2400/7") << "NVLink is the only way";
}

TEST(NetworkOf, GpusOfOthersForwardNothing) {
  const Graph graph = machine("(8 gpu ring 50 pcie 32)");
  const std::vector<Index> gpus = graph.all(NodeKind::gpu);
  const Network network = between(graph, {gpus[0], gpus[2], gpus[3]});
  for (Index node : network.origin) {
    EXPECT_TRUE(graph[node].kind() != NodeKind::gpu || node == gpus[0] || node == gpus[2] || node == gpus[3]);
  }
  EXPECT_EQ(gb_per_s(network, Collective::broadcast), "32") << "GPU 0 has PCIe alone";
}

TEST(NetworkOf, RelaysForward) {
  const Graph graph = machine("(8 gpu ring 50 pcie 32)");
  const std::vector<Index> gpus = graph.all(NodeKind::gpu);
  const std::vector<Index> some = {gpus[0], gpus[2], gpus[3]};
  const auto network = network_with_relays(graph, some);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->ranks(), 3);
  EXPECT_EQ(relays_in(*network, graph), 5);
  EXPECT_EQ(gb_per_s(*network, Collective::broadcast), "100") << "GPU 0 has two links of 50";
  EXPECT_EQ(relays_in(between(graph, some), graph), 0);
}

TEST(NetworkOf, RelaysAreRanksWithoutDataWhereTheirHostHasARank) {
  const Graph graph = machine("3 x (4 gpu nvswitch 300, 4 nic 25) rail leaf");
  const std::vector<Index> gpus = graph.all(NodeKind::gpu);
  const auto network = network_with_relays(graph, std::vector{gpus[1], gpus[4]});
  ASSERT_TRUE(network.ok()) << network.status().message();
  const Network wide = with_relays_as_ranks(*network, graph);
  std::vector<Index> devices;
  for (const int32_t node : wide.rank_nodes) devices.push_back(wide.origin[static_cast<size_t>(node)]);
  EXPECT_EQ(devices, (std::vector{gpus[1], gpus[4], gpus[0], gpus[2], gpus[3], gpus[5], gpus[6], gpus[7]}));
  EXPECT_EQ(wide.edges, network->edges);
  const Network alone = between(graph, {gpus[1], gpus[4]});
  EXPECT_EQ(with_relays_as_ranks(alone, graph), alone);
}

TEST(NetworkOf, ParallelLinksAreOneEdge) {
  Graph graph;
  const Index host = graph.add("n0", topology::kNone, topology::HostFacts{1, {}});
  const Index a = graph.add("0", host, topology::GpuFacts{});
  const Index b = graph.add("1", host, topology::GpuFacts{});
  graph.connect({a, b, LinkKind::xgmi, 2, 100, 0, -1});
  graph.connect({a, b, LinkKind::pci, 1, 0.5, 0, -1});
  const Network network = between(graph, {b, a});
  EXPECT_EQ(network.edges, (std::vector<Edge>{{0, 1, 100'500'000, 0}, {1, 0, 100'500'000, 1}}));
  EXPECT_EQ(network.rank_nodes, (std::vector<int32_t>{1, 0}));
}

TEST(NetworkOf, LeavesOutWhatHangsOnOneNode) {
  Graph graph;
  const Index host = graph.add("n0", topology::kNone, topology::HostFacts{1, {}});
  std::vector<Index> gpus;
  std::vector<Index> bridges;
  for (const char* gpu : {"0", "1"}) gpus.push_back(graph.add(gpu, host, topology::GpuFacts{}));
  for (const char* bridge : {"a", "b", "c", "d"})
    bridges.push_back(graph.add(bridge, host, topology::BridgeFacts{}));
  const auto link = [&](Index from, Index to) { graph.connect({from, to, LinkKind::pci, 1, 10, 0, -1}); };
  link(gpus[0], bridges[0]);
  link(bridges[0], gpus[1]);
  // A circle that leads nowhere else, on a switch; another on a GPU.
  link(bridges[0], bridges[1]);
  link(bridges[1], bridges[2]);
  link(bridges[2], bridges[0]);
  link(gpus[1], bridges[3]);
  EXPECT_EQ(between(graph, gpus).origin, (std::vector<Index>{gpus[0], gpus[1], bridges[0]}));
  link(bridges[3], bridges[2]);
  EXPECT_EQ(between(graph, gpus).nodes, 6) << "now it is another way from the one to the other";
}

TEST(NetworkOf, SaysWhatIsWrong) {
  Graph graph = machine("2 x (2 gpu nvswitch 300, 1 nic 25)");
  const std::vector<Index> gpus = graph.all(NodeKind::gpu);
  EXPECT_EQ(refused(graph, {}), "a network without ranks: expected at least one device");
  EXPECT_EQ(refused(graph, {gpus[0]}), "accepted");
  EXPECT_EQ(refused(graph, {999}), "rank 0 is on node 999, but the topology has " +
                                       std::to_string(graph.size()) + " nodes: expected one of them");
  EXPECT_EQ(refused(graph, {gpus[0], gpus[1], gpus[0]}).substr(0, 32), "ranks 0 and 2 are both on host h");
  EXPECT_NE(refused(graph, {gpus[0], graph.all(NodeKind::nic)[0]})
                .find("expected a GPU, a partition, a NUMA node or a host"),
            std::string::npos);
  EXPECT_NE(refused(graph, gpus).find("(rank 2): expected devices that are connected"), std::string::npos);
  for (topology::Link& link : graph.links()) {
    if (link.kind == LinkKind::nvlink) link.gb_per_s = 0;
  }
  EXPECT_NE(refused(graph, {gpus[0], gpus[1]}).find("has no known bandwidth"), std::string::npos);
}

TEST(Explain, SaysWhichLinksLimit) {
  const Graph cluster = machine("2 x (4 gpu nvswitch 300 pcie 64, 2 nic 25) leaf");
  const std::vector<Index> gpus = cluster.all(NodeKind::gpu);
  const Network network = between(cluster, gpus);
  EXPECT_EQ(why(cluster, network, Collective::all_gather),
            "the 2 cables into host host0 are the bottleneck: 1/2 of all bytes must pass through 50 GB/s");
  EXPECT_EQ(why(cluster, network, Collective::reduce_scatter),
            "the 2 cables out of host host0 are the bottleneck: 1/2 of all bytes must pass through 50 GB/s");
  EXPECT_EQ(why(cluster, between(cluster, {gpus[0], gpus[4]}), Collective::broadcast),
            "the 1 cable into host host1 is the bottleneck: all bytes must pass through 25 GB/s")
      << "the other NIC is not the nearest";
  EXPECT_EQ(why(cluster, between(cluster, {gpus[0]}), Collective::broadcast), "one rank alone needs no time");
}

TEST(Explain, NamesPackages) {
  Graph graph;
  const Index host = graph.add("n0", topology::kNone, topology::HostFacts{1, {}});
  std::vector<Index> dies;
  for (int die = 0; die < 8; ++die) {
    topology::GpuFacts facts;
    facts.package = die / 2;
    dies.push_back(graph.add(std::to_string(die), host, facts));
  }
  for (const Wire& wire : kMi250Node66) {
    graph.connect({dies[static_cast<size_t>(wire.a)], dies[static_cast<size_t>(wire.b)], LinkKind::xgmi,
                   wire.count, 50.0 * wire.count, 0, -1});
  }
  const Network network = between(graph, dies);
  EXPECT_EQ(gb_per_s(network, Collective::all_gather), "1000/3");
  EXPECT_EQ(
      why(graph, network, Collective::all_gather),
      "the 5 xGMI links into package 0 are the bottleneck: 3/4 of all bytes must pass through 250 GB/s");
  EXPECT_EQ(why(graph, network, Collective::all_reduce),
            "the links into the 4 parts (package 0; package 1; package 2; package 3) are the bottleneck: 6 "
            "times all bytes must pass through 1000 GB/s");
  dies.resize(5);
  const Network five = between(graph, dies);
  EXPECT_EQ(
      why(graph, five, Collective::all_gather),
      "the 2 xGMI links into package 1 are the bottleneck: 3/5 of all bytes must pass through 100 GB/s");
  EXPECT_EQ(why(graph, five, Collective::all_reduce),
            "the 2 xGMI links into package 1 are the bottleneck: all bytes must pass through 100 GB/s");
}

/// Three hosts below two leaves, each with two NICs of 25 GB/s; the second NIC of the last host has `rate`.
Graph three_hosts(const char* rate) {
  auto read = topology::read_fabric_file({"fabric", std::string(R"(weir fabric 1
leaf leaf[0-1]
host node[0-2]
attach node[0-1] nic mlx5_[0-1] to leaf[0-1] 200G rail 0-1
attach node2 nic mlx5_0 to leaf0 200G
attach node2 nic mlx5_1 to leaf1 )") + rate + "\n"});
  EXPECT_TRUE(read.ok()) << read.status().message();
  return *graph_of(*read);
}

TEST(NetworkOfHosts, RanksOfOneHostShareItsCables) {
  const Graph graph = three_hosts("200G");
  const std::vector<Index> each = graph.all(NodeKind::host);
  const std::vector<Index> hosts = {each[1], each[0], each[1], each[2], each[1]};
  const auto network = network_of_hosts(graph, hosts, 400);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(check(*network).message(), "");
  EXPECT_EQ(network->ranks(), 5);
  EXPECT_EQ(network->origin.size(), static_cast<size_t>(network->nodes));
  EXPECT_EQ(network->link_kinds.size(), network->edges.size());
  for (size_t rank = 0; rank < hosts.size(); ++rank)
    EXPECT_EQ(network->origin[static_cast<size_t>(network->rank_nodes[rank])], hosts[rank]) << rank;
  // Hosts of one rank need four of five blocks, by two cables of 25 GB/s.
  EXPECT_EQ(gb_per_s(*network, Collective::all_gather), "125/2");
  const auto alone = network_of_hosts(graph, each, 400);
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_EQ(alone->nodes, 5) << "three hosts and two leaves";
  for (size_t rank = 0; rank < each.size(); ++rank)
    EXPECT_EQ(alone->origin[static_cast<size_t>(alone->rank_nodes[rank])], each[rank]) << rank;
}

TEST(NetworkOfHosts, KnowsTheSpeedOfAllCablesOfAHost) {
  const Graph graph = three_hosts("?");
  const auto network = network_of_hosts(graph, graph.all(NodeKind::host), 400);
  ASSERT_FALSE(network.ok());
  EXPECT_NE(network.status().message().find("host node2"), std::string::npos) << network.status().message();
  EXPECT_NE(network.status().message().find("has no known bandwidth"), std::string::npos);
}

TEST(NetworkOfHosts, RefusesWhatIsNoRate) {
  const Graph graph = three_hosts("200G");
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    const auto network = network_of_hosts(graph, graph.all(NodeKind::host), rate);
    ASSERT_FALSE(network.ok()) << rate;
    EXPECT_NE(network.status().message().find("expected a rate above 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::algorithms
