// SPDX-License-Identifier: Apache-2.0
// weir/topology.h, weir/bound.h, weir/plan.h and weir/simulate.h: beside what is known by hand, and beside
// the functions within.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/ir/text.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/sim/ways.h"
#include "topology/detect/read_files.h"
#include "topology/formats/any.h"
#include "topology/views/json.h"
#include "weir/plan.h"
#include "weir/simulate.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Four hosts on two leaves that have a quarter upwards of what they have downwards.
const char kNarrow[] = "4 x (1 gpu pcie 50, 1 nic 25) leaf by 2 4:1 spine 2";
/// One host: four GPUs and as many NICs, two of each on a NUMA node.
const char kHost[] = "(4 gpu nvswitch 300, 4 nic 50, 2 numa)";
/// Two hosts that limit each other.
const char kHosts[] = "2 x (4 gpu mesh 100, 2 nic 25) leaf";

Topology topology_of(const std::string& text) {
  auto topology = read_topology({text});
  EXPECT_TRUE(topology) << topology.error();
  return topology ? *std::move(topology) : Topology();
}

std::vector<std::string> names_of(const Topology& topology, const auto& nodes) {
  std::vector<std::string> names;
  for (const int node : nodes) names.emplace_back(topology.node(node).name);
  return names;
}

/// The sentence about a text that has to be refused.
std::string error_of(const std::string& text) {
  const auto topology = parse_topology(text, "cluster.txt");
  EXPECT_FALSE(topology) << text;
  return topology.error();
}

TEST(PlannerApi, KnowsHostsLeavesAndSpines) {
  const Topology topology = topology_of(kNarrow);
  EXPECT_THAT(names_of(topology, topology.hosts()), ElementsAre("host0", "host1", "host2", "host3"));
  ASSERT_EQ(topology.leaves().size(), 2U);
  EXPECT_THAT(names_of(topology, topology.leaves()[0].hosts), ElementsAre("host0", "host1"));
  EXPECT_THAT(names_of(topology, topology.leaves()[1].hosts), ElementsAre("host2", "host3"));
  for (const Leaf& leaf : topology.leaves()) {
    EXPECT_EQ(leaf.down_gb_per_s, 50);
    EXPECT_EQ(leaf.up_gb_per_s, 12.5);
    EXPECT_EQ(topology.node(leaf.node).level, 1);
    EXPECT_EQ(topology.node(leaf.node).kind, NodeKind::fabric_switch);
  }
  const List<int> hosts = topology.hosts();
  EXPECT_THAT(topology.switches(hosts[0], 1), ElementsAre(topology.leaves()[0].node));
  EXPECT_THAT(names_of(topology, topology.switches(hosts[3], 2)), ElementsAre("spine0", "spine1"));
  EXPECT_THAT(topology.switches(hosts[3], 3), IsEmpty());
  EXPECT_EQ(topology.node(hosts[0]).leaf_group, topology.node(hosts[1]).leaf_group);
  EXPECT_NE(topology.node(hosts[1]).leaf_group, topology.node(hosts[2]).leaf_group);
  const auto to_spines =
      std::count_if(topology.links().begin(), topology.links().end(), [&](const Link& link) {
        return topology.node(link.from).level == 1 && topology.node(link.to).level == 2;
      });
  EXPECT_EQ(to_spines, 4);
}

TEST(PlannerApi, KnowsWhatIsNearToAGpu) {
  const Topology topology = topology_of(kHost);
  ASSERT_EQ(topology.devices().size(), 4U);
  std::vector<int> nics;
  for (const Node& node : topology.nodes()) {
    if (node.kind == NodeKind::nic) nics.push_back(static_cast<int>(&node - topology.nodes().data()));
  }
  ASSERT_EQ(nics.size(), 4U);
  for (int gpu = 0; gpu < 4; ++gpu) {
    const int own = topology.devices()[static_cast<size_t>(gpu)];
    EXPECT_EQ(topology.node(own).kind, NodeKind::gpu);
    EXPECT_EQ(topology.node(own).host, topology.hosts()[0]);
    EXPECT_EQ(topology.node(own).numa, gpu / 2);
    EXPECT_THAT(topology.nearest_nics(own), ElementsAre(nics[static_cast<size_t>(gpu)]));
  }
  EXPECT_THAT(topology.nearest_nics(topology.hosts()[0]), IsEmpty());
  EXPECT_THAT(topology.nearest_nics(-1), IsEmpty());
  EXPECT_THAT(topology.nearest_nics(1 << 30), IsEmpty());
  for (const Link& link : topology.links()) {
    if (link.kind == LinkKind::nvlink) {
      EXPECT_EQ(link.gb_per_s, 300);
    }
  }
}

