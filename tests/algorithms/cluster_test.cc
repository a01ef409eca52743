// Plans for many hosts: as good as the bound on clusters that people have, and honest elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/bound/bound.h"
#include "algorithms/cluster/cluster_planner.h"
#include "algorithms/packing/trees.h"
#include "algorithms/proof/cluster_proof.h"
#include "tests/algorithms/cluster_networks.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

struct Judged {
  ClusterPlan plan;
  ClusterLoads loads;
};

std::vector<int32_t> one_block_each(const Network& network) {
  return std::vector<int32_t>(network.rank_nodes.size(), 1);
}

Judged judged(const Network& network, const std::vector<int32_t>& blocks) {
  auto plan = plan_cluster(network, far_switches(network), blocks);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return {};
  auto loads = check_cluster(network, *plan, blocks);
  EXPECT_TRUE(loads.ok()) << loads.status().message();
  if (!loads.ok()) return {};
  return {std::move(*plan), std::move(*loads)};
}

TEST(Cluster, ReachesTheBoundOnEveryClusterThatIsKnown) {
  for (const AllGatherTruth& truth : cluster_truths()) {
    const Network network = truth.network();
    for (const bool backwards : {false, true}) {
      const auto bound =
          lower_bound(network, backwards ? Collective::reduce_scatter : Collective::all_gather);
      ASSERT_TRUE(bound.ok()) << bound.status().message();
      const Judged plan = judged(backwards ? reversed(network) : network, one_block_each(network));
      EXPECT_EQ(text(plan.loads.time), text(bound->time)) << truth.name;
    }
  }
}

}  // namespace
}  // namespace weir::algorithms
