// Trees for whole collectives: what they take, what is possible, and schedules that hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/ir/verify.h"
#include "algorithms/planner/tree_planner.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

constexpr Collective kTreeCollectives[] = {Collective::all_gather, Collective::reduce_scatter,
                                           Collective::all_reduce, Collective::broadcast, Collective::reduce};

/// M / T in GB/s.
double bandwidth(const TreePlan& trees) { return kCapacityUnit / trees.time.convert_to<double>(); }

TEST(TreePlanner, ReachesWhatIsKnownToBePossible) {
  struct Known {
    Network network;
    Collective collective;
    double gb_per_s;
  };
  // All-gather of one node of KT's cluster: RCCL's rings reach 228.6 (busbw 200).
  const Known kKnown[] = {{part_of(kMi250Node66, 8, 50), Collective::all_gather, 1000.0 / 3},
                          {part_of(kMi250Node66, 8, 50), Collective::all_reduce, 500.0 / 3},
                          {part_of(kDgx1v, 8, 25), Collective::all_gather, 1200.0 / 7},
                          {part_of(kDgx1v, 8, 25), Collective::reduce_scatter, 1200.0 / 7},
                          {mesh(4, 100), Collective::all_reduce, 200},
                          {star(8, 300), Collective::broadcast, 300},
                          {star(8, 300), Collective::reduce, 300}};
  for (const Known& known : kKnown) {
    const auto trees = plan_trees(known.network, known.collective);
    ASSERT_TRUE(trees.ok()) << trees.status().message();
    EXPECT_NEAR(bandwidth(*trees), known.gb_per_s, 1e-3) << name(known.collective);
  }
}

TEST(TreePlanner, EveryScheduleIsVerifiedAndNoneBeatsItsBound) {
  for (const Network& network :
       {part_of(kDgx1v, 8, 25), mesh(4, 100), star(5, 10), uneven_boxes({3, 2}, false)}) {
    for (const Collective collective : kTreeCollectives) {
      const Rank root = has_root(collective) ? 2 : 0;
      const auto trees = plan_trees(network, collective, root);
      ASSERT_TRUE(trees.ok()) << trees.status().message();
      EXPECT_LE(trees->part_of_bound, 1);
      EXPECT_GT(trees->part_of_bound, 0);
      EXPECT_EQ(trees->part_of_bound * trees->time, exactly(trees->bound.time));
      const auto plan = schedule(*trees);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_EQ(plan->shape.root, root);
      EXPECT_EQ(ir::verify(*plan).message(), "") << name(collective);
    }
  }
}

TEST(TreePlanner, RefusesWhatHasNoTrees) {
  EXPECT_THAT(plan_trees(star(4, 10), Collective::all_to_all).status().message(), HasSubstr("no trees for"));
  EXPECT_THAT(plan_trees(star(1, 10), Collective::all_gather).status().message(),
              HasSubstr("one rank alone"));
  EXPECT_EQ(plan_trees(star(4, 10), Collective::broadcast, 4).status().code(), Code::invalid_argument);
  EXPECT_EQ(plan_trees(star(4, 10), Collective::broadcast, -1).status().code(), Code::invalid_argument);
  Network apart = star(4, 10);
  apart.edges.clear();
  EXPECT_EQ(plan_trees(apart, Collective::all_gather).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace weir::algorithms
