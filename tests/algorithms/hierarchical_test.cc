// SPDX-License-Identifier: Apache-2.0
/// Plans over nested groups: right, and with no more across the border of any group than there must be.
#include "algorithms/catalogue/hierarchical.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/relabel.h"
#include "algorithms/ir/verify.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"
#include "tests/algorithms/lowered_and_checked.h"
#include "tests/base/sanitized.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

using Levels = std::vector<Groups>;

constexpr Collective kHierarchicalKinds[] = {Collective::all_gather, Collective::reduce_scatter,
                                             Collective::all_reduce};

ir::Plan hierarchical_plan(Collective kind, int ranks, const Levels& levels) {
  const Entry* entry = find("hierarchical", kind);
  auto plan = emit("hierarchical", {kind, ranks, 0, default_chunks(*entry, ranks)}, {.levels = levels});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *plan;
}

std::string words(Collective kind, int ranks, const Levels& levels) {
  std::string text = fmt::format("{} over {} ranks", name(kind), ranks);
  for (const Groups& groups : levels) text += fmt::format(" | {}", fmt::join(groups, ","));
  return text;
}

/// Any groups, and any division of these.
Levels random_levels(int ranks, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::set<int> cuts{0};
  Levels levels;
  for (int level = 1 + below(3); level > 0; --level) {
    for (int more = 1 + below(ranks); more > 0; --more) cuts.insert(below(ranks));
    levels.emplace_back(cuts.begin(), cuts.end());
  }
  return levels;
}

template <typename Visit>
void each_random_nesting(int times, Visit&& visit) {
  std::mt19937 random(5);
  for (int i = 0; i < times; ++i) {
    const int ranks = 2 + static_cast<int>(random() % 15);
    const Levels levels = random_levels(ranks, random);
    for (const Collective kind : kHierarchicalKinds)
      visit(hierarchical_plan(kind, ranks, levels), levels, words(kind, ranks, levels));
  }
}

TEST(Hierarchical, AnyNestingIsRightAndRunsWithTwoSlots) {
  each_random_nesting(testing::enough(150),
                      [](const ir::Plan& plan, const Levels&, const std::string& words) {
                        ASSERT_EQ(ir::verify(plan).message(), "") << words;
                        ASSERT_EQ(lowered_and_checked(plan), "") << words;
                        ASSERT_EQ(plan.scratch_chunks, 0u) << words;
                      });
}

/// By move: the block that it carries. Each move names a chunk of it, or a value of which that is known.
std::vector<uint32_t> blocks_of(const ir::Plan& plan) {
  std::vector<uint32_t> blocks;
  const bool by_rank = plan.shape.kind != Collective::all_reduce;
  const auto one_block = [&](ir::Operand::Kind kind) {  // the rank's own
    if (kind == ir::Operand::Kind::input) return plan.shape.kind == Collective::all_gather;
    return plan.shape.kind == Collective::reduce_scatter;
  };
  for (const ir::Move& move : plan.moves) {
    std::optional<uint32_t> block;
    for (const ir::Operand& operand : {move.from, move.with, move.to}) {
      if (operand.kind == ir::Operand::Kind::value) block = blocks[operand.index];
      if (!operand.in_memory() || one_block(operand.kind)) continue;
      block = by_rank ? operand.index / plan.shape.chunks : operand.index;
    }
    EXPECT_TRUE(block.has_value());
    blocks.push_back(*block);
  }
  return blocks;
}

/// How often each block enters a group from outside, and leaves it, counted on one way (copies or sums).
struct Crossings {
  std::map<uint32_t, int> in, out;
};

Crossings crossings(const ir::Plan& plan, Rank first, Rank end, bool sums) {
  Crossings found;
  const std::vector<uint32_t> blocks = blocks_of(plan);
  const auto inside = [&](Rank rank) { return rank >= first && rank < end; };
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const ir::Move& move = plan.moves[m];
    if (inside(move.src) == inside(move.dst) || (move.with.kind != ir::Operand::Kind::none) != sums) continue;
    ++(inside(move.src) ? found.out : found.in)[blocks[m]];
  }
  return found;
}

/// A group takes in every block of others once, which is the least; or gives one sum away for each.
TEST(Hierarchical, ForeignBlocksCrossTheBorderOfEachGroupOnce) {
  each_random_nesting(60, [](const ir::Plan& plan, const Levels& levels, const std::string& words) {
    const int ranks = plan.shape.ranks;
    Levels all = levels;
    all.emplace_back(ranks);
    std::iota(all.back().begin(), all.back().end(), 0);
    for (const Groups& groups : all) {
      for (size_t g = 0; g < groups.size(); ++g) {
        const Rank first = groups[g], end = g + 1 < groups.size() ? groups[g + 1] : ranks;
        const Crossings copies = crossings(plan, first, end, false), sums = crossings(plan, first, end, true);
        for (Rank block = 0; block < ranks; ++block) {
          const auto b = static_cast<uint32_t>(block);
          const int foreign = block < first || block >= end ? 1 : 0;
          if (plan.shape.kind != Collective::reduce_scatter) {
            ASSERT_EQ(copies.in.contains(b) ? copies.in.at(b) : 0, foreign) << words;
          }
          if (plan.shape.kind != Collective::all_gather) {
            ASSERT_EQ(sums.out.contains(b) ? sums.out.at(b) : 0, foreign) << words;
          }
        }
      }
    }
  });
}

