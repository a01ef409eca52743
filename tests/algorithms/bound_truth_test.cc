// SPDX-License-Identifier: Apache-2.0
/// Bounds against optima that are known.
#include <gtest/gtest.h>

#include "algorithms/bound/bound.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

constexpr int64_t kUnits = 1'000'000;  // of a GB/s

/// M / T where `times` of what `each` says flow at once.
std::string bandwidth(const Exactly& each, int64_t times = 1) {
  return text(Ratio(static_cast<Int128>(each.numerator) * times * kUnits, each.denominator));
}

std::string words_for(const ::testing::TestParamInfo<size_t>& info) { return std::to_string(info.param); }

std::vector<AllGatherTruth> all_gathers() {
  std::vector<AllGatherTruth> all = all_gather_truths();
  for (AllGatherTruth& truth : cluster_truths()) all.push_back(std::move(truth));
  return all;
}

class AllGather : public ::testing::TestWithParam<size_t> {};

TEST_P(AllGather, EqualsTheOptimum) {
  const AllGatherTruth truth = all_gathers()[GetParam()];
  const Network network = truth.network();
  ASSERT_EQ(network.ranks(), truth.ranks) << truth.name;
  for (Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    auto bound = lower_bound(network, collective);
    ASSERT_TRUE(bound.ok()) << truth.name << ": " << bound.status().message();
    EXPECT_EQ(text(bound->bandwidth()), bandwidth(truth.each, truth.ranks)) << truth.name;
    EXPECT_EQ(check_bound(network, *bound).message(), "") << truth.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Truth, AllGather, ::testing::Range<size_t>(0, all_gathers().size()), words_for);

class AllReduce : public ::testing::TestWithParam<size_t> {};

/// Between what trees reach and nothing: the best trees are never faster, and here a cut or a partition
/// always shows that they are the best.
TEST_P(AllReduce, EqualsTheBestTrees) {
  const AllReduceTruth truth = all_reduce_truths()[GetParam()];
  const Network network = truth.network();
  auto bound = lower_bound(network, Collective::all_reduce);
  ASSERT_TRUE(bound.ok()) << truth.name << ": " << bound.status().message();
  EXPECT_EQ(text(bound->bandwidth()), bandwidth(truth.free_roots)) << truth.name;
  EXPECT_EQ(check_bound(network, *bound).message(), "") << truth.name;
}

TEST_P(AllReduce, SwitchesThatReduceAreBoundByCuts) {
  const AllReduceTruth truth = all_reduce_truths()[GetParam()];
  if (truth.in_switch.numerator == 0) return;
  Network network = truth.network();
  network.multicast.assign(static_cast<size_t>(network.nodes), 1);
  for (int32_t node : network.rank_nodes) network.multicast[static_cast<size_t>(node)] = 0;
  auto bound = lower_bound(network, Collective::all_reduce);
  ASSERT_TRUE(bound.ok()) << truth.name << ": " << bound.status().message();
  EXPECT_EQ(check_bound(network, *bound).message(), "") << truth.name;
  EXPECT_EQ(text(bound->bandwidth()), bandwidth(truth.in_switch)) << truth.name;
}

INSTANTIATE_TEST_SUITE_P(Truth, AllReduce, ::testing::Range<size_t>(0, all_reduce_truths().size()),
                         words_for);

}  // namespace
}  // namespace weir::algorithms
