// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/host_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "tests/trainer/toy.h"

namespace weir::trainer {
namespace {

using shard::toy::with_ranks;
using ::testing::ElementsAre;

TextSource text_of(std::atomic<int>& count, std::vector<Token> tokens) {
  return {"a text", Token{7}, [&count, tokens]() -> Result<std::vector<Token>> {
            ++count;
            return tokens;
          }};
}

void expect_tokens(const std::optional<Text>& text) {
  ASSERT_TRUE(text.has_value());
  std::vector<Token> tokens(static_cast<size_t>(text->size()));
  text->copy(0, text->size(), tokens.data());
  EXPECT_THAT(tokens, ElementsAre(7, 100000, 3));
  EXPECT_EQ(text->name(), "a text");
  EXPECT_EQ(text->separator(), Token{7});
}

TEST(HostText, IsEncodedByOneRank) {
  for (const int ranks : {1, 2, 4}) {
    std::atomic<int> count = 0;
    with_ranks(ranks, [&](int, ncclComm_t comm) {
      const auto text = text_of_host(comm, text_of(count, {7, 100000, 3}));
      ASSERT_TRUE(text.ok()) << text.status().message();
      expect_tokens(*text);
    });
    EXPECT_EQ(count, 1);
  }
}

TEST(HostText, IsEncodedByEachRankIfSomeHaveNone) {
  std::atomic<int> count = 0;
  with_ranks(3, [&](int rank, ncclComm_t comm) {
    const auto text =
        text_of_host(comm, rank == 0 ? std::nullopt : std::optional(text_of(count, {7, 100000, 3})));
    ASSERT_TRUE(text.ok()) << text.status().message();
    if (rank == 0)
      EXPECT_FALSE(text->has_value());
    else
      expect_tokens(*text);
  });
  EXPECT_EQ(count, 2);
}

TEST(HostText, ErrorsAreThoseOfAllRanks) {
  with_ranks(2, [&](int, ncclComm_t comm) {
    const TextSource fails{"a text", std::nullopt, []() -> Result<std::vector<Token>> {
                             return Status(Code::invalid_argument, "the text is damaged");
                           }};
    const auto text = text_of_host(comm, fails);
    EXPECT_EQ(text.status().code(), Code::invalid_argument);
    EXPECT_EQ(text.status().message(), "rank 0: the text is damaged");
  });
}

TEST(HostText, EmptyTextIsShared) {
  std::atomic<int> count = 0;
  with_ranks(2, [&](int, ncclComm_t comm) {
    const auto text = text_of_host(comm, text_of(count, {}));
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ((*text)->size(), 0);
  });
}

}  // namespace
}  // namespace weir::trainer
