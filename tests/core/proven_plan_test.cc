// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/proven_plan.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/core/logged.h"

namespace weir::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kProvenRanks = 8;

algorithms::Layout in_order() {
  algorithms::Layout layout;
  layout.order.resize(kProvenRanks);
  std::iota(layout.order.begin(), layout.order.end(), 0);
  return layout;
}

TEST(EmitProven, APlanBeyondTheLimitSaysThatItRunsUnverified) {
  const ir::Shape shape{Collective::all_reduce, kProvenRanks, 0, kProvenRanks};
  const Logged log("TUNING");
  const auto proven = emit_proven("ring", shape, in_order());
  ASSERT_TRUE(proven.ok()) << proven.status().message();
  EXPECT_THAT(log.text(), Not(HasSubstr("unverified")));
  const size_t moves = proven->moves.size();
  const auto unproven = emit_proven("ring", shape, in_order(), moves - 1);
  ASSERT_TRUE(unproven.ok());
  EXPECT_EQ(unproven->moves.size(), moves);
  EXPECT_THAT(log.text(),
              HasSubstr(fmt::format("the ring plan for all_reduce over 8 ranks runs unverified: it has {} "
                                    "moves, and plans of up to {} moves are verified at run time",
                                    moves, moves - 1)));
}

TEST(EmitProven, AnUnknownAlgorithmIsRefused) {
  EXPECT_FALSE(emit_proven("moon", {Collective::all_reduce, kProvenRanks, 0, 1}, in_order()).ok());
}

}  // namespace
}  // namespace weir::core
