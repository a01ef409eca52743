// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "algorithms/cost/filter.h"

namespace weir::cost {
namespace {

using ::testing::HasSubstr;

/// The algorithms that are left for a collective, as in the catalogue.
std::string left(const Filter& filter, Collective kind) {
  std::string names;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    if (entry.kind == kind && filter.allows(entry))
      names += fmt::format("{}{}", names.empty() ? "" : " ", entry.algorithm);
  }
  return names;
}

std::string left(std::string_view text, Collective kind) {
  const auto filter = Filter::parse(text);
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status().message();
  return filter.ok() ? left(*filter, kind) : "";
}

TEST(Filter, SpeaksNccl) {
  using enum Collective;
  const std::string all = left(Filter(), all_reduce);
  EXPECT_EQ(left("", all_reduce), all);
  EXPECT_EQ(left("Ring", all_reduce), "ring ring_set hierarchical");
  EXPECT_EQ(left("ring,TREE", all_reduce), "ring ring_set double_tree tree4 tree8 hierarchical planned");
  EXPECT_EQ(left("tree", broadcast), "double_tree tree4 tree8 binomial");
  EXPECT_EQ(left("tree4", broadcast), "tree4");
  EXPECT_EQ(left("PAT", all_gather), "pat");
  EXPECT_EQ(left("pat", reduce_scatter), "pat");
  EXPECT_EQ(left("^NVLS", all_reduce), all) << "what is not there is not missed";
  EXPECT_EQ(left("^tree,one_shot,two_shot", all_reduce),
            "ring ring_set halving_doubling hierarchical all_pairs chain recursive_doubling");
  EXPECT_EQ(left("ring,collnetdirect;allreduce:tree;broadcast:^ring", all_reduce),
            "double_tree tree4 tree8 planned");
  EXPECT_EQ(left("ring,collnetdirect;allreduce:tree;broadcast:^ring", all_gather),
            "ring ring_set hierarchical");
  EXPECT_EQ(left("ring;broadcast:^ring", broadcast), "double_tree tree4 tree8 one_shot binomial");
  EXPECT_EQ(left("allreduce:pat", reduce_scatter), left(Filter(), reduce_scatter));
}

TEST(Filter, NothingLeftIsEverything) {
  EXPECT_EQ(left("nvls", Collective::all_reduce), left(Filter(), Collective::all_reduce));
  EXPECT_EQ(left("ring", Collective::all_to_all), "one_shot pairwise rail");
  EXPECT_EQ(left(Filter::only("binomial"), Collective::gather), "binomial");
  EXPECT_EQ(left(Filter::only("binomial"), Collective::all_to_all), "one_shot pairwise rail");
}

TEST(Filter, WrongWordsGetASentence) {
  const auto sentence = [](std::string_view text) {
    const auto filter = Filter::parse(text);
    EXPECT_FALSE(filter.ok()) << text;
    return filter.status().message();
  };
  EXPECT_THAT(sentence("rings"), HasSubstr("unknown algorithm \"rings\"; expected one of ring, tree, pat"));
  EXPECT_THAT(sentence("ring;allreduce:tre"), HasSubstr("unknown algorithm \"tre\""));
  EXPECT_THAT(sentence("sum:ring"), HasSubstr("unknown collective \"sum\"; expected one of allreduce"));
  EXPECT_THAT(sentence("ring;tree"), HasSubstr("\"tree\" names no collective"));
}

Names selected(std::string_view list) {
  auto names = selected_algorithms(list);
  EXPECT_TRUE(names.ok()) << names.status().message();
  return names.ok() ? *names : Names();
}

TEST(SelectedAlgorithms, WordsOfNcclWithAndWithoutProtocols) {
  const Names trees = algorithms_like("tree");
  EXPECT_FALSE(trees.empty());
  EXPECT_EQ(selected("tree"), trees);
  EXPECT_EQ(selected("TREE_LL128"), trees);
  EXPECT_EQ(selected("Tree_Simple"), trees);
  EXPECT_EQ(selected("chain"), Names{"chain"});
  Names both = trees;
  both.push_back("pat");
  EXPECT_EQ(selected("tree_ll,pat"), both);
}

TEST(SelectedAlgorithms, KernelsForOtherHardwareSelectNothing) {
  for (const std::string_view word : {"nvls", "NVLS_TREE_SIMPLE", "nvls_simple", "COLLNET",
                                      "COLLNET_DIRECT_SIMPLE", "collnetchain", "SYMK_RSxLDMC_AGxSTMC"})
    EXPECT_EQ(selected(word), Names()) << word;
  EXPECT_EQ(selected("nvls,pat"), Names{"pat"});
}

TEST(SelectedAlgorithms, AllOthers) {
  const Names others = selected("^ring,nvls");
  EXPECT_EQ(std::ranges::find(others, "ring"), others.end());
  EXPECT_EQ(std::ranges::find(others, "ring_set"), others.end());
  EXPECT_NE(std::ranges::find(others, "double_tree"), others.end());
  EXPECT_NE(std::ranges::find(others, "chain"), others.end());
}

TEST(SelectedAlgorithms, UnknownWordsAreNamed) {
  for (const std::string_view list : {"rings", "ring,", ",ring", "ring, tree", "^", "ring;tree", "_ll"}) {
    const auto names = selected_algorithms(list);
    EXPECT_EQ(names.status().code(), Code::invalid_argument) << list;
    EXPECT_THAT(names.status().message(), ::testing::HasSubstr("there is no algorithm '")) << list;
  }
}

}  // namespace
}  // namespace weir::cost
