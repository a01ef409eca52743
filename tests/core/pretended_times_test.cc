// SPDX-License-Identifier: Apache-2.0

#include "src/core/pretended/pretended_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/sim/simulate.h"

namespace weir::core {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t kTotalBytes = size_t{64} << 20;

std::unique_ptr<PretendedTimes> times_of(const char* machine, std::vector<int> places) {
  auto cluster = PretendedCluster::read(machine);
  EXPECT_TRUE(cluster.ok()) << cluster.status().message();
  auto times =
      PretendedTimes::make(std::make_shared<const PretendedCluster>(std::move(*cluster)), std::move(places));
  EXPECT_TRUE(times.ok()) << times.status().message();
  return std::move(*times);
}

std::unique_ptr<PretendedTimes> times_of_two_hosts() {
  return times_of("2 x (2 gpu nvswitch 450, 1 nic 10) leaf", {0, 1, 2, 3});
}

TEST(PretendedTimes, AreThoseThatTheLinksAllow) {
  const auto times = times_of_two_hosts();
  const auto all_reduce = times->of_collective(Collective::all_reduce, 0, kTotalBytes, nullptr);
  ASSERT_TRUE(all_reduce.ok()) << all_reduce.status().message();
  // Both hosts send each byte once: half of the sums, then the other half of the result.
  const double least = kTotalBytes / 10e9;
  EXPECT_GE(*all_reduce, least);
  EXPECT_LE(*all_reduce, 1.2 * least);
  const auto all_gather = times->of_collective(Collective::all_gather, 0, kTotalBytes / 4, nullptr);
  ASSERT_TRUE(all_gather.ok());
  EXPECT_GE(*all_gather, least / 2) << "the bytes are those of a block";
  EXPECT_LE(*all_gather, 1.2 * least / 2);
}

TEST(PretendedTimes, OfAPlanThatIsAskedForAreItsOwn) {
  const auto times = times_of_two_hosts();
  const auto* const entry = algorithms::find("one_shot", Collective::all_reduce);
  const ir::LoadedPlan asked = ir::loaded(
      "own",
      *algorithms::emit("one_shot", {Collective::all_reduce, 4, 0, algorithms::default_chunks(*entry, 4)}));
  const auto own = times->of_collective(Collective::all_reduce, 0, kTotalBytes, &asked);
  const auto best = times->of_collective(Collective::all_reduce, 0, kTotalBytes, nullptr);
  ASSERT_TRUE(own.ok() && best.ok());
  EXPECT_GE(*own, 3.9 * kTotalBytes / 10e9) << "each of two ranks sends to both of the other host";
  EXPECT_LT(*best, *own);
}

TEST(PretendedTimes, OfMessagesAreThoseOfTheirPaths) {
  const auto times = times_of_two_hosts();
  const auto near = times->of_message(0, 1, kTotalBytes);
  const auto far = times->of_message(0, 2, kTotalBytes);
  ASSERT_TRUE(near.ok() && far.ok()) << near.status().message() << far.status().message();
  EXPECT_NEAR(*near, kTotalBytes / 450e9, 0.2 * kTotalBytes / 450e9);
  EXPECT_NEAR(*far, kTotalBytes / 10e9, 0.1 * kTotalBytes / 10e9);
  EXPECT_EQ(*times->of_message(2, 0, kTotalBytes), *far);
  EXPECT_EQ(*times->of_message(1, 1, kTotalBytes), 0);
}

TEST(PretendedTimes, NothingTakesNoTime) {
  EXPECT_EQ(*times_of_two_hosts()->of_collective(Collective::broadcast, 1, 0, nullptr), 0);
  EXPECT_EQ(
      *times_of("(8 gpu nvswitch 450)", {3})->of_collective(Collective::all_reduce, 0, kTotalBytes, nullptr),
      0);
}

TEST(PretendedTimes, RanksThatCannotReachEachOtherAreRefused) {
  auto cluster = PretendedCluster::read("2 x (1 gpu, 1 nic 10)");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const auto times =
      PretendedTimes::make(std::make_shared<const PretendedCluster>(std::move(*cluster)), {0, 1});
  EXPECT_EQ(times.status().code(), Code::invalid_argument);
  EXPECT_THAT(times.status().message(), StartsWith("WEIR_PRETEND: "));
}

}  // namespace
}  // namespace weir::core
