// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/plan_times.h"

#include <gtest/gtest.h>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/direct.h"

namespace weir::core {
namespace {

/// Four GPUs in a square of links of `gb_per_s`.
algorithms::Network square(int64_t gb_per_s) {
  algorithms::Network network;
  network.nodes = 4;
  network.rank_nodes = {0, 1, 2, 3};
  for (int32_t gpu = 0; gpu < 4; ++gpu) {
    for (const int32_t next : {(gpu + 1) % 4, (gpu + 3) % 4})
      network.edges.push_back({gpu, next, gb_per_s * 1'000'000});
  }
  return network;
}

ir::Plan plan_of(std::string_view name, Collective kind) {
  const auto* const entry = algorithms::find(name, kind);
  return *algorithms::emit(name, {kind, 4, 0, algorithms::default_chunks(*entry, 4)});
}

constexpr size_t kBytes = size_t{64} << 20;

TEST(PlanTimes, OfLinksIsThatOfTheMostLoaded) {
  const PlanTimes times(square(10));
  const auto ring = times.of_links(plan_of("ring", Collective::all_reduce), kBytes);
  ASSERT_TRUE(ring.ok()) << ring.status().message();
  EXPECT_NEAR(*ring, 1.5 * kBytes / 10e9, 1e-9);
  const auto gather = times.of_links(plan_of("ring", Collective::all_gather), kBytes);
  ASSERT_TRUE(gather.ok());
  EXPECT_NEAR(*gather, 3.0 * kBytes / 10e9, 1e-9) << "bytes are those of a block";
  const auto direct = times.of_links(algorithms::direct(Collective::all_gather, 4, 0), kBytes);
  ASSERT_TRUE(direct.ok());
  // Each GPU reads three blocks by two links, of which one comes from the other corner, over one of them.
  EXPECT_NEAR(*direct, 2.0 * kBytes / 10e9, 1e-9);
}

TEST(PlanTimes, OfMessagesHasAFixedCostPerMessage) {
  const PlanTimes times(square(10));
  const ir::Plan ring = plan_of("ring", Collective::all_reduce);
  const auto small = times.of_messages(ring, 1024, size_t{256} << 10);
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_NEAR(*small, 6 * 2e-6, 1e-6) << "six hops, one after the other";
  const auto large = times.of_messages(ring, kBytes, size_t{1} << 20);
  ASSERT_TRUE(large.ok());
  EXPECT_GT(*large, 1.5 * kBytes / 10e9);
  EXPECT_LT(*large, 1.1 * 1.5 * kBytes / 10e9);
}

TEST(PlanTimes, OfOtherNumbersOfRanksAreRefused) {
  const PlanTimes times(square(10));
  const ir::Plan three = *algorithms::emit("ring", {Collective::all_gather, 3, 0, 2});
  EXPECT_FALSE(times.of_messages(three, 1024, 1024).ok());
  EXPECT_FALSE(times.of_links(three, 1024).ok());
}

}  // namespace
}  // namespace weir::core
