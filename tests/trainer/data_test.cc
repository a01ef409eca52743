// SPDX-License-Identifier: Apache-2.0
// The text and the samples drawn from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "trainer/data/baselines.h"
#include "trainer/data/samples.h"
#include "trainer/data/text.h"

namespace weir::trainer {
namespace {

using ::testing::HasSubstr;

TEST(Text, TheBuiltInOneIsTheBible) {
  const Result<Text> text = Text::built_in();
  ASSERT_TRUE(text.ok()) << text.status().message();
  const std::string all(text->bytes().begin(), text->bytes().end());
  EXPECT_EQ(all.size(), 4137850u);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 31102);  // its verses
  EXPECT_TRUE(all.starts_with("In the beginning God created the heaven and the earth.\n"));
  EXPECT_TRUE(all.ends_with("The grace of our Lord Jesus Christ be with you all. Amen.\n"));
  EXPECT_EQ(std::set<char>(all.begin(), all.end()).size(), 63u);
}

TEST(Text, TheLastTenthIsHeldOut) {
  const Text text(
      "test", std::vector<uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
  EXPECT_EQ(text.size(), 21);
  EXPECT_EQ(text.training_size(), 19);
  EXPECT_EQ(text.held_out_size(), 2);
  std::vector<Token> tokens(2);
  text.copy(text.training_size(), 2, tokens.data());
  EXPECT_THAT(tokens, ::testing::ElementsAre(19, 20));
}

TEST(Baselines, OfTheBibleAndOfTextsThatAreKnown) {
  const Result<Text> text = Text::built_in();
  ASSERT_TRUE(text.ok());
  EXPECT_NEAR(order_one_entropy(text->bytes()), 3.257, 5e-4);
  EXPECT_NEAR(*xz_bits(text->bytes().last(static_cast<size_t>(text->held_out_size()))), 2.171, 0.005)
      << "as the program xz has it";
  const std::vector<uint8_t> alternating = {0, 1, 0, 1, 0, 1, 0};
  EXPECT_EQ(order_one_entropy(alternating), 0);
  const std::vector<uint8_t> fair = {0, 0, 1, 1, 0};  // each byte follows each other one once
  EXPECT_EQ(order_one_entropy(fair), 1);
}

TEST(Text, AFileIsReadWhole) {
  const std::string path = ::testing::TempDir() + "/weir_text_" + std::to_string(getpid());
  const std::string expected = std::string(3000000, 'x') + std::string(1, '\0') + "end";
  std::ofstream(path, std::ios::binary) << expected;
  const Result<Text> text = Text::from_file(path);
  std::remove(path.c_str());
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), text->bytes().begin(), text->bytes().end(),
                         [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }));
}

TEST(Text, WhatCannotBeReadIsTold) {
  EXPECT_THAT(Text::from_file("/no/such/file").status().message(),
              HasSubstr("/no/such/file: the text cannot be opened"));
  EXPECT_THAT(Text::from_file("/").status().message(), HasSubstr("/: the text cannot be read"));
}

TEST(Text, ATextTooShortForTheModelIsTold) {
  const Text text("short.txt", std::vector<uint8_t>(659));
  EXPECT_TRUE(text.check_length(64).ok());
  EXPECT_THAT(text.check_length(65).message(), HasSubstr("short.txt: 659 bytes are too few"));
  EXPECT_THAT(text.check_length(65).message(), HasSubstr("needs 660 bytes"));
}

TEST(Samples, DependOnSeedStepAndNumberOnly) {
  const auto begins = [](uint64_t seed, Index step) {
    std::vector<Index> all;
    for (Index number = 0; number < 64; ++number)
      all.push_back(sample_begin(seed, step, number, 1000000, 128));
    return all;
  };
  EXPECT_EQ(begins(1, 7), begins(1, 7));
  EXPECT_NE(begins(1, 7), begins(1, 8));
  EXPECT_NE(begins(1, 7), begins(2, 7));
  std::vector<Index> sorted = begins(1, 7);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());  // no two alike among a million places
}

TEST(Samples, EveryPlaceIsDrawnAndNoneBeyondTheText) {
  // 10 bytes, sequences of 4 and the one after: they begin at 0 to 5.
  std::vector<int> times(6);
  for (Index step = 0; step < 6000; ++step) {
    const Index begin = sample_begin(1, step, 0, 10, 4);
    ASSERT_GE(begin, 0);
    ASSERT_LE(begin, 5);
    ++times[static_cast<size_t>(begin)];
  }
  for (const int count : times)
    EXPECT_NEAR(count, 1000, 5 * 29);  // five deviations of the binomial distribution
}

TEST(Text, TokensOfAnyWidthAndOfSeveralFilesAreCopied) {
  const std::vector<uint8_t> bytes{1, 0, 2, 0, 255, 255, 7, 0};
  const TokenShard narrow{nullptr, bytes, 2, 0, std::nullopt}, wide{nullptr, bytes, 4, 0, std::nullopt};
  const Text text("two", {narrow, wide, narrow});
  EXPECT_EQ(text.size(), 10);
  EXPECT_FALSE(text.is_bytes());
  const std::vector<Token> all{1, 2, 65535, 7, 0x20001, 0x7ffff, 1, 2, 65535, 7};
  for (Index begin = 0; begin <= 10; ++begin)
    for (Index count = 0; begin + count <= 10; ++count) {
      std::vector<Token> some(static_cast<size_t>(count) + 1, 99);
      text.copy(begin, count, some.data());
      EXPECT_TRUE(std::equal(all.begin() + begin, all.begin() + begin + count, some.begin()));
      EXPECT_EQ(some.back(), 99u);
    }
  EXPECT_TRUE(text.check_vocabulary(0x80000).ok());
  EXPECT_EQ(text.check_vocabulary(0x7ffff).message(),
            "two: token 5 is 524287; expected tokens below 524287, the size of the model's vocabulary");
  const Text encoded("encoded", std::vector<Token>{5, 1 << 20}, Token{5});
  std::vector<Token> copied(2);
  encoded.copy(0, 2, copied.data());
  EXPECT_THAT(copied, ::testing::ElementsAre(5, 1 << 20));
  EXPECT_EQ(encoded.separator(), Token{5});
}

TEST(Samples, EvaluationCoversTheTextWithoutOverlap) {
  // 21 bytes: five sequences of four, each with the token after it.
  EXPECT_EQ(evaluation_limit(21, 4), 5);
  EXPECT_EQ(evaluation_limit(20, 4), 4);
  std::vector<Index> all;
  std::vector<Index> some;
  for (Index number = 0; number < 5; ++number) all.push_back(evaluation_begin(number, 5, 21, 4));
  for (Index number = 0; number < 2; ++number) some.push_back(evaluation_begin(number, 2, 21, 4));
  EXPECT_THAT(all, ::testing::ElementsAre(0, 4, 8, 12, 16));
  EXPECT_THAT(some, ::testing::ElementsAre(0, 8));
}

}  // namespace
}  // namespace weir::trainer
