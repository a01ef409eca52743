// SPDX-License-Identifier: Apache-2.0

#include "src/base/printable.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Printable, KeepsOrdinaryText) {
  EXPECT_EQ(printable("python train.py --lr=1e-3"), "python train.py --lr=1e-3");
  EXPECT_EQ(printable("Z\u00fcrich \u2192 \u6771\u4eac \U0001f680"),
            "Z\u00fcrich \u2192 \u6771\u4eac \U0001f680");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ShowsControlCharactersAsNumbers) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(printable("a\nb\tc\rd\x7f"), "a\\x0ab\\x09c\\x0dd\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Printable, ShowsControlsOfUnicodeAsNumbers) {
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "the control sequence introducer of C1";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "writing from right to left";
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8") << "a separator of lines";
}

TEST(Printable, ShowsBytesThatAreNoUtf8AsNumbers) {
  EXPECT_EQ(printable("\x9b[2J"), "\\x9b[2J");
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut off";
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "a control in two bytes too many";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
}

TEST(Printable, IsBoundedAndCutsNoCharacter) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abc...");
  EXPECT_EQ(printable("ab\u6771c", 6), "ab\u6771c");
  EXPECT_EQ(printable("ab\u6771cd", 6), "ab...");
  EXPECT_EQ(printable("abc\x1b", 6), "abc...");
  EXPECT_EQ(printable("abc", 2), "..");
}

}  // namespace
}  // namespace weir
