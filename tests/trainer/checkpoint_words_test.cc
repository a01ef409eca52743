// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/checkpoint_words.h"

#include <gtest/gtest.h>

namespace weir::trainer {
namespace {

TEST(CheckpointWords, HaveTheShapeOfTheModel) {
  const auto text = Text::built_in();
  ASSERT_TRUE(text.ok());
  Settings settings;
  settings.config = {.name = "any", .layers = 3, .width = 40, .heads = 5, .length = 70};
  std::vector<uint64_t> words = checkpoint_words(settings, *text);
  const auto config = config_in(words);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->layers, 3);
  EXPECT_EQ(config->width, 40);
  EXPECT_EQ(config->heads, 5);
  EXPECT_EQ(config->length, 70);

  settings.config.layers = 4;
  EXPECT_EQ(changed_words(words, checkpoint_words(settings, *text)), "")
      << "other units are refused elsewhere";
  settings.seed = 9;
  settings.clip = 0.5f;
  EXPECT_EQ(changed_words(words, checkpoint_words(settings, *text)), "seed (1, now 9), clip (1, now 0.5)");

  settings.canonical = true;
  std::vector<uint64_t> elsewhere = checkpoint_words(settings, *text);
  elsewhere.back() ^= 1;
  EXPECT_EQ(changed_words(words, elsewhere),
            "seed (1, now 9), clip (1, now 0.5), order of sums, instruction set, or release of oneDNN");

  words[12] = 7;
  EXPECT_FALSE(config_in(words).has_value()) << "40 / 7";
  words.resize(10);
  EXPECT_FALSE(config_in(words).has_value()) << "an earlier version";
}

}  // namespace
}  // namespace weir::trainer