TEST(PlannerApi, ASharedNicIsNearToBothOfItsGpus) {
  const Topology topology = topology_of("2 x (4 gpu mesh 100, 2 nic 25) leaf");
  const auto nics = topology.nearest_nics(topology.devices()[5]);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(topology.node(nics[0]).host, topology.hosts()[1]);
  EXPECT_EQ(topology.nearest_nics(topology.devices()[4]), nics);
  EXPECT_NE(topology.nearest_nics(topology.devices()[6]), nics);
}

TEST(PlannerApi, HostsAreDevicesWhereNoGpuIsKnown) {
  const auto topology = parse_topology("SwitchName=leaf1 Nodes=n[1-3]\n");
  ASSERT_TRUE(topology) << topology.error();
  EXPECT_THAT(names_of(*topology, topology->devices()), ElementsAre("n1", "n2", "n3"));
  const auto bound = lower_bound(*topology, Collective::all_gather);
  EXPECT_FALSE(bound);
  EXPECT_THAT(bound.error(), HasSubstr("bandwidth"));
}

TEST(PlannerApi, FilesAreMergedAndJsonIsThatOfTheCommand) {
  const std::string fabric = ::testing::TempDir() + "planner_api_fabric.txt";
  std::ofstream(fabric) << "weir fabric 1\nleaf l1\nhost host0\nattach host0 nic nic[0-3] to l1 400G\n";
  const auto topology = read_topology({kHost, fabric});
  std::remove(fabric.c_str());
  ASSERT_TRUE(topology) << topology.error();
  EXPECT_EQ(topology->hosts().size(), 1U);
  ASSERT_EQ(topology->leaves().size(), 1U);
  EXPECT_EQ(topology->leaves()[0].down_gb_per_s, 200);
  const auto graph = topology::read_any({"the line", kHost});
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(topology_of(kHost).json(), topology::json_of(*graph));
}

TEST(PlannerApi, ThisMachineIsAHost) {
  const auto topology = detect_topology();
  ASSERT_TRUE(topology) << topology.error();
  ASSERT_EQ(topology->hosts().size(), 1U);
  EXPECT_GE(topology->devices().size(), 1U);
}

TEST(PlannerApi, WrongFilesGetTheSentenceOfTheCommand) {
  const std::string missing[] = {"/nowhere/cluster.txt"};
  EXPECT_THAT(read_topology({missing[0]}).error(),
              StartsWith("there is no file /nowhere/cluster.txt; expected "));
  EXPECT_EQ(read_topology({missing[0]}).error(), topology::read_files(missing, nullptr).status().message());
  EXPECT_THAT(read_topology({}).error(), HasSubstr("expected at least one"));
  EXPECT_THAT(error_of("weir fabric 1\nleaf l1\nhost h\nattach h to l2 100G\n"),
              StartsWith("cluster.txt:4: "));
  EXPECT_THAT(error_of("weir fabric 9\n"), StartsWith("cluster.txt:1: "));
  EXPECT_THAT(error_of(""), HasSubstr("expected"));
  EXPECT_THAT(error_of(std::string("\0<x", 3)), HasSubstr("cluster.txt"));
  // What is understood in part is read, with a note.
  const auto parts = parse_topology("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n1\n", "topology.conf");
  ASSERT_TRUE(parts) << parts.error();
  ASSERT_EQ(parts->notes().size(), 1U);
  EXPECT_THAT(parts->notes()[0], StartsWith("topology.conf:2: "));
}

