// SPDX-License-Identifier: Apache-2.0
// Plans in which ranks use each other's buffers: their results and proofs.
#include "algorithms/catalogue/direct.h"

#include <gmock/gmock.h>

#include <functional>

#include "algorithms/ir/builder.h"
#include "tests/exec/programs.h"

namespace weir::exec {
namespace {

using ::testing::HasSubstr;

constexpr Collective kAll[] = {Collective::all_reduce, Collective::reduce,         Collective::broadcast,
                               Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                               Collective::gather,     Collective::scatter};

std::vector<Program> direct_programs(Collective kind, int ranks) {
  const ir::Plan plan = algorithms::direct(kind, ranks, has_root(kind) ? ranks * 2 / 3 : 0);
  EXPECT_TRUE(ir::verify(plan).ok()) << ir::verify(plan).message();
  return lower_all(plan, Peers::buffers);
}

TEST(Direct, EveryCollectiveIsRightOnEveryRank) {
  for (const Collective kind : kAll) {
    for (int ranks = 2; ranks <= 12; ++ranks) {
      const Status proof = check_all(direct_programs(kind, ranks), 2);
      ASSERT_TRUE(proof.ok()) << name(kind) << " over " << ranks << ": " << proof.message();
    }
  }
}

/// Between two ranks one ring each way is enough, so the work can be cut into as many shards as there are.
TEST(Direct, TakesOneChannelEachWay) {
  for (const Collective kind : kAll) {
    for (const Program& program : direct_programs(kind, 5)) {
      for (const Channel& channel : program.channels) {
        EXPECT_EQ(channel.number, signal_channel(0, 0)) << name(kind);
        EXPECT_EQ(channel.chunks, 0u) << name(kind);
      }
    }
  }
}

/// Programs without the signals and waits of one pass filter.
Status check_without(PassFilter passes) {
  std::vector<Program> programs = direct_programs(Collective::reduce_scatter, 3);
  for (Program& program : programs) {
    for (std::vector<Step>& lane : program.lanes)
      std::erase_if(lane, [&](const Step& step) {
        return step.op != Op::move && static_cast<PassFilter>(step.part) == passes;
      });
  }
  return check_all(programs, 2);
}

TEST(Direct, CheckSeesAccessesThatNobodyIsReadyFor) {
  EXPECT_THAT(check_without(PassFilter::first).message(),
              HasSubstr("uses a buffer of rank 1 before that rank is known to have begun"));
  EXPECT_THAT(check_without(PassFilter::last).message(), HasSubstr("still uses its buffers"));
}

/// Programs on the host may use other ranks' scratch, but not their buffers.
TEST(Direct, IsRefusedWhereBuffersAreNotReached) {
  const auto said = [](Collective kind, Peers peers, const std::function<void(ir::Plan&)>& change) {
    ir::Plan plan = algorithms::direct(kind, 2, 0);
    change(plan);
    const auto program = lower(plan, plan.moves.back().push ? plan.moves.back().src : 1, peers);
    return program.ok() ? "" : program.status().message();
  };
  const auto as_it_is = [](ir::Plan&) {};
  EXPECT_EQ(said(Collective::broadcast, Peers::scratch, as_it_is),
            "move 1 pulls from a user buffer; expected a plan in which ranks pull only from scratch");
  EXPECT_EQ(said(Collective::gather, Peers::scratch, as_it_is),
            "move 1 pushes to output; expected a plan in which ranks write only their own memory");
  EXPECT_EQ(said(Collective::gather, Peers::buffers, as_it_is), "");
  EXPECT_EQ(
      said(Collective::gather, Peers::buffers,
           [](ir::Plan& plan) {
             plan.scratch_chunks = 1;
             plan.moves.back().to = ir::scratch(0);
           }),
      "move 1 pushes to scratch; expected a plan in which ranks write only their own memory and output of "
      "others");
}

/// What docs/gpu.md says: reads and writes of memory in an all-reduce, in bytes of one rank's buffer.
TEST(Direct, MovesFewerBytesThanARing) {
  const auto moved = [](const std::vector<Program>& programs) {
    size_t chunks = 0;
    for (const Program& program : programs) {
      for (const std::vector<Step>& lane : program.lanes) {
        for (const Step& step : lane)
          if (step.op == Op::move) chunks += size_t{step.chunks} * (step.sources + step.destinations);
      }
    }
    return static_cast<double>(chunks) / programs[0].shape.chunks;
  };
  const auto by_ring = [&](int ranks) {
    auto plan = algorithms::emit("ring", {Collective::all_reduce, ranks, 0, static_cast<uint32_t>(ranks)});
    EXPECT_TRUE(plan.ok());
    return moved(lower_all(*plan));
  };
  const auto directly = [&](int ranks) { return moved(direct_programs(Collective::all_reduce, ranks)); };
  EXPECT_EQ(by_ring(2), 8);
  EXPECT_EQ(by_ring(4), 20);
  EXPECT_EQ(by_ring(8), 44);
  EXPECT_EQ(directly(2), 4) << "each input read once, each output written once";
  EXPECT_EQ(directly(4), 8) << "the same";
  EXPECT_EQ(directly(8), 21) << "16, and sums on their way, as a step has four sources and destinations";
}

}  // namespace
}  // namespace weir::exec
