// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/catalogue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "algorithms/ir/rank_order.h"
#include "algorithms/ir/text.h"
#include "algorithms/ir/verify.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"
#include "tests/algorithms/some_layout.h"
#include "tests/base/sanitized.h"
#include "tests/ir/draw.h"

namespace weir::algorithms {
namespace {

class EveryEntry : public ::testing::TestWithParam<Entry> {
 protected:
  /// Calls visit(plan, words for messages) for 1..most ranks, several roots, and the chunk counts.
  template <typename Visit>
  void each_plan(int most, const std::vector<uint32_t>& multiples, Visit&& visit) {
    for (int ranks = 1; ranks <= most; ++ranks) plans_over(ranks, multiples, visit);
  }
  template <typename Visit>
  void plans_over(int ranks, const std::vector<uint32_t>& multiples, Visit&& visit) {
    const Entry& entry = GetParam();
    std::set<Rank> roots{0};
    if (has_root(entry.kind)) roots = {0, ranks / 2, ranks - 1};
    for (Rank root : roots) {
      for (uint32_t multiple : multiples) {
        const Layout layout = some_layout(ranks);
        const ir::Shape shape{entry.kind, ranks, root, multiple * default_chunks(entry, ranks, layout)};
        auto plan = emit(entry.algorithm, shape, layout);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        visit(*plan, fmt::format("{} {} over {} ranks, root {}, {} chunks", entry.algorithm, name(entry.kind),
                                 ranks, root, shape.chunks));
      }
    }
  }
};

TEST_P(EveryEntry, IsVerified) {
  each_plan(16, {1, 2, 3, 7}, [](const ir::Plan& plan, const std::string& words) {
    ASSERT_EQ(ir::verify(plan).message(), "") << words << "\n" << ir::draw_table(plan);
  });
}

TEST_P(EveryEntry, SumsInRankOrderIfItSaysSo) {
  bool in_order = true;
  each_plan(20, {1}, [&](const ir::Plan& plan, const std::string& words) {
    const Status order = ir::check_rank_order(plan);
    in_order = in_order && order.ok();
    EXPECT_TRUE(order.ok() || !sums_in_rank_order(GetParam())) << words << ": " << order.message();
  });
  EXPECT_EQ(in_order, sums_in_rank_order(GetParam()) || !reduces(GetParam().kind));
}

TEST_P(EveryEntry, IsVerifiedForManyRanks) {
  for (int ranks : {31, 64, 100}) {
    plans_over(ranks, {1}, [](const ir::Plan& plan, const std::string& words) {
      ASSERT_EQ(ir::verify(plan).message(), "") << words;
    });
  }
}

/// With two slots per channel, apart and in place: no deadlock, no race, the same sums.
TEST_P(EveryEntry, RunsAsPrograms) {
  each_plan(testing::kSanitized ? 8 : 16, {1, 3}, [](const ir::Plan& plan, const std::string& words) {
    std::vector<exec::Program> programs;
    for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
      auto program = exec::lower(plan, rank);
      ASSERT_TRUE(program.ok()) << words << ": " << program.status().message();
      programs.push_back(std::move(*program));
    }
    for (auto placement : {ir::Placement::apart, ir::Placement::in_place}) {
      if (placement == ir::Placement::in_place && !ir::has_in_place(plan.shape.kind)) continue;
      const Status status = exec::check(programs, {.slots = 2, .passes = 3, .placement = placement});
      EXPECT_EQ(status.message(), "") << words << (placement == ir::Placement::apart ? "" : ", in place");
    }
  });
}

TEST_P(EveryEntry, SurvivesText) {
  each_plan(5, {1, 2}, [](const ir::Plan& plan, const std::string& words) {
    auto read = ir::read_text(ir::write_text(plan));
    ASSERT_TRUE(read.ok()) << words << ": " << read.status().message();
    EXPECT_EQ(*read, plan) << words;
  });
}

TEST(Catalogue, EveryCollectiveHasAnAlgorithm) {
  std::set<Collective> done;
  for (const Entry& entry : catalogue()) {
    done.insert(entry.kind);
    EXPECT_EQ(find(entry.algorithm, entry.kind), &entry);
    EXPECT_FALSE(entry.remarks.empty());
  }
  EXPECT_EQ(done.size(), static_cast<size_t>(Collective::send_recv));
}

TEST(Catalogue, TheDocumentedPlanIsTheRing) {
  std::ifstream file(WEIR_SOURCE_DIR "/docs/plan-format.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const size_t first = text.find("weir plan 1\n");
  ASSERT_NE(first, std::string::npos);
  auto plan = ir::read_text(std::string_view(text).substr(first, text.find("```", first) - first));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(*plan, *emit("ring", {Collective::reduce_scatter, 3, 0, 1}));
}

TEST(Catalogue, SaysWhatItCannotDo) {
  const auto said = [](std::string_view algorithm, const ir::Shape& shape) {
    auto plan = emit(algorithm, shape);
    return plan.ok() ? "fine" : plan.status().message();
  };
  EXPECT_EQ(said("rung", {Collective::gather, 4, 0, 1}),
            "unknown algorithm \"rung\": expected one of one_shot, rail, binomial");
  EXPECT_EQ(said("ring", {Collective::gather, 4, 0, 1}),
            "the algorithm \"ring\" does not support gather: expected one of one_shot, rail, binomial");
  EXPECT_EQ(said("ring", {Collective::all_reduce, 4, 0, 6}),
            "ring all_reduce over 4 ranks: expected a multiple of 4 chunks, not 6");
  EXPECT_EQ(said("ring", {Collective::all_gather, 4, 0, 0}),
            "a plan with blocks of 0 chunks: expected at least 1");
  EXPECT_EQ(said("ring", {Collective::broadcast, 4, 4, 1}),
            "root 4 of broadcast over 4 ranks: expected one of the ranks");
  EXPECT_EQ(said("one_shot", {Collective::all_reduce, 0, 0, 1}), "a plan for 0 ranks: expected 1 to 4096");
  EXPECT_EQ(said("one_shot", {Collective::all_reduce, 1, 0, 5}), "fine");
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryEntry, ::testing::ValuesIn(catalogue().begin(), catalogue().end()),
                         [](const auto& info) {
                           return fmt::format("{}_{}", info.param.algorithm, name(info.param.kind));
                         });

}  // namespace
}  // namespace weir::algorithms