TEST(PlannerApi, BoundsAreThoseKnownByHand) {
  // 3/4 of all bytes into each host, over its NIC of 25 GB/s.
  const Topology star = topology_of("4 x (1 gpu pcie 50, 1 nic 25) leaf");
  const auto gathered = lower_bound(star, Collective::all_gather);
  ASSERT_TRUE(gathered) << gathered.error();
  EXPECT_EQ(gathered->seconds_per_gb().numerator, 3);
  EXPECT_EQ(gathered->seconds_per_gb().denominator, 100);
  EXPECT_STREQ(gathered->seconds_per_gb().text, "3/100");
  EXPECT_DOUBLE_EQ(gathered->seconds(2e9), 0.06);
  EXPECT_DOUBLE_EQ(gathered->gb_per_s(), 100.0 / 3);
  EXPECT_EQ(gathered->ranks(), 4);
  EXPECT_EQ(lower_bound(star, Collective::broadcast, 2)->gb_per_s(), 25);
  EXPECT_EQ(lower_bound(star, Collective::broadcast, 2)->root(), 2);
  // Half of all bytes into each leaf, over uplinks of 12.5 GB/s together.
  const Topology narrow = topology_of(kNarrow);
  EXPECT_STREQ(lower_bound(narrow, Collective::all_gather)->seconds_per_gb().text, "1/25");
  EXPECT_STREQ(lower_bound(narrow, Collective::all_reduce)->seconds_per_gb().text, "2/25");
  // Two of them on one leaf: half of all bytes into each host.
  const int below_one_leaf[] = {3, 2};
  const auto two = lower_bound(narrow, Collective::all_gather, 0, below_one_leaf);
  ASSERT_TRUE(two) << two.error();
  EXPECT_STREQ(two->seconds_per_gb().text, "1/50");
  EXPECT_EQ(two->ranks(), 2);
  // One alone.
  const auto alone = lower_bound(narrow, Collective::all_gather, 0, std::vector<int>{1});
  ASSERT_TRUE(alone) << alone.error();
  EXPECT_EQ(alone->witness(), Witness::nothing);
  EXPECT_EQ(alone->seconds(1e9), 0);
  EXPECT_EQ(alone->gb_per_s(), 0);
  EXPECT_THAT(alone->cuts(), IsEmpty());
}

TEST(PlannerApi, TheCutNamesTheCablesThatLimit) {
  const Topology topology = topology_of(kNarrow);
  const auto bound = lower_bound(topology, Collective::all_gather);
  ASSERT_TRUE(bound) << bound.error();
  ASSERT_EQ(bound->cuts().size(), 1U);
  const Cut& cut = bound->cuts()[0];
  EXPECT_EQ(cut.gb_per_s, 12.5);
  ASSERT_EQ(cut.links.size(), 2U);
  for (const int number : cut.links) {
    const Link& link = topology.links()[static_cast<size_t>(number)];
    EXPECT_EQ(link.kind, LinkKind::cable);
    EXPECT_EQ(topology.node(link.from).level + topology.node(link.to).level, 3);
  }
  EXPECT_THAT(bound->sentence(), HasSubstr("12.5 GB/s"));
  // The fraction follows from the cut: half of all bytes over what its cables carry.
  EXPECT_DOUBLE_EQ(bound->seconds_per_gb().value, 0.5 / cut.gb_per_s);
}

TEST(PlannerApi, ACutThroughANicRunsThroughItsCable) {
  const Topology topology = topology_of("4 x (1 gpu pcie 50, 1 nic 25) leaf");
  const auto bound = lower_bound(topology, Collective::all_gather);
  ASSERT_TRUE(bound) << bound.error();
  ASSERT_EQ(bound->cuts().size(), 1U);
  ASSERT_EQ(bound->cuts()[0].links.size(), 1U);
  EXPECT_EQ(topology.links()[static_cast<size_t>(bound->cuts()[0].links[0])].kind, LinkKind::cable);
}

