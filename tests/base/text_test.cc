// SPDX-License-Identifier: Apache-2.0

#include "src/base/text.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace weir {
namespace {

TEST(Words, HaveThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(bytes_words(0), "0 B");
  EXPECT_EQ(bytes_words(1024), "1.02 kB");
  EXPECT_EQ(bytes_words(999.4), "999 B");
  EXPECT_EQ(bytes_words(999.6), "1 kB") << "not 1e+03 B";
  EXPECT_EQ(bytes_words(1.5e15), "1.5e+03 TB");
  EXPECT_EQ(seconds_words(0), "0 us");
  EXPECT_EQ(seconds_words(3.2e-6), "3.2 us");
  EXPECT_EQ(seconds_words(0.00099996), "1 ms");
  EXPECT_EQ(seconds_words(90), "90 s");
}

TEST(Text, OfAFileIsAllOfIt) {
  const auto status = file_text("/proc/self/status");
  ASSERT_TRUE(status.has_value());
  EXPECT_NE(status->find("\nPid:\t" + std::to_string(getpid()) + "\n"), std::string::npos);
  EXPECT_EQ(file_text("/dev/null"), "");
  EXPECT_EQ(file_text("/nowhere/file"), std::nullopt);
}

TEST(Text, ListsAreSplit) {
  using List = std::vector<std::string_view>;
  EXPECT_EQ(split_list("a,bc,d"), (List{"a", "bc", "d"}));
  EXPECT_EQ(split_list(",a,,b,"), (List{"a", "b"}));
  EXPECT_EQ(split_list(""), List{});
  EXPECT_TRUE(equals_ignoring_case("InFo", "iNfO"));
  EXPECT_FALSE(equals_ignoring_case("info", "info "));
}

}  // namespace
}  // namespace weir
