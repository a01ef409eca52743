// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/checkpoint_words.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

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
  EXPECT_EQ(*compare_words(words, checkpoint_words(settings, *text), {}), "")
      << "other units are refused elsewhere";

  words[12] = 7;
  EXPECT_FALSE(config_in(words).has_value()) << "40 / 7";
  words[12] = 5;
  words.resize(16);
  EXPECT_TRUE(config_in(words).has_value()) << "a version without Llama's form";
  words.resize(10);
  EXPECT_FALSE(config_in(words).has_value()) << "an earlier version";
}

TEST(CheckpointWords, MayDifferWhereThatIsUsualOrAllowed) {
  const Text text("a", std::vector<uint8_t>(1000, 1)), other("b", std::vector<uint8_t>(1000, 2)),
      longer("c", std::vector<uint8_t>(2000, 1));
  Settings settings;
  const std::vector<uint64_t> words = checkpoint_words(settings, text);
  const auto compare = [&](const Text& now, std::vector<std::string> allowed) {
    return compare_words(words, checkpoint_words(settings, now), allowed);
  };
  EXPECT_EQ(*compare(text, {}), "");
  settings.micro_batch = 3;
  settings.sharding.strategy = shard::Strategy::no_shard;
  settings.recompute = Recompute::full;
  settings.checkpoint_every = 7;
  EXPECT_EQ(*compare(text, {}), "") << "results do not depend on these";
  settings.steps = 400;
  EXPECT_EQ(*compare(text, {}), "steps (300, now 400)");
  settings.seed = 9;
  settings.clip = 0.5f;
  EXPECT_EQ(compare(text, {}).status().message(),
            "with another --seed (1, now 9), --clip (1, now 0.5); expected the same, or --allow-changes "
            "seed,clip if the change is intended");
  EXPECT_EQ(compare(text, {"seed"}).status().message(),
            "with another --clip (1, now 0.5); expected the same, or --allow-changes clip if the change is "
            "intended");
  EXPECT_EQ(*compare(text, {"clip", "seed"}), "--seed (1, now 9), steps (300, now 400), --clip (1, now 0.5)");
  settings = {};
  settings.precision = Precision::bf16;
  settings.canonical = true;
  settings.sharding.reduce = shard::Precision::bfloat16;
  EXPECT_EQ(*compare(text, {"precision", "deterministic", "reduce"}),
            "--precision (fp32, now bf16), --deterministic (run, now canonical), --reduce");
  settings = {};
  for (const Text& changed : {other, longer}) {
    EXPECT_EQ(compare(changed, {}).status().message(),
              "with another --data; expected the same, or --allow-changes data if the change is intended");
    EXPECT_EQ(*compare(changed, {"data"}), "--data");
  }
  settings.tokenizer_files = std::make_shared<const TokenizerFiles>(TokenizerFiles{{"a", "b"}});
  std::vector<uint64_t> with_tokenizer = checkpoint_words(settings, text);
  EXPECT_EQ(*compare_words(words, with_tokenizer, {}), "") << "which only shows the tokens";
  ++with_tokenizer[23];
  EXPECT_EQ(compare_words(with_tokenizer, checkpoint_words(settings, text), changeable_options())
                .status()
                .message(),
            "with another tokenizer; expected the same");
  settings = {};
  std::vector<uint64_t> elsewhere = checkpoint_words(settings, text);
  elsewhere[15] ^= 1;
  EXPECT_EQ(*compare_words(words, elsewhere, {}), "code of matrix products");
  const auto earlier = std::span<const uint64_t>(words).first(3);
  EXPECT_EQ(*compare_words(earlier, elsewhere, {}), "");
  settings.optimizer = Optimizer::muon;
  for (const auto& before : {std::span<const uint64_t>(words), earlier})
    EXPECT_EQ(
        compare_words(before, checkpoint_words(settings, text), changeable_options()).status().message(),
        "with another optimizer (adamw, now muon); expected the same");
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
                     .rotary_base = 5e5f,
                     .rotary_scaling = {8192, 8, 1, 4}};
  std::vector<uint64_t> words = checkpoint_words(settings, *text);
  const auto config = config_in(words);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->form, Form::llama);
  EXPECT_EQ(config->key_value_heads, 2);
  EXPECT_EQ(config->hidden, 100);
  EXPECT_EQ(config->epsilon, 1e-6f);
  EXPECT_EQ(config->rotary_base, 5e5f);
  EXPECT_EQ(config->rotary_scaling, settings.config.rotary_scaling);
  settings.config.epsilon = 1e-5f;
  settings.config.rotary_base = 1e4f;
  settings.config.rotary_scaling = {};
  const std::vector<std::string> all = changeable_options();
  EXPECT_EQ(compare_words(words, checkpoint_words(settings, *text), all).status().message(),
            "with another epsilon of the model's norms (1e-06, now 1e-05), base of the rotary embedding "
            "(500000, now 10000), scaling of the rotary embedding; expected the same");
  for (const auto& [word, value] :
       {std::pair<size_t, uint64_t>{16, 7}, {17, 4}, {17, 0}, {18, 0}, {19, 0}, {31, 0}, {32, 0}, {33, 0}}) {
    std::vector<uint64_t> changed = words;
    changed[word] = value;
    EXPECT_FALSE(config_in(changed).has_value()) << word;
  }
}

}  // namespace
}  // namespace weir::trainer
