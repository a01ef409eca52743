// SPDX-License-Identifier: Apache-2.0
// The judge of plans for many hosts refuses every kind of lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "algorithms/cluster/cluster_planner.h"
#include "algorithms/proof/cluster_proof.h"
#include "algorithms/proof/forest.h"
#include "tests/algorithms/cluster_networks.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

TEST(Forest, KnowsWhoIsAboveWhom) {
  constexpr int kNodes = 40;
  std::mt19937 random(1);
  Forest forest(kNodes);
  std::vector<int32_t> parent(kNodes, -1);
  int refused = 0;
  for (int step = 0; step < 20000; ++step) {
    const auto node = static_cast<int32_t>(random() % kNodes);
    const auto other = static_cast<int32_t>(random() % kNodes);
    if (parent[static_cast<size_t>(node)] >= 0 || step % 7 == 0) {
      forest.cut(node);
      parent[static_cast<size_t>(node)] = -1;
      continue;
    }
    bool above = false;
    for (int32_t each = other; each >= 0; each = parent[static_cast<size_t>(each)])
      above = above || each == node;
    ASSERT_EQ(forest.link(node, other), !above) << step;
    if (!above) parent[static_cast<size_t>(node)] = other;
    refused += above ? 1 : 0;
  }
  EXPECT_GT(refused, 100);
}

class ClusterProof : public ::testing::Test {
 protected:
  /// Three groups of two hosts with two GPUs and NICs, two spines.
  ClusterProof() {
    NetworkBuilder builder;
    const int32_t spines[] = {builder.node(), builder.node()};
    for (int group = 0; group < 3; ++group) {
      const int32_t leaf = builder.node();
      for (const int32_t spine : spines) builder.link(leaf, spine, 50);
      for (int host = 0; host < 2; ++host) {
        const int32_t first = builder.ranks(2);
        builder.link(first, first + 1, 100);
        for (const int32_t gpu : {first, first + 1}) {
          const int32_t nic = builder.node();
          builder.link(gpu, nic, 20);
          builder.link(nic, leaf, 10);
        }
      }
    }
    network_ = builder.take();
    blocks_.assign(network_.rank_nodes.size(), 1);
    plan_ = *plan_cluster(network_, far_switches(network_), blocks_);
  }

  std::string verdict() const { return check_cluster(network_, plan_, blocks_).status().message(); }

  Network network_;
  std::vector<int32_t> blocks_;
  ClusterPlan plan_;
};

TEST_F(ClusterProof, AcceptsWhatIsRight) {
  const auto loads = check_cluster(network_, plan_, blocks_);
  ASSERT_TRUE(loads.ok()) << loads.status().message();
  EXPECT_EQ(text(loads->time), text(Ratio(10, 12 * 20'000'000)));
  EXPECT_EQ(plan_.shapes.size(), 1u);
  EXPECT_EQ(plan_.levels, 1);
}

TEST_F(ClusterProof, RefusesEveryLie) {
  struct Lie {
    const char* words;
    std::function<void(ClusterPlan&)> tell;
  };
  const std::vector<Lie> kLies = {
      {"does not get block", [](ClusterPlan& plan) { plan.transfers.pop_back(); }},
      {"does not get block", [](ClusterPlan& plan) { ++plan.transfers[0].blocks[0].first; }},
      {"twice", [](ClusterPlan& plan) { plan.transfers.push_back(plan.transfers[0]); }},
      {"not between hosts", [](ClusterPlan& plan) { plan.transfers[0].to = 6; }},
      {"in a cycle", [](ClusterPlan& plan) { plan.transfers[0].from = plan.transfers[0].to; }},
      {"gates take", [](ClusterPlan& plan) { --plan.shapes[0].gates[0].parts; }},
      {"has an invalid rank", [](ClusterPlan& plan) { plan.shapes[0].gates[0].rank = 2; }},
      {"the path of gate 0", [](ClusterPlan& plan) { plan.shapes[0].gates[0].in.clear(); }},
      {"the path of gate 1", [](ClusterPlan& plan) { plan.shapes[0].gates[1].out.push_back(0); }},
      {"does not reach rank", [](ClusterPlan& plan) { plan.shapes[0].own.trees[0].edges.clear(); }},
      {"trees for foreign", [](ClusterPlan& plan) { plan.shapes[0].foreign.trees[0].edges.clear(); }},
      {"expected 0 or 1", [](ClusterPlan& plan) { plan.shapes[0].blocks[0] = 2; }},
      {"of its own", [](ClusterPlan& plan) { plan.shapes[0].blocks[0] = 0; }},
      {"the numbers of blocks of host", [](ClusterPlan& plan) { ++plan.first_block[3]; }},
      {"differ in size", [](ClusterPlan& plan) { plan.hosts[2].edges.pop_back(); }},
      {"does not match its shape",
       [](ClusterPlan& plan) { std::swap(plan.hosts[2].edges[0], plan.hosts[2].edges[1]); }},
      {"its uplink 0", [](ClusterPlan& plan) { plan.hosts[2].uplinks[0] = plan.hosts[1].uplinks[0]; }},
      {"in another host", [](ClusterPlan& plan) { plan.hosts[2] = plan.hosts[1]; }},
      {"in hosts", [](ClusterPlan& plan) { plan.hosts.pop_back(), plan.first_block.pop_back(); }},
      {"the coupling for hosts", [](ClusterPlan& plan) { plan.couplings.clear(); }},
      {"which takes", [](ClusterPlan& plan) { plan.couplings[0].pieces.pop_back(); }},
      {"gates that do not exist", [](ClusterPlan& plan) { plan.couplings[0].pieces[0].out = 9; }},
      {"are missing", [](ClusterPlan& plan) { plan.ways.pop_back(); }},
      {"a path of path set 0", [](ClusterPlan& plan) { plan.ways[0].paths[0].edges.pop_back(); }},
      {"of weight 0", [](ClusterPlan& plan) { plan.ways[0].paths[0].weight = 0; }},
      {"cannot be divided", [](ClusterPlan& plan) { plan.ways[0].paths[0].weight = 4096; }},
      {"out of order", [](ClusterPlan& plan) { std::swap(plan.ways[0], plan.ways[1]); }}};
  const ClusterPlan right = plan_;
  for (size_t lie = 0; lie < kLies.size(); ++lie) {
    plan_ = right;
    kLies[lie].tell(plan_);
    EXPECT_THAT(verdict(), HasSubstr(kLies[lie].words)) << lie;
  }
}

TEST_F(ClusterProof, HostsThatServeEachOtherServeNobody) {
  // Two hosts of a group get what comes from outside from each other, and the rest from them as before.
  HostTransfer* into = nullptr;
  for (HostTransfer& transfer : plan_.transfers) {
    if (transfer.from < 2 && transfer.to >= 2 && into == nullptr) into = &transfer;
  }
  ASSERT_NE(into, nullptr);
  into->from = 3;
  into->to == 3 ? into->from = 2 : into->from = 3;
  EXPECT_THAT(verdict(), HasSubstr("in a cycle"));
}

TEST_F(ClusterProof, RefusesOtherBlocksThanAreAsked) {
  blocks_[3] = 0;
  EXPECT_THAT(verdict(), HasSubstr("rank 3 has 0 blocks, but the plan has 1"));
  blocks_.pop_back();
  EXPECT_THAT(verdict(), HasSubstr("blocks of 11 ranks"));
}

}  // namespace
}  // namespace weir::algorithms
