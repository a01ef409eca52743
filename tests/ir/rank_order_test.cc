// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/rank_order.h"

#include <gtest/gtest.h>

#include "algorithms/ir/builder.h"
#include "algorithms/ir/verify.h"

namespace weir::ir {
namespace {

/// A reduce of three ranks to rank 0, whose two sums have these operands.
Plan reduced(Operand first_with, Operand first_from, bool result_is_left) {
  Builder plan("reduced", {Collective::reduce, 3, 0, 1});
  plan.scratch_chunks(2);
  plan.send(1, 0, input(0), {.to = scratch(0)});
  plan.send(2, 0, input(0), {.to = scratch(1)});
  const Operand sum = value(plan.local(0, first_from, {.with = first_with, .to = scratch(0)}));
  if (result_is_left) {
    plan.local(0, scratch(1), {.with = sum, .to = output(0)});
  } else {
    plan.local(0, sum, {.with = scratch(1), .to = output(0)});
  }
  return plan.take();
}

std::string said(const Plan& plan) {
  EXPECT_EQ(verify(plan).message(), "");
  return check_rank_order(plan).message();
}

TEST(RankOrder, FollowsTheRanks) { EXPECT_EQ(said(reduced(input(0), scratch(0), true)), ""); }

TEST(RankOrder, NamesTheMoveThatDoesNot) {
  const std::string expected = "; expected sums in rank order, from rank 0 on";
  EXPECT_EQ(said(reduced(scratch(0), input(0), true)), "move 2 adds rank 0 to rank 1 at rank 0" + expected);
  EXPECT_EQ(said(reduced(input(0), scratch(0), false)),
            "move 3 adds ranks 0-1 to rank 2 at rank 0" + expected);
}

/// (x0 + x1) + (x2 + x3): each sum is of neighbours, but a tree is not in rank order.
TEST(RankOrder, RefusesTrees) {
  Builder plan("tree", {Collective::reduce, 4, 0, 1});
  plan.scratch_chunks(1);
  plan.send(3, 2, input(0), {.with = input(0), .to = scratch(0)});
  plan.send(1, 0, input(0), {.with = input(0), .to = scratch(0)});
  plan.send(2, 0, scratch(0), {.with = scratch(0), .to = output(0)});
  EXPECT_EQ(said(plan.take()),
            "move 0 adds rank 3 to rank 2 at rank 2; expected sums in rank order, from rank 0 on");
}

TEST(RankOrder, RefusesToSkipARank) {
  Builder plan("skips", {Collective::reduce, 3, 0, 1});
  plan.scratch_chunks(1);
  const Operand sum = value(plan.send(2, 0, input(0), {.with = input(0), .to = scratch(0)}));
  plan.send(1, 0, input(0), {.with = sum, .to = output(0)});
  EXPECT_EQ(said(plan.take()),
            "move 0 adds rank 2 to rank 0 at rank 0; expected sums in rank order, from rank 0 on");
}

TEST(RankOrder, CopiesHaveNone) {
  Builder plan("copies", {Collective::broadcast, 2, 0, 1});
  plan.send(0, 1, input(0), {.to = output(0)});
  plan.local(0, input(0), {.to = output(0)});
  EXPECT_EQ(said(plan.take()), "");
}

}  // namespace
}  // namespace weir::ir
