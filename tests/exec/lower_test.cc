// SPDX-License-Identifier: Apache-2.0

#include "src/exec/lower.h"

#include <gmock/gmock.h>

#include "algorithms/ir/builder.h"
#include "tests/exec/programs.h"

namespace weir::exec {
namespace {

using ir::input;
using ir::output;
using ir::value;
using ::testing::HasSubstr;

TEST(Lower, RingStepsReceiveReduceAndSendAtOnce) {
  auto plan = algorithms::emit("ring", {Collective::all_reduce, 4, 0, 4});
  ASSERT_TRUE(plan.ok());
  auto program = lower(*plan, 2);
  ASSERT_TRUE(program.ok());
  size_t steps = 0;
  int fused = 0;
  for (const std::vector<Step>& lane : program->lanes) {
    steps += lane.size();
    for (const Step& step : lane) fused += step.sources == 2 && step.destinations >= 1;
  }
  // One send of own input, then 2(n - 1) receives, all but the last of which also send.
  EXPECT_EQ(steps, 7u);
  EXPECT_EQ(fused, 3);
}

TEST(Lower, MarksTheStepThatCompletesASum) {
  auto plan = algorithms::emit("ring", {Collective::all_reduce, 3, 0, 3});
  ASSERT_TRUE(plan.ok());
  for (const Program& program : lower_all(*plan)) {
    int completing = 0;
    for (const auto& lane : program.lanes) {
      for (const Step& step : lane) completing += step.completes;
    }
    EXPECT_EQ(completing, 1);
  }
}

TEST(Lower, SpillsFoldsOfMoreSourcesThanAStepHas) {
  auto plan = algorithms::emit("one_shot", {Collective::all_reduce, 12, 0, 1});
  ASSERT_TRUE(plan.ok());
  const std::vector<Program> programs = lower_all(*plan);
  EXPECT_TRUE(check_all(programs, 2).ok()) << check_all(programs, 2).message();
  for (const Step& step : programs[5].lanes[0]) EXPECT_LE(step.sources, kFanIn);
}

TEST(Lower, RefusesToForwardAValueThatWasNotKept) {
  ir::Builder plan("test", {Collective::broadcast, 3, 0, 2});
  const auto first = plan.send(0, 1, input(0), {});
  plan.send(0, 1, input(1), {.to = output(1)});
  plan.send(1, 2, value(first), {.to = output(0)});
  EXPECT_THAT(lower(plan.take(), 1).status().message(), HasSubstr("move 2 uses the value of move 0"));
}

TEST(Lower, RefusesAValueMadeForNothing) {
  ir::Builder plan("test", {Collective::broadcast, 2, 0, 1});
  plan.send(0, 1, input(0), {.to = output(0)});
  plan.send(0, 1, input(0), {});
  EXPECT_THAT(lower(plan.take(), 1).status().message(), HasSubstr("neither kept in memory nor passed on"));
}

}  // namespace
}  // namespace weir::exec
