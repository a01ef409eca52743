// SPDX-License-Identifier: Apache-2.0

#include "src/base/sum_order.h"

#include <gtest/gtest.h>

#include "src/base/options.h"

namespace weir {
namespace {

TEST(SumOrder, HasNames) {
  for (const SumOrder order : {SumOrder::run, SumOrder::any, SumOrder::ranks})
    EXPECT_EQ(sum_order_of(name(order)), order);
  EXPECT_EQ(name(SumOrder::ranks), "ranks");
  EXPECT_EQ(sum_order_of("rank"), std::nullopt);
  EXPECT_EQ(sum_order_of(""), std::nullopt);
}

TEST(SumOrder, IsAnOption) {
  EXPECT_EQ(sum_order_of(Options().order), SumOrder::run);
  EXPECT_EQ(Options::from({{"WEIR_ORDER", {"ranks", "the environment"}}}).order, "ranks");
}

}  // namespace
}  // namespace weir
