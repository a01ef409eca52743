// SPDX-License-Identifier: Apache-2.0
// Plans over several rings.
#include "algorithms/catalogue/ring_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/verify.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"

namespace weir::algorithms {
namespace {

constexpr Collective kRingSetKinds[] = {Collective::all_reduce, Collective::all_gather,
                                        Collective::reduce_scatter, Collective::broadcast,
                                        Collective::reduce};

Rings random_rings(int places, size_t count, std::mt19937& random) {
  Rings rings;
  while (rings.size() < count) {
    if (!rings.empty() && random() % 4 == 0) {
      rings.push_back(rings.back());
      continue;
    }
    rings.push_back(ring_in_order(places));
    std::shuffle(rings.back().begin(), rings.back().end(), random);
  }
  return rings;
}

ir::Plan plan_over(const Layout& layout, Collective kind, Rank root, uint32_t multiple = 1) {
  const int ranks = static_cast<int>(layout.rings[0].size());
  const Entry& entry = *find("ring_set", kind);
  auto plan = emit("ring_set", {kind, ranks, root, multiple * default_chunks(entry, ranks, layout)}, layout);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *plan;
}

TEST(RingSet, AnyRingsAreRightAndNeverBlock) {
  std::mt19937 random(5);
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (const size_t count : {size_t{1}, size_t{2}, size_t{5}, kMostRings}) {
      const Layout layout{.rings = random_rings(ranks, count, random)};
      for (const Collective kind : kRingSetKinds) {
        const ir::Plan plan = plan_over(layout, kind, has_root(kind) ? ranks / 3 : 0, 1 + random() % 2);
        ASSERT_EQ(ir::verify(plan).message(), "") << name(kind) << " " << ranks << " " << count;
        if (ranks > 6 && count > 5) continue;
        std::vector<exec::Program> programs;
        for (Rank rank = 0; rank < ranks; ++rank) {
          auto program = exec::lower(plan, rank);
          ASSERT_TRUE(program.ok()) << program.status().message();
          programs.push_back(std::move(*program));
        }
        for (const uint32_t slots : {2u, 4u}) {
          const Status status = exec::check(programs, {.slots = slots, .passes = 2});
          EXPECT_EQ(status.message(), "") << name(kind) << " " << ranks << " " << count;
        }
      }
    }
  }
}

TEST(RingSet, EachRingCarriesAnEqualShare) {
  const Layout layout{.rings = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 2, 1, 3}}};
  for (const auto& [kind, rounds] : {std::pair{Collective::all_reduce, 2}, {Collective::all_gather, 4}}) {
    const ir::Plan plan = plan_over(layout, kind, 0);
    std::map<std::pair<Rank, Rank>, uint32_t> chunks;
    for (const ir::Move& move : plan.moves)
      if (move.src != move.dst) chunks[{move.src, move.dst}] += move.chunks;
    // Of the buffer, three quarters pass each hop of a ring, once or (all-reduce) twice.
    const uint32_t share = static_cast<uint32_t>(rounds) * plan.shape.chunks / 4;
    EXPECT_EQ((chunks[{0, 1}]), share) << name(kind) << ": one ring";
    EXPECT_EQ((chunks[{0, 2}]), 2 * share) << "the ring that is there twice";
    EXPECT_EQ((chunks[{3, 0}]), 3 * share) << "all";
    EXPECT_EQ((chunks[{1, 0}]), 0u);
  }
}

TEST(RingSet, OneRingInOrderIsTheRing) {
  for (const Collective kind : kRingSetKinds) {
    const Layout layout{.rings = {ring_in_order(5)}};
    const Rank root = has_root(kind) ? 3 : 0;
    const uint32_t chunks = 2 * default_chunks(*find("ring", kind), 5);
    EXPECT_EQ(plan_over(layout, kind, root, 2), *emit("ring", {kind, 5, root, chunks})) << name(kind);
  }
}

TEST(RingSet, SaysWhatIsWrongWithRings) {
  const auto said = [](const Rings& rings) {
    return emit("ring_set",
                {Collective::all_gather, 3, 0, static_cast<uint32_t>(std::max<size_t>(1, rings.size()))},
                {.rings = rings})
        .status()
        .message();
  };
  EXPECT_EQ(said({}), "ring_set all_gather: no rings: expected rings of a network or a graph file");
  EXPECT_EQ(said({{0, 1, 2}, {0, 1, 1}}),
            "ring_set all_gather: ring 1 is 0,1,1: expected each of 3 positions once");
  EXPECT_EQ(said({{0, 1}}), "ring_set all_gather: ring 0 is 0,1: expected each of 3 positions once");
  EXPECT_EQ(said(Rings(kMostRings + 1, {0, 1, 2})),
            "ring_set all_gather: 33 rings: expected at most 32 parallel rings");
}

}  // namespace
}  // namespace weir::algorithms
