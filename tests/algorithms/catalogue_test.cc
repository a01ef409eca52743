#include "algorithms/catalogue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "algorithms/ir/verify.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"

namespace weir::algorithms {
namespace {

class EveryEntry : public ::testing::TestWithParam<Entry> {
 protected:
  /// Calls visit(plan, words for messages) for 1..most ranks, several roots, and the chunk counts.
  template <typename Visit>
  void each_plan(int most, const std::vector<uint32_t>& multiples, Visit&& visit) {
    const Entry& entry = GetParam();
    for (int ranks = 1; ranks <= most; ++ranks) {
      std::set<Rank> roots{0};
      if (has_root(entry.kind)) roots = {0, ranks / 2, ranks - 1};
      for (Rank root : roots) {
        for (uint32_t multiple : multiples) {
          const ir::Shape shape{entry.kind, ranks, root, multiple * default_chunks(entry, ranks)};
          auto plan = emit(entry.algorithm, shape);
          ASSERT_TRUE(plan.ok()) << plan.status().message();
          visit(*plan, fmt::format("{} {} over {} ranks, root {}, {} chunks", entry.algorithm, name(entry.kind),
                                   ranks, root, shape.chunks));
        }
      }
    }
  }
};

TEST_P(EveryEntry, IsVerified) {
  each_plan(16, {1, 2, 3, 7}, [](const ir::Plan& plan, const std::string& words) {
    ASSERT_EQ(ir::verify(plan).message(), "") << words;
  });
}

/// With two slots per channel, apart and in place: no deadlock, no race, the same sums.
TEST_P(EveryEntry, RunsAsPrograms) {
  each_plan(16, {1, 3}, [](const ir::Plan& plan, const std::string& words) {
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

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryEntry, ::testing::ValuesIn(catalogue().begin(), catalogue().end()),
                         [](const auto& info) {
                           return fmt::format("{}_{}", info.param.algorithm, name(info.param.kind));
                         });

}  // namespace
}  // namespace weir::algorithms
