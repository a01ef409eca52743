// SPDX-License-Identifier: Apache-2.0
// Text as bytes and as numbers of tokens.
#include "trainer/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::trainer {
namespace {

using ::testing::ElementsAre;

TEST(BytesAsTokens, AreThere) {
  const BytesAsTokens tokenizer;
  EXPECT_THAT(*tokenizer.encode(std::string("a\0\xff", 3)), ElementsAre('a', 0, 255));
  EXPECT_EQ(tokenizer.decode(std::vector<Token>{'a', 0, 255, 256}), std::string("a\0\xff", 3));
  EXPECT_EQ(tokenizer.vocabulary(), 256);
  EXPECT_EQ(tokenizer.separator(), Token{0});
}

TEST(TokenNumbers, AreReadAndWritten) {
  const TokenNumbers tokenizer(Token{50256});
  EXPECT_THAT(*tokenizer.encode(" 50256 7  0"), ElementsAre(50256, 7, 0));
  EXPECT_THAT(*tokenizer.encode(""), ElementsAre());
  EXPECT_EQ(tokenizer.decode(std::vector<Token>{50256, 7, 0}), "50256 7 0");
  EXPECT_EQ(tokenizer.separator(), Token{50256});
  for (const char* text : {"7 and", "7x", "-1", "5000000000"})
    EXPECT_EQ(tokenizer.encode(text).status().code(), Code::invalid_argument) << text;
  EXPECT_EQ(
      tokenizer.encode("7 And God").status().message(),
      "'And God' is no number of a token; expected such numbers with spaces between, since no --tokenizer "
      "was given");
}

}  // namespace
}  // namespace weir::trainer
