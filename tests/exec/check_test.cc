// SPDX-License-Identifier: Apache-2.0

#include "src/exec/check.h"

#include <gmock/gmock.h>

#include "algorithms/ir/builder.h"
#include "tests/exec/programs.h"

namespace weir::exec {
namespace {

using ir::input;
using ir::output;
using ir::value;
using ::testing::HasSubstr;

/// A ring all-gather written by hand as one lane per rank: send own block, then receive, keep and pass on in
/// one step. No rank can receive the next message before its own slot is free, so the messages in flight need
/// slots.
std::vector<Program> fused_ring(Rank ranks) {
  using Kind = Place::Kind;
  std::vector<Program> programs;
  for (Rank rank = 0; rank < ranks; ++rank) {
    Program program;
    program.shape = {Collective::all_gather, ranks, 0, 1};
    program.rank = rank;
    program.channels = {{(rank + 1) % ranks, 0, true, 1}, {(rank + ranks - 1) % ranks, 0, false, 1}};
    program.places = {{Kind::input, 0, 0},
                      {Kind::output, 0, 0},
                      {Kind::send, 0, 0},
                      {Kind::receive, 0, 1},
                      {Kind::input, -rank, 0}};
    std::vector<Step> lane;
    for (Rank round = 0; round < ranks; ++round) {
      Step step;
      step.sources = 1;
      step.src[0] = round == 0 ? 4 : 3;
      step.dst[step.destinations++] = 1;
      if (round < ranks - 1) step.dst[step.destinations++] = 2;
      step.chunk = static_cast<uint32_t>((rank - round + ranks) % ranks);
      lane.push_back(step);
    }
    program.lanes = {lane};
    programs.push_back(program);
  }
  return programs;
}

TEST(Check, FindsTheDeadlockOfTheFusedRingWithOneSlot) {
  const std::vector<Program> programs = fused_ring(4);
  EXPECT_TRUE(check_all(programs, 2).ok()) << check_all(programs, 2).message();
  EXPECT_THAT(check_all(programs, 1).message(), HasSubstr("deadlock with 1 slots"));
}

ir::Plan two_rank_sum() {
  ir::Builder plan("test", {Collective::all_reduce, 2, 0, 1});
  plan.send(0, 1, input(0), {.with = input(0), .to = output(0)});
  plan.send(1, 0, output(0), {.to = output(0)});
  return plan.take();
}

TEST(Check, AcceptsTwoRanksThatSumAndReturn) {
  const ir::Plan plan = two_rank_sum();
  ASSERT_TRUE(ir::verify(plan).ok());
  EXPECT_TRUE(check_all(lower_all(plan), 1).ok());
}

TEST(Check, FindsAMissingSend) {
  std::vector<Program> programs = lower_all(two_rank_sum());
  programs[1].lanes[0].pop_back();  // rank 1 does not send the sum
  EXPECT_THAT(check_all(programs, 2).message(), HasSubstr("deadlock"));
}

TEST(Check, FindsAMessageThatNobodyTakes) {
  std::vector<Program> programs = lower_all(two_rank_sum());
  programs[0].lanes[0].pop_back();
  const std::string message = check_all(programs, 8).message();
  EXPECT_THAT(message, HasSubstr("never received"));
}

TEST(Check, FindsAShareAddedTwice) {
  std::vector<Program> programs = lower_all(two_rank_sum());
  Step& fold = programs[1].lanes[0][0];
  fold.src[fold.sources] = fold.src[0];
  ++fold.sources;
  EXPECT_THAT(check_all(programs, 2).message(), HasSubstr("second time"));
}

/// Two lanes use the same scratch chunk. Lowering orders them with signals; without those it is a race.
TEST(Check, FindsARaceBetweenLanes) {
  ir::Builder builder("test", {Collective::broadcast, 2, 0, 2});
  builder.scratch_chunks(1);
  for (uint8_t lane = 0; lane < 2; ++lane) {
    builder.lane(lane);
    builder.send(0, 1, input(lane), {.to = ir::scratch(0)});
    builder.local(1, ir::scratch(0), {.to = output(lane)});
  }
  builder.lane(0);
  for (uint32_t c = 0; c < 2; ++c) builder.local(0, input(c), {.to = output(c)});
  const ir::Plan plan = builder.take();
  ASSERT_TRUE(ir::verify(plan).ok()) << ir::verify(plan).message();
  std::vector<Program> programs = lower_all(plan);
  EXPECT_TRUE(check_all(programs, 2).ok()) << check_all(programs, 2).message();
  for (std::vector<Step>& lane : programs[1].lanes) {
    std::erase_if(lane, [](const Step& step) { return step.op != Op::move; });
  }
  EXPECT_THAT(check_all(programs, 2).message(), HasSubstr("race"));
}

}  // namespace
}  // namespace weir::exec
