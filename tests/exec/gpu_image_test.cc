// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/image.h"

#include <gmock/gmock.h>

#include "tests/exec/programs.h"

namespace weir::exec::gpu {
namespace {

using ::testing::HasSubstr;

TEST(GpuImage, HasStepsPlacesAndLanesOfTheProgram) {
  const Program program = lower_all(*algorithms::emit("one_shot", {Collective::all_reduce, 4, 0, 1}))[1];
  const Image image = image_of(program);
  std::vector<Step> copy(image.bytes.size() / sizeof(Step) + 1);
  std::memcpy(copy.data(), image.bytes.data(), image.bytes.size());
  Launch launch;
  bind(launch, image, reinterpret_cast<const std::byte*>(copy.data()));
  ASSERT_EQ(launch.channels, program.channels.size());
  uint32_t lane = 0;
  for (const std::vector<Step>& steps : program.lanes) {
    if (steps.empty()) continue;
    ASSERT_LT(lane, launch.lane_count);
    const LaneSteps there = launch.lanes[lane++];
    ASSERT_EQ(there.count, steps.size());
    EXPECT_EQ(std::memcmp(launch.steps + there.first, steps.data(), steps.size() * sizeof(Step)), 0);
  }
  EXPECT_EQ(lane, launch.lane_count);
  for (size_t i = 0; i < program.places.size(); ++i) EXPECT_EQ(launch.places[i], program.places[i]);
}

TEST(GpuImage, RefusesWhatAKernelCannotTake) {
  const Program program = lower_all(*algorithms::emit("ring", {Collective::broadcast, 2, 0, 1}))[0];
  alignas(8) std::byte buffer[64];
  Work work;
  work.input = buffer + 2;
  work.output = buffer;
  work.count = 4;
  Launch launch;
  EXPECT_THAT(set_work(launch, program, work, 4096).message(),
              HasSubstr("not aligned to its elements of 4 bytes"));
  work.input = buffer;
  EXPECT_THAT(set_work(launch, program, work, 63).message(), HasSubstr("tiles of 63 bytes"));
  EXPECT_TRUE(set_work(launch, program, work, 4096).ok());
}

TEST(GpuImage, TilesAreWholeGrains) {
  const Program program = lower_all(*algorithms::emit("ring", {Collective::broadcast, 2, 0, 1}))[0];
  alignas(8) std::byte buffer[1000];
  Work work;
  work.input = work.output = buffer;
  work.count = 1000;
  work.type = DataType::uint8;
  work.tile_bytes = 200;
  Launch launch;
  ASSERT_TRUE(set_work(launch, program, work, 300).ok());
  EXPECT_EQ(launch.division.tile, 192u);
  EXPECT_EQ(launch.division.passes, 6u);
  EXPECT_EQ(launch.tile_bytes % kGrainBytes, 0u);
}

TEST(GpuImage, KnowsPlansWhoseMessagesOrderMemory) {
  // Rank 1 sends chunk 0 on from lane 1, which lane 0 wrote: only messages can order the two.
  ir::Plan plan;
  plan.shape = {Collective::broadcast, 3, 0, 1};
  const ir::Operand input{ir::Operand::Kind::input, 0};
  const ir::Operand output{ir::Operand::Kind::output, 0};
  ir::Move move;
  move.from = input;
  move.to = output;
  plan.moves = {move, move, move};
  plan.moves[1].dst = 1;
  plan.moves[2].src = 1;
  plan.moves[2].dst = 2;
  plan.moves[2].from = output;
  EXPECT_FALSE(orders_memory(plan));
  plan.moves[2].src_lane = 1;
  EXPECT_TRUE(orders_memory(plan));
  plan.moves[2].from = {ir::Operand::Kind::value, 1};
  EXPECT_FALSE(orders_memory(plan));
  plan.moves[1].pull = true;
  EXPECT_TRUE(orders_memory(plan));
}

/// The chunks of a division are the parts that part_of() cuts, whole and in tiles.
TEST(Division, PiecesAreThoseOfPartOf) {
  for (const size_t count :
       {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{1000}, size_t{4099}}) {
    for (const uint32_t chunks : {1u, 2u, 3u, 7u, 64u}) {
      const Division division = divide_work(count, chunks, 4, 256);
      for (uint32_t part = 0; part < chunks; ++part) {
        const Extent extent = part_of(count, chunks, part, 16);
        size_t at = extent.first;
        for (size_t pass = 0; pass < division.passes; ++pass) {
          const Piece piece = division.piece_of(part, pass);
          ASSERT_EQ(piece.first, at);
          ASSERT_LE(piece.count, 64u);
          at += piece.count;
        }
        ASSERT_EQ(at, extent.first + extent.count) << count << " in " << chunks;
      }
    }
  }
}

}  // namespace
}  // namespace weir::exec::gpu
