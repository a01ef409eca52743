// SPDX-License-Identifier: Apache-2.0

#include "tests/ir/draw.h"

#include <gtest/gtest.h>

#include "algorithms/ir/builder.h"

namespace weir::ir {
namespace {

Plan drawn_plan() {
  Builder plan("a\"b", {Collective::reduce, 3, 2, 2});
  plan.scratch_chunks(2);
  const MoveId first = plan.send(0, 1, input(0), {.with = input(0), .chunks = 2});
  plan.send(1, 2, value(first), {.with = input(0), .to = output(0), .chunks = 2});
  plan.local(1, input(1), {.to = scratch(1)});
  plan.pull(1, 2, scratch(1), {.to = scratch(0)});
  return plan.take();
}

TEST(Draw, TableSaysWhatEachRankDoes) {
  EXPECT_EQ(draw_table(drawn_plan()),
            "reduce by a\"b: 3 ranks, root 2, 2 chunks per block, 2 of scratch, 4 moves\n"
            "\n"
            "rank 0\n"
            "  move  lane  does\n"
            "     0     0  sends input 0-1 to rank 1\n"
            "\n"
            "rank 1\n"
            "  move  lane  does\n"
            "     0     0  gets input 0-1 + input 0-1 of rank 0, forwards it\n"
            "     1     0  sends the value of move 0 to rank 2\n"
            "     2     0  makes input 1, stores it in scratch 1\n"
            "\n"
            "rank 2\n"
            "  move  lane  does\n"
            "     1     0  gets input 0-1 + the value of move 0 of rank 1, stores it in output 0-1\n"
            "     3     0  pulls scratch 1 of rank 1, stores it in scratch 0\n");
}

}  // namespace
}  // namespace weir::ir
