// SPDX-License-Identifier: Apache-2.0

#include "src/base/spelling.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace weir {
namespace {

std::string_view nearest(std::string_view word, std::initializer_list<std::string_view> words) {
  Nearest nearest(word);
  for (const std::string_view candidate : words) nearest.consider(candidate);
  return nearest.found();
}

TEST(Spelling, CountsEdits) {
  EXPECT_EQ(edits("", ""), 0u);
  EXPECT_EQ(edits("", "abc"), 3u);
  EXPECT_EQ(edits("abc", ""), 3u);
  EXPECT_EQ(edits("slots", "slot"), 1u);
  EXPECT_EQ(edits("slots", "shots"), 1u);
  EXPECT_EQ(edits("DEUBG", "DEBUG"), 1u) << "neighbours that changed places";
  EXPECT_EQ(edits("kitten", "sitting"), 3u);
}

TEST(Spelling, TheNearestWordThatIsNear) {
  EXPECT_EQ(nearest("NCCL_DEUBG", {"NCCL_ALGO", "NCCL_DEBUG", "NCCL_DEBUG_FILE"}), "NCCL_DEBUG");
  EXPECT_EQ(nearest("WEIR_SLOT", {"WEIR_SLOTS", "WEIR_SPIN"}), "WEIR_SLOTS");
  EXPECT_EQ(nearest("NCCL_QQQQQQ", {"NCCL_DEBUG", "NCCL_ALGO"}), "");
  EXPECT_EQ(nearest("NCCL_ALGO", {"NCCL_ALGO"}), "") << "the word itself";
  EXPECT_EQ(nearest("", {"NCCL_ALGO"}), "");
}

}  // namespace
}  // namespace weir