TEST(PlannerApi, APartitionHasACutForEachOfItsSets) {
  // Between the five parts: 8 times all bytes over what enters them.
  const Topology topology = topology_of("5 x (1 gpu pcie 50, 1 nic 25) leaf");
  const auto bound = lower_bound(topology, Collective::all_reduce);
  ASSERT_TRUE(bound) << bound.error();
  double entering = 0;
  for (const Cut& cut : bound->cuts()) entering += cut.gb_per_s;
  if (bound->witness() == Witness::between) {
    const double parts = static_cast<double>(bound->cuts().size());
    EXPECT_DOUBLE_EQ(bound->seconds_per_gb().value, 2 * (parts - 1) / entering);
  }
  EXPECT_STREQ(bound->seconds_per_gb().text, "8/125");
  EXPECT_EQ(bound->witness(), Witness::between);
  EXPECT_EQ(entering, 125);
}

constexpr Collective kAll[] = {Collective::all_reduce, Collective::reduce,         Collective::broadcast,
                               Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                               Collective::gather,     Collective::scatter};

TEST(PlannerApi, PlansAreThoseWithin) {
  for (const std::string text : {kNarrow, kHost, kHosts}) {
    const Topology topology = topology_of(text);
    const auto graph = topology::read_any({"the line", text});
    ASSERT_TRUE(graph.ok());
    const auto network = algorithms::network_of(*graph, graph->all(topology::NodeKind::gpu));
    ASSERT_TRUE(network.ok());
    const std::vector<char> between = algorithms::switches_between_hosts(*network, *graph);
    for (const Collective collective : kAll) {
      const Rank root = has_root(collective) ? 1 : 0;
      const auto best = algorithms::best_plan({*graph, *network, between, collective, root});
      ASSERT_TRUE(best.ok()) << best.status().message();
      const auto schedule =
          algorithms::schedule(*best, *network, 1 << 30, {.slot_bytes = 256 << 10, .slots = 4});
      ASSERT_TRUE(schedule.ok()) << schedule.status().message();
      const auto plan = plan_collective(topology, collective, root);
      ASSERT_TRUE(plan) << plan.error();
      EXPECT_EQ(plan->algorithm(), best->algorithm());
      EXPECT_EQ(plan->words(), best->words());
      EXPECT_EQ(plan->part_of_bound().text, best->part_of_bound.str());
      EXPECT_DOUBLE_EQ(plan->gb_per_s(), algorithms::kCapacityUnit / best->time.convert_to<double>());
      EXPECT_EQ(plan->bound().sentence(), algorithms::explain(best->bound, *network, *graph));
      EXPECT_STREQ(plan->bound().seconds_per_gb().text,
                   lower_bound(topology, collective, root)->seconds_per_gb().text);
      EXPECT_GE(plan->gap(), 0);
      const algorithms::Bound shown = algorithms::outside_devices(best->bound, *network, *graph);
      EXPECT_TRUE(algorithms::check_bound(*network, shown).ok());
      ir::Plan named = schedule->plan;
      ASSERT_TRUE(sim::name_ways(named, *network).ok());
      EXPECT_EQ(plan->write(PlanFormat::text).value(), ir::write_text(named));
      EXPECT_EQ(plan->write(PlanFormat::msccl_xml).value(), *msccl::write(schedule->plan));
      EXPECT_EQ(plan->verify(), "");
      EXPECT_EQ(verify_plan(*plan->write(PlanFormat::text)), "");
      const auto moves = plan->moves();
      ASSERT_TRUE(moves) << moves.error();
      EXPECT_EQ(moves->list.size(), schedule->plan.moves.size());
      EXPECT_EQ(moves->chunks_per_block, schedule->plan.shape.chunks);
    }
  }
}

