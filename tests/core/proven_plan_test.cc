// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/proven_plan.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/core/logged.h"

namespace weir::core {
namespace {

using ::testing::HasSubstr;

constexpr int kProvenRanks = 8;

algorithms::Layout in_order() {
  algorithms::Layout layout;
  layout.order.resize(kProvenRanks);
  std::iota(layout.order.begin(), layout.order.end(), 0);
  return layout;
}

TEST(EmitProven, TheLogSaysWhichProofAPlanHas) {
  const ir::Shape shape{Collective::all_reduce, kProvenRanks, 0, kProvenRanks};
  const Logged log("TUNING");
  const auto exact = emit_proven("ring", shape, in_order());
  ASSERT_TRUE(exact.ok()) << exact.status().message();
  const size_t moves = exact->moves.size();
  EXPECT_THAT(log.text(),
              HasSubstr(fmt::format("the ring plan for all_reduce over 8 ranks is proven exactly: {} moves, ",
                                    moves)));
  const auto large = emit_proven("ring", shape, in_order(), moves - 1);
  ASSERT_TRUE(large.ok()) << large.status().message();
  EXPECT_EQ(large->moves.size(), moves);
  EXPECT_THAT(log.text(), HasSubstr("over 8 ranks is proven by fingerprints: "));
}

TEST(EmitProven, AnUnknownAlgorithmIsRefused) {
  EXPECT_FALSE(emit_proven("moon", {Collective::all_reduce, kProvenRanks, 0, 1}, in_order()).ok());
}

}  // namespace
}  // namespace weir::core
