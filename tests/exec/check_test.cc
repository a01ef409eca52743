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

/// Every algorithm of the catalogue, 1 to 16 ranks, roots, chunk counts: lowered and proved, both placements.
TEST(Check, EveryAlgorithmIsRightOnEveryRank) {
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    for (int ranks = 1; ranks <= 16; ++ranks) {
      for (const uint32_t factor : {1u, 3u}) {
        ir::Shape shape{entry.kind, ranks, 0, algorithms::default_chunks(entry, ranks) * factor};
        if (has_root(entry.kind)) shape.root = ranks * 2 / 3;
        auto plan = algorithms::emit(entry.algorithm, shape);
        ASSERT_TRUE(plan.ok()) << label(entry, ranks) << ": " << plan.status().message();
        const Status proof = check_all(lower_all(*plan), 2);
        ASSERT_TRUE(proof.ok()) << label(entry, ranks) << ": " << proof.message();
      }
    }
  }
}

/// A ring in which every rank receives, adds and sends in one step of its only lane: nobody can send before it has
/// received, so the messages under way need room.
ir::Plan fused_ring(int ranks) {
  ir::Builder plan("fused", {Collective::all_reduce, ranks, 0, static_cast<uint32_t>(ranks)});
  const auto chunk = [&](Rank rank, int round) { return static_cast<uint32_t>((rank - round + 2 * ranks) % ranks); };
  std::vector<ir::MoveId> got(ranks);
  for (int round = 0; round < 2 * ranks - 2; ++round) {
    std::vector<ir::MoveId> sent(ranks);
    for (Rank src = 0; src < ranks; ++src) {
      const uint32_t c = chunk(src, round);
      ir::Arrival arrival;
      if (round < ranks - 1) arrival.with = input(c);
      if (round >= ranks - 2) arrival.to = output(c);
      sent[(src + 1) % ranks] = plan.send(src, (src + 1) % ranks, round == 0 ? input(c) : value(got[src]), arrival);
    }
    got = sent;
  }
  return plan.take();
}

TEST(Check, FindsTheDeadlockOfTheFusedRingWithOneSlot) {
  const ir::Plan plan = fused_ring(4);
  ASSERT_TRUE(ir::verify(plan).ok()) << ir::verify(plan).message();
  const std::vector<Program> programs = lower_all(plan);
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
  programs[1].lanes[0].pop_back();  // rank 1 keeps the sum to itself
  EXPECT_THAT(check_all(programs, 2).message(), HasSubstr("deadlock"));
}

TEST(Check, FindsAMessageThatNobodyTakes) {
  std::vector<Program> programs = lower_all(two_rank_sum());
  programs[0].lanes[0].pop_back();
  const std::string message = check_all(programs, 8).message();
  EXPECT_THAT(message, HasSubstr("never taken"));
}

TEST(Check, FindsAShareAddedTwice) {
  std::vector<Program> programs = lower_all(two_rank_sum());
  Step& fold = programs[1].lanes[0][0];
  fold.src[fold.sources] = fold.src[0];
  ++fold.sources;
  EXPECT_THAT(check_all(programs, 2).message(), HasSubstr("second time"));
}

/// Two lanes write the same scratch chunk and nothing orders them.
TEST(Check, FindsARaceBetweenLanes) {
  ir::Builder builder("test", {Collective::broadcast, 2, 0, 2});
  builder.scratch_chunks(1);
  for (uint8_t lane = 0; lane < 2; ++lane) {
    builder.lane(lane);
    const auto kept = builder.send(0, 1, input(lane), {.to = ir::scratch(0)});
    builder.local(1, ir::scratch(0), {.to = output(lane)});
    (void)kept;
  }
  builder.lane(0);
  for (uint32_t c = 0; c < 2; ++c) builder.local(0, input(c), {.to = output(c)});
  const ir::Plan plan = builder.take();
  ASSERT_TRUE(ir::verify(plan).ok()) << ir::verify(plan).message();
  EXPECT_THAT(check_all(lower_all(plan), 2).message(), HasSubstr("race"));
}

}  // namespace
}  // namespace weir::exec
