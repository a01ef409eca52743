// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/rank_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

RankSettings set(std::map<std::string, std::string> changed) {
  return RankSettings{.changed = std::move(changed)};
}

TEST(RankSettings, TellWhatWasChanged) {
  Options options;
  options.slots = 8;
  options.algorithm = "ring";
  options.spins = 7;  // a rank may wait as it likes
  const RankSettings settings = RankSettings::of(options);
  EXPECT_THAT(settings.changed, ElementsAre(Pair("WEIR_ALGO", "ring"), Pair("WEIR_SLOTS", "8")));
  EXPECT_EQ(settings.value("WEIR_SLOT_BYTES"), "0");
  EXPECT_THAT(RankSettings::of(Options()).changed, IsEmpty());
}

TEST(RankSettings, AreTheSameOrTheErrorHasTheirRanks) {
  EXPECT_TRUE(check_same(std::vector{set({}), set({}), set({})}).ok());
  EXPECT_TRUE(check_same(std::vector{set({{"WEIR_SLOTS", "8"}}), set({{"WEIR_SLOTS", "8"}})}).ok());
  const Status two = check_same(std::vector{set({}), set({{"WEIR_SLOTS", "8"}}), set({})});
  EXPECT_EQ(two.code(), Code::invalid_usage);
  EXPECT_EQ(two.message(),
            "WEIR_SLOTS is 4 on ranks 0 and 2, 8 on rank 1; expected the same value on all ranks of a "
            "communicator");
  std::vector<RankSettings> many(64);
  many[3] = set({{"WEIR_CHECK", "0"}});
  EXPECT_EQ(check_same(many).message(),
            "WEIR_CHECK is 1 on ranks 0, 1, 2, 4 and 59 more, 0 on rank 3; expected the same value on all "
            "ranks of a "
            "communicator");
}

TEST(RankSettings, ThoseOfRankZeroApplyAndTheOthersAreNamed) {
  EXPECT_THAT(overruled(std::vector{set({{"WEIR_ALGO", "ring"}}), set({{"WEIR_ALGO", "ring"}}), set({})}),
              IsEmpty());
  EXPECT_THAT(
      overruled(std::vector{set({}), set({{"WEIR_ALGO", "ring"}}), set({{"WEIR_ALGO", "ring"}})}),
      ElementsAre("WEIR_ALGO=ring on ranks 1 and 2 has no effect: the value of rank 0 applies to all ranks, "
                  "and there it is not set"));
  EXPECT_TRUE(check_same(std::vector{set({}), set({{"WEIR_ALGO", "ring"}})}).ok());
}

TEST(RankSettings, FilesMayHaveAnotherPathOnEachHost) {
  const auto file = [](const char* path) { return set({{"WEIR_COST_FILE", path}}); };
  EXPECT_THAT(overruled(std::vector{file("/a"), file("/b"), set({})}), IsEmpty());
  EXPECT_THAT(
      overruled(std::vector{set({}), file("/b")}),
      ElementsAre("WEIR_COST_FILE=/b on rank 1 has no effect: the value of rank 0 applies to all ranks, and "
                  "there it is not set"));
}

}  // namespace
}  // namespace weir::core
