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
  elsewhere[15] ^= 1;
  EXPECT_EQ(changed_words(words, elsewhere),
            "seed (1, now 9), clip (1, now 0.5), order of sums, instruction set, or release of oneDNN");

  words[12] = 7;
  EXPECT_FALSE(config_in(words).has_value()) << "40 / 7";
  words[12] = 5;
  words.resize(16);
  EXPECT_TRUE(config_in(words).has_value()) << "a version without Llama's form";
  words.resize(10);
  EXPECT_FALSE(config_in(words).has_value()) << "an earlier version";
}

TEST(CheckpointWords, HaveTheShapeOfLlamas) {
  const auto text = Text::built_in();
  ASSERT_TRUE(text.ok());
  Settings settings;
  settings.config = {.name = "any",
                     .layers = 3,
                     .width = 48,
                     .heads = 6,
                     .length = 70,
                     .form = Form::llama,
                     .key_value_heads = 2,
                     .hidden = 100,
                     .epsilon = 1e-6f,
                     .rotary_base = 5e5f};
  std::vector<uint64_t> words = checkpoint_words(settings, *text);
  const auto config = config_in(words);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->form, Form::llama);
  EXPECT_EQ(config->key_value_heads, 2);
  EXPECT_EQ(config->hidden, 100);
  EXPECT_EQ(config->epsilon, 1e-6f);
  EXPECT_EQ(config->rotary_base, 5e5f);
  settings.config.epsilon = 1e-5f;
  settings.config.rotary_base = 1e4f;
  EXPECT_EQ(changed_words(words, checkpoint_words(settings, *text)),
            "epsilon of norms (1e-06, now 1e-05), base of the rotary embedding (500000, now 10000)");
  for (const auto& [word, value] : {std::pair<size_t, uint64_t>{16, 7}, {17, 4}, {17, 0}, {18, 0}, {19, 0}}) {
    std::vector<uint64_t> changed = words;
    changed[word] = value;
    EXPECT_FALSE(config_in(changed).has_value()) << word;
  }
}

}  // namespace
}  // namespace weir::trainer
