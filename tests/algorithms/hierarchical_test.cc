/// Plans over nested groups: right, and with no more across the border of any group than there must be.
#include "algorithms/hierarchical.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "algorithms/catalogue.h"
#include "algorithms/ir/relabel.h"
#include "algorithms/ir/verify.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

using Levels = std::vector<Groups>;

constexpr Collective kKinds[] = {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce};

ir::Plan plan_of(Collective kind, int ranks, const Levels& levels) {
  const Entry* entry = find("hierarchical", kind);
  auto plan = emit("hierarchical", {kind, ranks, 0, default_chunks(*entry, ranks)}, levels);
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
    for (const Collective kind : kKinds) visit(plan_of(kind, ranks, levels), levels, words(kind, ranks, levels));
  }
}

std::string lowered_and_checked(const ir::Plan& plan) {
  std::vector<exec::Program> programs;
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
    auto program = exec::lower(plan, rank);
    if (!program.ok()) return program.status().message();
    programs.push_back(std::move(*program));
  }
  for (const auto placement : {ir::Placement::apart, ir::Placement::in_place}) {
    const Status status = exec::check(programs, {.slots = 2, .passes = 3, .placement = placement});
    if (!status.ok()) return status.message();
  }
  return "";
}

TEST(Hierarchical, AnyNestingIsRightAndRunsWithTwoSlots) {
  each_random_nesting(150, [](const ir::Plan& plan, const Levels&, const std::string& words) {
    ASSERT_EQ(ir::verify(plan).message(), "") << words;
    ASSERT_EQ(lowered_and_checked(plan), "") << words;
    ASSERT_EQ(plan.scratch_chunks, 0u) << words;
  });
}

/// What enters and leaves the groups of one level, in blocks.
struct Traffic {
  std::map<int, std::map<uint32_t, int>> in, out;  ///< by first place of the group, by block
};

/// By the input or output chunk that a move names: every one of these plans names one, in move after move.
uint32_t block_of(const ir::Plan& plan, const ir::Move& move) {
  for (const ir::Operand& operand : {move.to, move.with, move.from}) {
    const bool many = operand.kind == ir::Operand::Kind::input ? ir::input_blocks(plan.shape, 0) > 1
                                                               : ir::output_blocks(plan.shape, 0) > 1;
    if (!operand.in_memory()) continue;
    if (many || plan.shape.kind == Collective::all_reduce) return operand.index / plan.shape.chunks;
  }
  return block_of(plan, plan.moves[move.from.index]);
}

}  // namespace
}  // namespace weir::algorithms