int total(const std::map<uint32_t, int>& counts) {
  int sum = 0;
  for (const auto& [block, count] : counts) sum += count;
  return sum;
}

/// Four leaves of four: of an all-reduce 2 (1 - 1/4) leaves each, where a ring sends 2 (1 - 1/16).
TEST(Hierarchical, SendsUpLessThanARing) {
  const Levels leaves = {{0, 4, 8, 12}};
  const ir::Plan plan = hierarchical_plan(Collective::all_reduce, 16, leaves);
  const ir::Plan ring = *emit("ring", {Collective::all_reduce, 16, 0, 16});
  for (const Rank leaf : leaves[0]) {
    const auto up = [&](const ir::Plan& p, bool sums) {
      return total(crossings(p, leaf, leaf + 4, sums).out);
    };
    EXPECT_EQ(up(plan, false) + up(plan, true), 2 * 12);
    EXPECT_EQ(up(ring, false) + up(ring, true), 2 * 15);
  }
}

/// What ranks take from outside their group: shares that differ by one block at most.
TEST(Hierarchical, RanksOfAGroupCarryEqualShares) {
  const std::vector<std::pair<int, Levels>> cases = {
      {16, {{0, 4, 8, 12}}}, {8, {{0, 3, 7}}}, {13, {{0, 5}, {0, 2, 5, 8, 9}}}, {12, {{0, 1, 2, 3, 4}}}};
  for (const auto& [ranks, levels] : cases) {
    const ir::Plan plan = hierarchical_plan(Collective::all_gather, ranks, levels);
    for (size_t g = 0; g < levels[0].size(); ++g) {
      const Rank first = levels[0][g], end = g + 1 < levels[0].size() ? levels[0][g + 1] : ranks;
      std::vector<int> taken(static_cast<size_t>(end - first));
      for (const ir::Move& move : plan.moves) {
        if ((move.src < first || move.src >= end) && move.dst >= first && move.dst < end)
          ++taken[static_cast<size_t>(move.dst - first)];
      }
      const auto [least, most] = std::minmax_element(taken.begin(), taken.end());
      EXPECT_LE(*most - *least, 1) << words(Collective::all_gather, ranks, levels);
    }
  }
}

/// Of equal groups, ranks with the same place talk to each other: on machines with rails, along one.
TEST(Hierarchical, EqualGroupsKeepToTheirRails) {
  const Levels levels = {{0, 8, 16}, {0, 4, 8, 12, 16, 20}};
  for (const Collective kind : kHierarchicalKinds) {
    for (const ir::Move& move : hierarchical_plan(kind, 24, levels).moves) {
      if (move.src / 4 != move.dst / 4) {
        EXPECT_EQ(move.src % 4, move.dst % 4) << words(kind, 24, levels);
      }
    }
  }
}

TEST(Hierarchical, AnyOrderOfRanksWillDo) {
  std::mt19937 random(3);
  each_random_nesting(30, [&](const ir::Plan& plan, const Levels&, const std::string& words) {
    std::vector<Rank> order(static_cast<size_t>(plan.shape.ranks));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    auto other = ir::relabelled(plan, order);
    ASSERT_TRUE(other.ok()) << words << ": " << other.status().message();
    ASSERT_EQ(ir::verify(*other).message(), "") << words;
    ASSERT_EQ(lowered_and_checked(*other), "") << words;
  });
}

TEST(Hierarchical, SaysWhichGroupsItNeeds) {
  const auto said = [](const Levels& levels) {
    return emit("hierarchical", {Collective::all_gather, 6, 0, 1}, {.levels = levels}).status().message();
  };
  EXPECT_EQ(said({}), "hierarchical all_gather: no groups of ranks: expected groups by host or leaf");
  EXPECT_EQ(said({{0, 2, 6}}),
            "hierarchical all_gather: groups 0,2,6 of 6 ranks: expected ascending first positions that begin "
            "with 0");
  for (const Levels& bad : {Levels{{1, 3}}, Levels{{0, 3, 3}}, Levels{{0, 3, 2}}, Levels{{}}}) {
    EXPECT_THAT(said(bad), HasSubstr("expected ascending first positions that begin with 0"));
  }
  EXPECT_EQ(said({{0, 2}, {0, 3}}), "hierarchical all_gather: groups 0,3 do not divide the wider groups 0,2");
  EXPECT_EQ(said(Levels(15, Groups{0, 2})),
            "hierarchical all_gather: 15 levels of groups: expected at most 14");
  EXPECT_EQ(said(Levels(14, Groups{0, 2})), "");
  EXPECT_TRUE(emit("hierarchical", {Collective::all_gather, 1, 0, 1}).ok()) << "alone, nobody needs groups";
}

}  // namespace
}  // namespace weir::algorithms
