// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/verify.h"

#include <gmock/gmock.h>

#include <functional>
#include <random>

#include "algorithms/ir/builder.h"

namespace weir::ir {
namespace {

using ::testing::HasSubstr;

constexpr Shape kAllReduce{Collective::all_reduce, 3, 0, 3};

/// A ring over ranks, its rounds in list order: right, whatever the lanes.
Plan ring(int n) {
  Builder plan("ring", {Collective::all_reduce, n, 0, static_cast<uint32_t>(n)});
  for (int c = 0; c < n; ++c) {
    const auto chunk = static_cast<uint32_t>(c);
    Operand carried = input(chunk);
    for (int step = 1; step < 2 * n - 1; ++step) {
      const Rank src = (c + step) % n, dst = (src + 1) % n;
      const Operand with = step < n ? input(chunk) : Operand{};
      const Operand to = step >= n - 1 ? output(chunk) : Operand{};
      carried = value(plan.send(src, dst, carried, {.with = with, .to = to}));
    }
  }
  return plan.take();
}

/// The ring after `change`; what verify says about it.
std::string said(const std::function<void(Plan&)>& change) {
  Plan plan = ring(3);
  change(plan);
  return verify(plan).message();
}

TEST(Verify, AcceptsRings) {
  for (int n : {2, 3, 8, 64, 65, 130}) EXPECT_EQ(verify(ring(n)).message(), "") << n;
}

/// Damages one operand, rank or place in the list.
void damage(Plan& plan, std::mt19937& random) {
  Move& move = plan.moves[random() % plan.moves.size()];
  Operand* const operands[] = {&move.from, &move.with, &move.to};
  Operand& operand = *operands[random() % 3];
  switch (random() % 4) {
    case 0: operand = {}; break;
    case 1: operand.index = static_cast<uint32_t>(random() % plan.moves.size()); break;
    case 2: move.src = static_cast<Rank>(random() % static_cast<size_t>(plan.shape.ranks)); break;
    default: std::swap(move, plan.moves[random() % plan.moves.size()]); break;
  }
}

TEST(Verify, FingerprintsRefuseWhatExactSetsRefuse) {
  EXPECT_TRUE(verify(ring(130), RankSetKind::fingerprints).ok());
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    Plan plan = ring(4);
    damage(plan, random);
    const Status exact = verify(plan), fingerprints = verify(plan, RankSetKind::fingerprints);
    refused += exact.ok() ? 0 : 1;
    EXPECT_EQ(exact.ok(), fingerprints.ok()) << exact.message() << " / " << fingerprints.message();
  }
  EXPECT_GT(refused, 2000);
}

/// Ranks 0 and 1 exchange blocks over rank 2, which has no data.
Plan over_a_relay() {
  Builder plan("relayed", {Collective::all_to_all, 3, 0, 1, 1});
  for (Rank rank = 0; rank < 2; ++rank) {
    const auto own = static_cast<uint32_t>(rank);
    plan.local(rank, input(own), {.to = output(own)});
    const MoveId passed = plan.send(rank, 2, input(1 - own), {});
    plan.send(2, 1 - rank, value(passed), {.to = output(own)});
  }
  return plan.take();
}

TEST(Verify, RelaysHaveNoDataAndForward) {
  EXPECT_EQ(verify(over_a_relay()).message(), "");
  EXPECT_EQ(input_blocks(over_a_relay().shape, 1), 2);
  EXPECT_EQ(output_blocks(over_a_relay().shape, 2), 0);
  Plan plan = over_a_relay();
  plan.shape.relays = 0;
  EXPECT_THAT(verify(plan).message(), HasSubstr("output chunk"));
  plan = over_a_relay();
  plan.moves[2].from = input(0);
  EXPECT_THAT(verify(plan).message(), HasSubstr("of rank 2, which has none"));
  for (const int relays : {-1, 3}) {
    plan.shape.relays = relays;
    EXPECT_THAT(verify(plan).message(), HasSubstr("relays among 3 ranks: expected none, or fewer"));
  }
  plan = ring(3);
  plan.shape.relays = 1;
  EXPECT_THAT(verify(plan).message(), HasSubstr("all_reduce with 1 relays"));
}

TEST(Verify, AnErrorIsAnInvalidArgument) {
  Plan plan = ring(3);
  plan.moves.clear();
  EXPECT_EQ(verify(plan).code(), Code::invalid_argument);
}

TEST(Verify, RefusesShapes) {
  EXPECT_THAT(said([](Plan& p) { p.shape.ranks = 0; }), HasSubstr("a plan for 0 ranks: expected 1 to"));
  EXPECT_THAT(said([](Plan& p) { p.shape.ranks = -7; }), HasSubstr("a plan for -7 ranks"));
  EXPECT_THAT(said([](Plan& p) { p.shape.ranks = kMaxPlanRanks + 1; }), HasSubstr("ranks: expected 1 to"));
  EXPECT_THAT(said([](Plan& p) { p.shape.chunks = 0; }), HasSubstr("blocks of 0 chunks"));
  EXPECT_THAT(said([](Plan& p) { p.shape.root = 1; }),
              HasSubstr("root 1 of all_reduce over 3 ranks: expected 0"));
  EXPECT_THAT(said([](Plan& p) {
                p.shape = {Collective::reduce, 3, 3, 3};
              }),
              HasSubstr("expected one of the ranks"));
  EXPECT_THAT(said([](Plan& p) { p.shape.kind = Collective::send_recv; }),
              HasSubstr("a plan of send_recv: expected one of the collectives"));
  EXPECT_THAT(said([](Plan& p) { p.shape.kind = static_cast<Collective>(77); }), HasSubstr("a plan of 77"));
  EXPECT_THAT(said([](Plan& p) { p.shape.chunks = 4'000'000'000; }),
              HasSubstr("chunks of memory over all ranks"));
  EXPECT_THAT(said([](Plan& p) { p.scratch_chunks = 4'000'000'000; }),
              HasSubstr("chunks of memory over all ranks"));
}

TEST(Verify, RefusesMovesThatNameWhatIsNotThere) {
  EXPECT_EQ(said([](Plan& p) { p.moves[5].src = 3; }), "move 5 has src rank 3: expected ranks 0 to 2");
  EXPECT_EQ(said([](Plan& p) { p.moves[5].dst = -1; }), "move 5 has dst rank -1: expected ranks 0 to 2");
  EXPECT_EQ(said([](Plan& p) { p.moves[5].dst_lane = 64; }), "move 5 uses lane 64: expected lanes 0 to 63");
  EXPECT_EQ(said([](Plan& p) { p.moves[4].from = input(3); }),
            "move 4 uses input chunks 3 to 3 of rank 2, which has chunks 0 to 2");
  EXPECT_EQ(said([](Plan& p) { p.moves[4].from = input(UINT32_MAX); }),
            "move 4 uses input chunks 4294967295 to 4294967295 of rank 2, which has chunks 0 to 2");
  EXPECT_EQ(said([](Plan& p) { p.moves[3].to = scratch(0); }),
            "move 3 uses scratch of rank 2, which has none");
  EXPECT_EQ(said([](Plan& p) { p.moves[0].from = value(7); }),
            "move 0 uses the value of move 7, which comes later");
  EXPECT_EQ(said([](Plan& p) { p.moves[2].from = value(2); }),
            "move 2 uses the value of move 2, which comes later");
  EXPECT_EQ(said([](Plan& p) { p.moves[2].from = value(0); }),
            "move 2 uses the value of move 0 at rank 0, but it was made at rank 2");
}

TEST(Verify, RefusesMovesThatMakeNoSense) {
  EXPECT_EQ(said([](Plan& p) { p.moves[1].chunks = 0; }), "move 1 moves 0 chunks");
  EXPECT_EQ(said([](Plan& p) { p.moves[1].from = {}; }), "move 1 has no source");
  EXPECT_EQ(said([](Plan& p) { p.moves[1].pull = true; }),
            "move 1 pulls a value: expected an operand in memory");
  EXPECT_THAT(said([](Plan& p) { p.moves[4].dst = 2, p.moves[4].pull = true; }), HasSubstr("from itself"));
  EXPECT_THAT(said([](Plan& p) { p.moves[0].push = p.moves[0].pull = true, p.moves[0].from = input(0); }),
              HasSubstr("both pulled and pushed"));
  EXPECT_THAT(said([](Plan& p) { p.moves[0].push = true, p.moves[0].with = {}, p.moves[0].to = {}; }),
              HasSubstr("move 0 pushes without a destination: expected output or scratch"));
  EXPECT_THAT(said([](Plan& p) { p.moves[0].push = true, p.moves[0].with = input(0); }),
              HasSubstr("move 0 pushes and sums"));
  EXPECT_THAT(said([](Plan& p) { p.moves[0].push = true, p.moves[0].with = {}, p.moves[0].to = output(0); }),
              HasSubstr("which was pushed: expected the memory to which it was pushed"));
  EXPECT_EQ(said([](Plan& p) { p.moves[4].dst = 2, p.moves[4].dst_lane = 1; }),
            "move 4 is local to rank 2, but uses lanes 0 and 1");
  EXPECT_EQ(said([](Plan& p) { p.moves[3].to = input(0); }),
            "move 3 writes input chunk 0 of rank 2: inputs are only read");
  EXPECT_EQ(said([](Plan& p) { p.moves[3].to = value(0); }),
            "move 3 stores its value in a value: expected output or scratch");
  EXPECT_EQ(
      said([](Plan& p) { p.moves[4].chunks = 2, p.moves[4].from = input(0), p.moves[4].with = input(0); }),
      "move 5 of 1 chunks uses the value of move 4, which has 2");
  EXPECT_EQ(said([](Plan& p) { p.moves[5].src_lane = 1; }),
            "move 5 uses the value of move 4 in lane 1, but it was made in lane 0 and not stored");
  EXPECT_EQ(said([](Plan& p) { p.moves[11].to = {}; }),
            "move 11 makes a value that is neither stored nor used by a later move");
}

TEST(Verify, RefusesSumsWhereNothingIsSummed) {
  Builder plan("x", {Collective::broadcast, 2, 0, 1});
  plan.send(0, 1, input(0), {.to = output(0)});
  plan.local(0, input(0), {.to = output(0)});
  plan.send(0, 1, input(0), {.with = output(0), .to = output(0)});
  EXPECT_EQ(verify(plan.take()).message(), "move 2 sums chunks, but broadcast does not reduce");
}

TEST(Verify, RefusesWrongSums) {
  EXPECT_EQ(said([](Plan& p) { p.moves[4].with = input(2); }),
            "move 4 adds chunk 1 of rank 2 to chunk 2 of rank 0 at rank 0: only equal chunks can be summed");
  // The sum of ranks 2 and 0 goes back to rank 2.
  Builder back("x", kAllReduce);
  const MoveId sum = back.send(2, 0, input(1), {.with = input(1)});
  back.send(0, 2, value(sum), {.with = input(1), .to = output(1)});
  EXPECT_EQ(verify(back.take()).message(), "move 1 adds rank 2's share of chunk 1 a second time at rank 2");
}

TEST(Verify, RefusesReadsOfNothing) {
  EXPECT_EQ(said([](Plan& p) { p.moves[4].from = output(2); }),
            "move 4 reads output chunk 2 of rank 2, which was never written");
  EXPECT_EQ(said([](Plan& p) { p.scratch_chunks = 1, p.moves[4].with = scratch(0); }),
            "move 4 reads scratch chunk 0 of rank 0, which was never written");
}

TEST(Verify, RefusesUnfinishedOutputs) {
  EXPECT_EQ(said([](Plan& p) { p.moves.pop_back(); }),
            "after all moves output chunk 2 of rank 1 was never written, but must hold chunk 2 of ranks 0-2");
  EXPECT_EQ(said([](Plan& p) { p.moves[11].from = input(2); }),
            "after all moves output chunk 2 of rank 1 lacks rank 1's share: it holds chunk 2 of rank 0, but "
            "must hold "
            "chunk 2 of ranks 0-2");
  Builder wrong_block("x", {Collective::all_gather, 2, 0, 1});
  for (Rank r : {0, 1}) {
    wrong_block.send(r, 1 - r, input(0), {.to = output(static_cast<uint32_t>(r))});
    wrong_block.send(r, 1 - r, input(0), {.to = output(static_cast<uint32_t>(1 - r))});
  }
  EXPECT_EQ(verify(wrong_block.take()).message(),
            "after all moves output chunk 0 of rank 0 lacks rank 0's share: it holds chunk 0 of rank 1, but "
            "must hold "
            "chunk 0 of rank 0");
}

TEST(Verify, RefusesChunksOfTheWrongLength) {
  Builder moved("x", kAllReduce);
  moved.send(0, 1, input(0), {.to = output(1)});
  EXPECT_EQ(verify(moved.take()).message(),
            "move 0 writes part 0 of a block into output chunk 1, which is for part 1");
  Builder mixed("x", kAllReduce);
  mixed.scratch_chunks(2);
  mixed.local(0, input(0), {.to = scratch(0)});
  mixed.local(0, input(2), {.to = scratch(1)});
  mixed.send(0, 1, scratch(0), {.to = scratch(0), .chunks = 2});
  EXPECT_EQ(verify(mixed.take()).message(),
            "move 2 moves part 2 of a block right after part 0: expected part 1");
}

TEST(Verify, RefusesPartlyOverlappingPlaces) {
  Builder plan("x", kAllReduce);
  plan.scratch_chunks(3);
  plan.local(0, input(0), {.to = scratch(0), .chunks = 3});
  plan.local(0, scratch(0), {.to = scratch(1), .chunks = 2});
  EXPECT_EQ(verify(plan.take()).message(),
            "move 1 reads and writes ranges of rank 0 that overlap without being equal");
}

TEST(Verify, LooksInPlaceToo) {
  // Right out of place. In place the output is the input, and move 0 has overwritten what move 1 still needs.
  Builder plan("x", {Collective::all_reduce, 2, 0, 1});
  const MoveId sum = plan.send(0, 1, input(0), {.with = input(0), .to = output(0)});
  plan.send(1, 0, input(0), {.with = input(0), .to = output(0)});
  Plan swapped = plan.take();
  EXPECT_EQ(verify(swapped).message(),
            "in place, move 1 adds rank 0's share of chunk 0 a second time at rank 0");
  swapped.moves[1].from = value(sum);
  swapped.moves[1].with = {};
  EXPECT_EQ(verify(swapped).message(), "");
}

TEST(Verify, InPlaceBlocksLieAtTheRank) {
  // Rank 1 puts block 0 where, in place, its own input lies: block 1.
  Builder plan("x", {Collective::all_gather, 2, 0, 1});
  for (Rank r : {0, 1}) {
    const auto own = static_cast<uint32_t>(r);
    plan.send(r, 1 - r, input(0), {.to = output(1 - own)});
    plan.send(r, 1 - r, input(0), {.to = output(own)});
  }
  for (Rank r : {0, 1}) plan.local(r, input(0), {.to = output(static_cast<uint32_t>(r))});
  EXPECT_THAT(verify(plan.take()).message(), HasSubstr("in place, after all moves output chunk"));
}

TEST(Verify, ThereIsNoInPlaceAllToAll) {
  Builder plan("x", {Collective::all_to_all, 2, 0, 1});
  for (Rank r : {0, 1}) {
    const auto own = static_cast<uint32_t>(r);
    plan.send(r, 1 - r, input(1 - own), {.to = output(own)});
    plan.local(r, input(own), {.to = output(own)});
  }
  EXPECT_EQ(verify(plan.take()).message(), "");
}

}  // namespace
}  // namespace weir::ir