TEST(PlannerApi, MovesCarriedOutGiveEachRankEveryChunk) {
  const Topology topology = topology_of("(4 gpu mesh 100)");
  const auto plan = plan_collective(topology, Collective::broadcast, 2);
  ASSERT_TRUE(plan) << plan.error();
  const auto moves = plan->moves();
  ASSERT_TRUE(moves) << moves.error();
  // Of each move the rank that has its value; of each rank the chunks that it has in its output.
  std::vector<std::vector<bool>> has(4, std::vector<bool>(moves->chunks_per_block));
  for (const Move& move : moves->list) {
    EXPECT_FALSE(move.reduces());
    if (move.from.kind == Operand::Kind::value) {
      EXPECT_EQ(moves->list[move.from.index].to_rank, move.from_rank);
    } else if (move.from.kind == Operand::Kind::output) {
      EXPECT_TRUE(has[static_cast<size_t>(move.from_rank)][move.from.index]);
    } else {
      EXPECT_EQ(move.from_rank, 2);
    }
    if (move.to.kind != Operand::Kind::output) continue;
    for (uint32_t chunk = 0; chunk < move.chunks; ++chunk)
      has[static_cast<size_t>(move.to_rank)][move.to.index + chunk] = true;
  }
  for (const int rank : {0, 1, 3}) EXPECT_THAT(has[static_cast<size_t>(rank)], ::testing::Each(true));
}

TEST(PlannerApi, APlanKnownByHandIsOptimal) {
  const Topology topology = topology_of("4 x (8 gpu nvswitch 300, 8 nic 25) leaf by 2 4:1 spine 2");
  const auto plan = plan_collective(topology, Collective::all_gather);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_STREQ(plan->part_of_bound().text, "1");
  EXPECT_EQ(plan->gap(), 0);
  EXPECT_DOUBLE_EQ(plan->gb_per_s(), 200);  // half of all bytes over 8 x 2 x 25 / 4 GB/s of a leaf's uplinks
  EXPECT_DOUBLE_EQ(plan->bus_gb_per_s(), 200 * 31.0 / 32);
  EXPECT_DOUBLE_EQ(plan->seconds(1e9), 0.005);
  EXPECT_STREQ(plan->algorithm(), "hierarchical");
}

