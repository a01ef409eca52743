// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/symbolic.h"

#include <gtest/gtest.h>

namespace weir::ir {
namespace {

TEST(RankSets, JoinsAndCompares) {
  RankSets sets(130);
  SetId sum = sets.single(0);
  for (Rank r = 1; r < 130; ++r) {
    EXPECT_TRUE(sets.disjoint(sum, sets.single(r)));
    EXPECT_EQ(sets.common(sum, sets.single(r)), -1);
    sum = sets.join(sum, sets.single(r));
    EXPECT_FALSE(sets.disjoint(sum, sets.single(r)));
    EXPECT_EQ(sets.common(sum, sets.single(r)), r);
    EXPECT_EQ(sets.missing(sets.all(), sum), r == 129 ? -1 : r + 1);
  }
  EXPECT_TRUE(sets.equal(sum, sets.all()));
  EXPECT_FALSE(sets.equal(sets.single(129), sets.all()));
}

TEST(RankSets, FingerprintsTellWhatIsSummed) {
  RankSets sets(130, RankSetKind::fingerprints);
  SetId sum = sets.single(129);
  for (Rank r = 128; r >= 0; --r) {
    EXPECT_FALSE(sets.equal(sum, sets.all()));
    sum = sets.join(sum, sets.single(r));
  }
  EXPECT_TRUE(sets.equal(sum, sets.all())) << "in any order";
  EXPECT_FALSE(sets.equal(sets.join(sum, sets.single(0)), sets.all())) << "a share that counts twice";
  EXPECT_EQ(sets.describe(sets.single(5)), "rank 5");
  EXPECT_EQ(sets.describe(sum), "all ranks");
}

TEST(RankSets, AreDescribedAsRuns) {
  RankSets sets(70);
  const SetId some =
      sets.join(sets.join(sets.single(0), sets.single(1)), sets.join(sets.single(64), sets.single(69)));
  EXPECT_EQ(sets.describe(some), "ranks 0-1, 64, 69");
  EXPECT_EQ(sets.describe(sets.single(5)), "rank 5");
  EXPECT_EQ(sets.describe(sets.all()), "ranks 0-69");
}

TEST(Symbols, KnowWhatCollectivesMean) {
  const auto expected = [](Collective kind, Rank rank, uint32_t index) {
    const Symbols symbols({kind, 4, has_root(kind) ? 2 : 0, 3});
    return symbols.describe(symbols.expected(rank, index));
  };
  EXPECT_EQ(expected(Collective::all_reduce, 1, 2), "chunk 2 of ranks 0-3");
  EXPECT_EQ(expected(Collective::reduce, 2, 1), "chunk 1 of ranks 0-3");
  EXPECT_EQ(expected(Collective::broadcast, 1, 1), "chunk 1 of rank 2");
  EXPECT_EQ(expected(Collective::all_gather, 1, 10), "chunk 1 of rank 3");
  EXPECT_EQ(expected(Collective::gather, 2, 4), "chunk 1 of rank 1");
  EXPECT_EQ(expected(Collective::reduce_scatter, 3, 2), "chunk 11 of ranks 0-3");
  EXPECT_EQ(expected(Collective::all_to_all, 1, 6), "chunk 3 of rank 2");
  EXPECT_EQ(expected(Collective::scatter, 3, 0), "chunk 9 of rank 2");
}

TEST(MemoryMap, PutsTheSmallerBufferIntoTheLargerOneInPlace) {
  const auto at = [](const MemoryMap& map, Rank rank, Operand::Kind kind) {
    return map.place(rank, {kind, 0});
  };
  using Kind = Operand::Kind;
  for (Rank rank : {0, 1, 2}) {
    const MemoryMap gather({Collective::all_gather, 3, 0, 2}, 1, Placement::in_place);
    EXPECT_EQ(at(gather, rank, Kind::input), at(gather, rank, Kind::output) + 2 * static_cast<size_t>(rank));
    const MemoryMap scatter({Collective::reduce_scatter, 3, 0, 2}, 1, Placement::in_place);
    EXPECT_EQ(at(scatter, rank, Kind::output),
              at(scatter, rank, Kind::input) + 2 * static_cast<size_t>(rank));
    const MemoryMap reduce({Collective::all_reduce, 3, 0, 2}, 1, Placement::in_place);
    EXPECT_EQ(at(reduce, rank, Kind::output), at(reduce, rank, Kind::input));
    EXPECT_EQ(reduce.size(), 9u);
  }
  const MemoryMap apart({Collective::all_reduce, 3, 0, 2}, 1, Placement::apart);
  EXPECT_EQ(apart.size(), 15u);
  EXPECT_EQ(apart.chunks(2, Kind::scratch), 1u);
}

}  // namespace
}  // namespace weir::ir
