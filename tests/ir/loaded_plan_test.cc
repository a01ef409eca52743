// SPDX-License-Identifier: Apache-2.0
// Which call runs which of the plans that a user supplies.
#include "algorithms/ir/loaded_plan.h"

#include <gtest/gtest.h>

namespace weir::ir {
namespace {

std::shared_ptr<const LoadedPlan> plan(std::string name, Collective kind, uint64_t least, uint64_t most,
                                       Rank root = 0) {
  Plan made;
  made.algorithm = "mine";
  made.shape = {kind, 4, root, 1};
  made.least_bytes = least;
  made.most_bytes = most;
  return std::make_shared<const LoadedPlan>(loaded(std::move(name), std::move(made)));
}

std::string found(const LoadedPlans& plans, Collective kind, size_t bytes, Rank root = 0) {
  const LoadedPlan* const one = plans.find(kind, root, bytes);
  return one == nullptr ? "" : one->name;
}

TEST(LoadedPlans, AreFoundByCollectiveRootAndSize) {
  LoadedPlans plans;
  plans.add(plan("small", Collective::all_reduce, 0, 1024));
  plans.add(plan("large", Collective::all_reduce, 4096, UINT64_MAX));
  plans.add(plan("from 2", Collective::broadcast, 0, UINT64_MAX, 2));
  EXPECT_EQ(found(plans, Collective::all_reduce, 1024), "small");
  EXPECT_EQ(found(plans, Collective::all_reduce, 1025), "");
  EXPECT_EQ(found(plans, Collective::all_reduce, 4095), "");
  EXPECT_EQ(found(plans, Collective::all_reduce, 4096, 3), "large") << "it has no root";
  EXPECT_EQ(found(plans, Collective::all_gather, 4096), "");
  EXPECT_EQ(found(plans, Collective::broadcast, 1, 2), "from 2");
  EXPECT_EQ(found(plans, Collective::broadcast, 1, 0), "");
}

TEST(LoadedPlans, TheFirstOfSeveralRuns) {
  LoadedPlans plans;
  plans.add(plan("first", Collective::all_reduce, 10, 20));
  plans.add(plan("second", Collective::all_reduce, 0, 100));
  EXPECT_EQ(found(plans, Collective::all_reduce, 15), "first");
  EXPECT_EQ(found(plans, Collective::all_reduce, 21), "second");
}

TEST(LoadedPlans, SizesLikeOneMakeTheSameChoice) {
  LoadedPlans plans;
  plans.add(plan("first", Collective::all_reduce, 10, 20));
  plans.add(plan("second", Collective::all_reduce, 15, 100));
  for (size_t bytes = 0; bytes < 130; ++bytes) {
    const LoadedPlans::Sizes sizes = plans.sizes_like(Collective::all_reduce, 0, bytes);
    EXPECT_LE(sizes.least, bytes);
    EXPECT_GE(sizes.most, bytes);
    for (size_t other = sizes.least; other <= std::min<size_t>(sizes.most, 200); ++other)
      EXPECT_EQ(found(plans, Collective::all_reduce, other), found(plans, Collective::all_reduce, bytes))
          << bytes;
  }
  EXPECT_EQ(plans.sizes_like(Collective::reduce, 0, 15).most, SIZE_MAX);
}

TEST(LoadedPlans, EqualPlansHaveEqualKeys) {
  const auto a = plan("a", Collective::all_reduce, 0, 20), b = plan("b", Collective::all_reduce, 0, 20),
             c = plan("a", Collective::all_reduce, 0, 21);
  EXPECT_EQ(a->key, b->key);
  EXPECT_EQ(a->digest, b->digest);
  EXPECT_NE(a->key, c->key);
  EXPECT_NE(a->digest, c->digest);
}

}  // namespace
}  // namespace weir::ir