TEST(PlannerApi, APlanOutlivesItsTopologyAndMoves) {
  Expected<Plan> made = plan_collective(topology_of(kHosts), Collective::all_reduce);
  ASSERT_TRUE(made) << made.error();
  Plan plan = *std::move(made);
  const List<Move> before = plan.moves()->list;
  const Plan other = std::move(plan);
  EXPECT_EQ(other.moves()->list.data(), before.data());
  EXPECT_GT(other.bound().gb_per_s(), 0);
  // Asked for at once, moves are made once.
  std::vector<const Move*> seen(4);
  const Plan shared = *plan_collective(topology_of(kHosts), Collective::all_gather);
  std::vector<std::thread> threads;
  for (const Move*& place : seen) threads.emplace_back([&] { place = shared.moves()->list.data(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(seen, ::testing::Each(shared.moves()->list.data()));
}

TEST(PlannerApi, WhatCannotBePlannedSaysWhy) {
  const Topology topology = topology_of(kNarrow);
  const auto error = [&](Collective collective, int root, const std::vector<int>& devices) {
    const auto plan = plan_collective(topology, collective, root, devices);
    EXPECT_FALSE(plan);
    EXPECT_EQ(lower_bound(topology, collective, root, devices).error(), plan.error());
    return plan.error();
  };
  EXPECT_EQ(error(Collective::all_gather, 0, {0, 4}),
            "there is no device 4; the topology has devices 0 to 3");
  EXPECT_THAT(error(Collective::all_gather, 0, {-1}), HasSubstr("no device -1"));
  const auto graph = topology::read_any({"the line", kNarrow});
  ASSERT_TRUE(graph.ok());
  const int one = topology.devices()[1];
  EXPECT_EQ(error(Collective::all_gather, 0, {1, 1}),
            algorithms::network_of(*graph, std::vector<int>{one, one}).status().message());

  EXPECT_THAT(error(Collective::broadcast, 4, {}), HasSubstr("root"));
  EXPECT_THAT(plan_collective(topology, Collective::send_recv).error(), HasSubstr("send_recv"));
  EXPECT_THAT(lower_bound(topology, Collective::send_recv).error(), HasSubstr("send_recv"));
  EXPECT_THAT(error(static_cast<Collective>(200), 0, {}), HasSubstr("the collective is number 200"));
  for (const Collective collective : kAll) {
    const auto alone = plan_collective(topology, collective, 0, std::vector<int>{2});
    EXPECT_EQ(alone.error(), "one rank alone needs no plan; expected several ranks");
  }
  const auto none = parse_topology("weir fabric 1\nleaf l\n");
  EXPECT_EQ(lower_bound(*none, Collective::all_gather, 0, std::vector<int>{0}).error(),
            "there is no device 0; the topology has none");
  EXPECT_THAT(plan_collective(*none, Collective::all_gather).error(), HasSubstr("device"));
  const auto many =
      plan_collective(topology_of("65 x (8 gpu nvswitch 300, 8 nic 25) rail leaf"), Collective::gather);
  EXPECT_THAT(many.error(), HasSubstr("expected at most 512 ranks, not 520"));
  const auto plan = plan_collective(topology, Collective::all_gather);
  EXPECT_THAT(plan->write(static_cast<PlanFormat>(7)).error(), HasSubstr("the format is number 7"));
}

TEST(PlannerApi, LargePlansHaveFiguresButNoMoves) {
  const auto plan = plan_collective(topology_of("150 x (8 gpu nvswitch 300, 8 nic 25) rail leaf by 20 4:1"),
                                    Collective::all_gather);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->gap(), 0);
  EXPECT_EQ(plan->bound().ranks(), 1200);
  const auto moves = plan->moves();
  EXPECT_FALSE(moves);
  EXPECT_THAT(moves.error(), HasSubstr("1200"));
  EXPECT_EQ(plan->write(PlanFormat::text).error(), moves.error());
  EXPECT_EQ(plan->verify(), moves.error());
}

TEST(PlannerApi, AFaultInAPlanIsNamed) {
  const std::string head =
      "weir plan 1\nalgorithm ring\ncollective broadcast\nranks 3\nroot 0\nchunks 1\nscratch 0\n";
  const std::string first = "0 send 0.0 1.0 from input 0 to output 0\n",
                    second = "1 send 0.1 2.0 from input 0 to output 0\n";
  const std::string own = "2 local 0.2 from input 0 to output 0\n";
  EXPECT_EQ(verify_plan(head + "moves 3\n" + first + second + own + "end\n"), "");
  EXPECT_THAT(verify_plan(head + "moves 1\n" + first + "end\n"), HasSubstr("output"));
  EXPECT_THAT(verify_plan(head + "moves 1\n" + first, "ring.txt"), StartsWith("ring.txt: "));
  EXPECT_THAT(verify_plan("<algo", "ring.xml"), StartsWith("ring.xml"));
  EXPECT_NE(verify_plan(""), "");
}

/// The devices 0 to count - 1.
std::vector<int> first_devices(int count) {
  std::vector<int> devices(static_cast<size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

/// Four hosts of eight GPUs with one NIC each; 100 GB/s inside, 4 between.
const char kEthernet[] = "4 x (8 gpu nvswitch 100, 1 nic 4) leaf";
const char kNoLatencies[] = "0";

TEST(PlannerApi, RingsTakeTheTimeOfTheirNarrowestLinks) {
  const Topology topology = topology_of(kEthernet);
  const auto seconds = [&](Collective collective, int count, size_t group, const char* latencies) {
    const auto found = simulate_rings(topology, collective, 24e9, first_devices(count), group, latencies);
    EXPECT_TRUE(found) << found.error();
    return found ? *found : 0.0;
  };
  EXPECT_NEAR(seconds(Collective::all_gather, 32, 32, kNoLatencies), 24.0 * 31 / 32 / 4, 1e-9);
  EXPECT_NEAR(seconds(Collective::reduce_scatter, 32, 32, kNoLatencies), 24.0 * 31 / 32 / 4, 1e-9);
  EXPECT_NEAR(seconds(Collective::all_reduce, 32, 32, kNoLatencies), 2 * 24.0 * 31 / 32 / 4, 1e-9);
  // Hosts that gather by themselves do not disturb each other.
  EXPECT_NEAR(seconds(Collective::all_gather, 32, 8, kNoLatencies), 24.0 * 7 / 8 / 100, 1e-9);
  EXPECT_NEAR(seconds(Collective::all_gather, 8, 8, kNoLatencies), 24.0 * 7 / 8 / 100, 1e-9);
  // 31 rounds, of which each crosses two cables, and sends a message.
  EXPECT_NEAR(seconds(Collective::all_gather, 32, 32, "0,network=30,message=5"),
              24.0 * 31 / 32 / 4 + 31 * 65e-6, 1e-9);
  EXPECT_NEAR(seconds(Collective::all_gather, 8, 8, "0,nvlink=30"), 24.0 * 7 / 8 / 100 + 7 * 30e-6, 1e-9);
  EXPECT_GE(seconds(Collective::all_gather, 32, 32, ""),
            lower_bound(topology, Collective::all_gather)->seconds(24e9));
  EXPECT_EQ(seconds(Collective::all_gather, 32, 1, ""), 0);
}

TEST(PlannerApi, RingsOfAllGroupsShareTheirLinks) {
  const Topology topology = topology_of(kEthernet);
  std::vector<int> replicas;  // the GPUs at one place of all hosts are a group
  for (int place = 0; place < 8; ++place)
    for (int host = 0; host < 4; ++host) replicas.push_back(8 * host + place);
  const std::vector<int> one(replicas.begin(), replicas.begin() + 4);
  const double bytes = 3e9;
  EXPECT_NEAR(*simulate_rings(topology, Collective::all_reduce, bytes, one, 4, kNoLatencies),
              2 * 3.0 * 3 / 4 / 4, 1e-9);
  EXPECT_NEAR(*simulate_rings(topology, Collective::all_reduce, bytes, replicas, 4, kNoLatencies),
              8 * 2 * 3.0 * 3 / 4 / 4, 1e-9);
}

TEST(PlannerApi, RingsUseAllNicsAndBothNeighbours) {
  const Topology nics = topology_of("4 x (4 gpu nvswitch 400 pcie 63, 4 nic 25) rail leaf");
  EXPECT_NEAR(*simulate_rings(nics, Collective::all_gather, 10e9, {}, 0, kNoLatencies), 10.0 * 15 / 16 / 100,
              1e-9);
  const Topology ring = topology_of("(4 gpu ring 50)");
  EXPECT_NEAR(*simulate_rings(ring, Collective::all_gather, 10e9, {}, 0, kNoLatencies), 10.0 * 3 / 4 / 100,
              1e-9);
}

TEST(PlannerApi, RefusesRingsThatCannotBe) {
  const Topology topology = topology_of(kEthernet);
  const auto refused = [&](Collective collective, double bytes, int count, size_t group,
                           const char* latencies) {
    return simulate_rings(topology, collective, bytes, first_devices(count), group, latencies).error();
  };
  EXPECT_THAT(refused(Collective::broadcast, 1, 8, 8, ""), HasSubstr("expected all_reduce, all_gather or"));
  EXPECT_THAT(refused(Collective::all_gather, -1, 8, 8, ""), HasSubstr("-1 bytes; expected a finite number"));
  EXPECT_THAT(refused(Collective::all_gather, 1, 8, 3, ""), HasSubstr("8 devices in groups of 3"));
  EXPECT_THAT(refused(Collective::all_gather, 1, 8, 0, ""), HasSubstr("8 devices in groups of 0"));
  EXPECT_THAT(refused(Collective::all_gather, 1, 33, 33, ""), HasSubstr("there is no device 32"));
  EXPECT_THAT(refused(Collective::all_gather, 1, 8, 8, "warp=9"), HasSubstr("\"warp\" has no latency"));
  EXPECT_THAT(simulate_rings(Topology(), Collective::all_gather, 1, {}, 0).error(),
              StartsWith("the topology is empty"));
  EXPECT_LT(weirRingsSimulate(nullptr, Collective::all_gather, 1, nullptr, 0, 0, nullptr, nullptr, nullptr),
            0);
}

TEST(PlannerApi, WhatIsEmptyOrMovedFromGivesNothing) {
  Topology moved = topology_of(kHost);
  const Topology kept = std::move(moved);
  EXPECT_FALSE(kept.empty());
  const Topology made_empty;
  for (const Topology* topology : {&made_empty, static_cast<const Topology*>(&moved)}) {
    const Topology& empty = *topology;
    EXPECT_TRUE(empty.empty());
    EXPECT_EQ(empty.nodes().size() + empty.links().size() + empty.hosts().size() + empty.devices().size(),
              0U);
    EXPECT_EQ(empty.leaves().size() + empty.notes().size(), 0U);
    EXPECT_STREQ(empty.node(0).name, "");
    EXPECT_THAT(empty.nearest_nics(0), IsEmpty());
    EXPECT_THAT(empty.switches(0, 1), IsEmpty());
    EXPECT_EQ(empty.json(), "");
    EXPECT_THAT(lower_bound(empty, Collective::all_gather).error(), StartsWith("the topology is empty"));
    EXPECT_THAT(plan_collective(empty, Collective::all_gather).error(), StartsWith("the topology is empty"));
  }
  Plan plan = *plan_collective(kept, Collective::all_gather);
  const Plan taken = std::move(plan);
  EXPECT_GT(taken.seconds(1e9), 0);
  EXPECT_EQ(plan.seconds(1e9), 0);
  EXPECT_EQ(plan.bound().seconds(1e9), 0);
  EXPECT_STREQ(plan.algorithm(), "");
  EXPECT_THAT(plan.moves().error(), StartsWith("the plan is empty"));
  EXPECT_THAT(plan.write(PlanFormat::text).error(), StartsWith("the plan is empty"));
  EXPECT_THAT(plan.verify(), StartsWith("the plan is empty"));
  plan = *plan_collective(kept, Collective::all_reduce);
  EXPECT_GT(plan.bound().gb_per_s(), 0);
  const Bound bound;
  EXPECT_EQ(bound.gb_per_s(), 0);
  EXPECT_STREQ(bound.sentence(), "");
}

TEST(PlannerApi, TheFunctionsBehindTakeNull) {
  EXPECT_EQ(weirTopologyRead(nullptr, 0, nullptr, nullptr), nullptr);
  EXPECT_EQ(weirTopologyParse(nullptr, 3, nullptr, nullptr, nullptr), nullptr);
  const weirTopology* const topology = weirTopologyDetect(nullptr, nullptr);
  ASSERT_NE(topology, nullptr);
  weirTopologyJson(topology, nullptr, nullptr);
  EXPECT_EQ(weirTopologyNearestNics(nullptr, 0, nullptr, 0) + weirTopologySwitches(nullptr, 0, 1, nullptr, 0),
            0U);
  EXPECT_EQ(weirBoundFind(nullptr, Collective::all_gather, 0, nullptr, 2, nullptr, nullptr), nullptr);
  EXPECT_EQ(weirPlanFind(nullptr, Collective::all_gather, 0, nullptr, 2, nullptr, nullptr), nullptr);
  EXPECT_EQ(weirPlanMoves(nullptr, nullptr, nullptr), nullptr);
  EXPECT_FALSE(weirPlanWrite(nullptr, PlanFormat::text, nullptr, nullptr));
  EXPECT_FALSE(weirPlanVerify(nullptr, nullptr, nullptr));
  EXPECT_FALSE(weirPlanVerifyText(nullptr, 3, nullptr, nullptr, nullptr));
  weirTopologyFree(topology);
  weirTopologyFree(nullptr);
  weirBoundFree(nullptr);
  weirPlanFree(nullptr);
}

}  // namespace
}  // namespace weir
