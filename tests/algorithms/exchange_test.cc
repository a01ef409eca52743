// SPDX-License-Identifier: Apache-2.0
// All-to-alls along planned paths: their loads, their moves, and what their judge refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/best_plan/exchange_moves.h"
#include "algorithms/cluster/exchange.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/ir/verify.h"
#include "algorithms/network/relays.h"
#include "algorithms/proof/exchange_proof.h"
#include "algorithms/sim/plan_loads.h"
#include "topology/formats/any.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

struct Cluster {
  explicit Cluster(const std::string& line)
      : graph(*topology::read_any({"the line", line}, nullptr)),
        network(*network_of(graph, graph.all(topology::NodeKind::gpu))),
        between(switches_between_hosts(network, graph)) {}
  PlanRequest request() const { return {graph, network, between, Collective::all_to_all, 0, 1e9}; }

  topology::Graph graph;
  Network network;
  std::vector<char> between;
};

double ratio(const std::string& line) {
  const Cluster cluster(line);
  const auto plan = best_plan(cluster.request());
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? plan->part_of_bound.convert_to<double>() : 0;
}

TEST(Exchange, LargeClustersComeCloseToTheBound) {
  for (const char* line : {"128 x (8 gpu nvswitch 450, 8 nic 50) leaf by 16 2:1",
                           "128 x (8 gpu nvswitch 450, 8 nic 50) rail leaf by 32 2:1",
                           "1250 x (8 gpu nvswitch 450, 8 nic 50) leaf by 50 2:1",
                           "80 x (8 gpu nvswitch 450, 4 nic 50) rail leaf",
                           "64 x (16 gpu mi250 50, 8 nic 25) rail leaf by 16 2:1"})
    EXPECT_GT(ratio(line), 0.9) << line;
}

TEST(Exchange, DiesUseSeveralPaths) {
  EXPECT_GT(ratio("(8 gpu mi250 50)"), 0.95);   // one path for each pair: 0.89
  EXPECT_GT(ratio("(16 gpu mi250 50)"), 0.98);  // one path for each pair: 0.71
  EXPECT_GT(ratio("2 x (16 gpu mi250 50, 8 nic 25) rail leaf"), 0.98);
}

/// The judge of all-to-alls counts what the moves load, where routes between ranks are unique.
TEST(Exchange, MovesAreVerifiedAndLoadTheSameEdges) {
  for (const char* line : {"(8 gpu mi250 50)", "3 x (4 gpu nvswitch 300, 4 nic 25) rail leaf",
                           "4 x (4 gpu nvswitch 300, 2 nic 25) leaf by 2 2:1",
                           "2 x (4 gpu nvswitch 300, 4 nic 25) + 2 x (2 gpu nvswitch 300, 2 nic 25) leaf"}) {
    const Cluster cluster(line);
    const auto plan = plan_exchange(cluster.network, cluster.between);
    ASSERT_TRUE(plan.ok()) << line << ": " << plan.status().message();
    const auto loads = check_exchange(cluster.network, *plan);
    ASSERT_TRUE(loads.ok()) << line << ": " << loads.status().message();
    const ir::Plan moves = moves_of(cluster.network, *plan);
    const Status verdict = ir::verify(moves);
    ASSERT_TRUE(verdict.ok()) << line << ": " << verdict.message();
    sim::FlowRoutes routes(cluster.network);
    const auto counted = sim::loads_of(moves, cluster.network, routes);
    ASSERT_TRUE(counted.ok()) << counted.status().message();
    for (size_t e = 0; e < cluster.network.edges.size(); ++e) {
      EXPECT_EQ(text(Ratio(counted->chunks[e], counted->whole)), text(Ratio(loads->units[e], loads->whole)))
          << line << ", edge "
          << cluster.graph.describe(
                 cluster.network.origin[static_cast<size_t>(cluster.network.edges[e].from)])
          << " to "
          << cluster.graph.describe(cluster.network.origin[static_cast<size_t>(cluster.network.edges[e].to)]);
    }
  }
}

/// A cluster of which `first` of each `of` GPUs take part, and the others only forward.
struct Part : Cluster {
  Part(const std::string& line, int first, int of) : Cluster(line) {
    std::vector<topology::Index> gpus = graph.all(topology::NodeKind::gpu);
    int number = 0;
    std::erase_if(gpus, [&](topology::Index) { return number++ % of >= first; });
    network = *network_with_relays(graph, gpus);
    between = switches_between_hosts(network, graph);
  }
};

TEST(Exchange, RelaysAreGates) {
  for (const auto& [line, first, of] : {std::tuple("2 x (8 gpu nvswitch 300, 8 nic 25) rail leaf", 4, 8),
                                        {"3 x (8 gpu nvswitch 300, 8 nic 25) rail leaf", 7, 8},
                                        {"3 x (8 gpu nvswitch 300, 8 nic 25) leaf", 1, 2},
                                        {"4 x (8 gpu nvswitch 450, 8 nic 50) rail leaf by 2 2:1", 2, 8},
                                        {"4 x (8 gpu nvswitch 300, 4 nic 25) leaf", 5, 8}}) {
    const Part part(line, first, of);
    const auto best = best_plan(part.request());
    ASSERT_TRUE(best.ok()) << line << ": " << best.status().message();
    EXPECT_EQ(best->algorithm(), "routed") << line;
    EXPECT_GE(best->part_of_bound.convert_to<double>(), 0.98) << line;
    // The judge counts the same loads on the network where relays are ranks.
    const Network wide = with_relays_as_ranks(part.network, part.graph);
    const int relays = wide.ranks() - part.network.ranks();
    ASSERT_GT(relays, 0);
    const auto plan = plan_exchange(wide, part.between, relays);
    ASSERT_TRUE(plan.ok()) << line << ": " << plan.status().message();
    const auto loads = check_exchange(wide, *plan, relays);
    ASSERT_TRUE(loads.ok()) << line << ": " << loads.status().message();
    EXPECT_EQ(exactly(loads->time), best->time) << line;
    const auto* moves = std::get_if<ir::Plan>(&best->plan);
    ASSERT_NE(moves, nullptr);
    EXPECT_EQ(moves->shape.members(), part.network.ranks());
    EXPECT_EQ(ir::verify(*moves).message(), "") << line;
  }
}

/// A linear program of all paths gives the same bounds.
TEST(Exchange, RelaysOnTheWayInsideAHost) {
  for (const auto& [line, first, of, bound, least] : {std::tuple("(16 gpu mi250 50)", 4, 8, 150, 0.96),
                                                      {"(8 gpu cube 25)", 2, 4, 150, 0.88},
                                                      {"(8 gpu ring 50)", 1, 2, 100, 0.98}}) {
    const Part part(line, first, of);
    const auto best = best_plan(part.request());
    ASSERT_TRUE(best.ok()) << line << ": " << best.status().message();
    EXPECT_NEAR(kCapacityUnit / best->bound.time.value(), bound, 1e-6) << line;
    EXPECT_GE(best->part_of_bound.convert_to<double>(), least) << line;
  }
}

TEST(Exchange, LiesAboutRelaysAreRefused) {
  const Part part("2 x (4 gpu nvswitch 300, 4 nic 25) rail leaf", 2, 4);
  const Network wide = with_relays_as_ranks(part.network, part.graph);
  const auto right = plan_exchange(wide, part.between, 4);
  ASSERT_TRUE(right.ok()) << right.status().message();
  ASSERT_TRUE(check_exchange(wide, *right, 4).ok());
  EXPECT_THAT(check_exchange(wide, *right, 3).status().message(), HasSubstr("takes part: expected a block"));
  EXPECT_THAT(check_exchange(wide, *right, 5).status().message(), HasSubstr("only forwards"));
  EXPECT_THAT(check_exchange(wide, *right, 8).status().message(), HasSubstr("expected at least one"));
  EXPECT_FALSE(plan_exchange(wide, part.between, 8).ok());
  ExchangePlan plan = *right;
  plan.shapes[0].entries[2] = plan.shapes[0].entries[0];  // a relay's
  EXPECT_THAT(check_exchange(wide, plan, 4).status().message(), HasSubstr("rank 2 of a shape receives"));
  plan = *right;
  plan.shapes[0].host.blocks[2] = 1;
  EXPECT_FALSE(check_exchange(wide, plan, 4).ok());
}

TEST(Exchange, EveryLieIsRefused) {
  struct Lie {
    const char* words;
    std::function<void(ExchangePlan&)> tell;
  };
  const std::vector<Lie> kLies = {
      {"expected at least one", [](ExchangePlan& plan) { plan.entry_parts = 0; }},
      {"has no shape", [](ExchangePlan& plan) { plan.hosts[1].shape = 7; }},
      {"for other ranks", [](ExchangePlan& plan) { plan.shapes[0].entries.pop_back(); }},
      {"other planes", [](ExchangePlan& plan) { plan.shapes[0].exits[1].pop_back(); }},
      {"receives", [](ExchangePlan& plan) { ++plan.shapes[0].entries[0][0][0].parts; }},
      {"sends", [](ExchangePlan& plan) { ++plan.shapes[0].exits[0][0][0].parts; }},
      {"is in another host", [](ExchangePlan& plan) { plan.hosts[1] = plan.hosts[0]; }},
      {"expected all", [](ExchangePlan& plan) { plan.hosts.pop_back(); }},
      {"have no path", [](ExchangePlan& plan) { plan.shapes[0].inner[0][1].clear(); }},
      {"ends at node", [](ExchangePlan& plan) { plan.shapes[0].inner[0][1][0].pop_back(); }},
      {"does not start at node",
       [](ExchangePlan& plan) { plan.shapes[0].inner[0][1] = plan.shapes[0].inner[1][0]; }},
      {"gate 99 does not exist", [](ExchangePlan& plan) { plan.shapes[0].exits[0][1][0].gate = 99; }},
      {"has an entry of 0 parts",
       [](ExchangePlan& plan) {
         plan.shapes[0].entries[0][0].push_back({0, 0, {}});
       }},
      {"are missing", [](ExchangePlan& plan) { plan.ways.pop_back(); }},
      {"ends at node", [](ExchangePlan& plan) { plan.ways[0].paths[0].edges.pop_back(); }}};
  const Cluster cluster("4 x (2 gpu nvswitch 300, 2 nic 25) rail leaf by 2 2:1");
  const auto right = plan_exchange(cluster.network, cluster.between);
  ASSERT_TRUE(right.ok()) << right.status().message();
  ASSERT_TRUE(check_exchange(cluster.network, *right).ok());
  for (size_t lie = 0; lie < kLies.size(); ++lie) {
    ExchangePlan plan = *right;
    kLies[lie].tell(plan);
    EXPECT_THAT(check_exchange(cluster.network, plan).status().message(), HasSubstr(kLies[lie].words)) << lie;
  }
}

}  // namespace
}  // namespace weir::algorithms
