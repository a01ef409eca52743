// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> expand(const std::string& text) {
  size_t budget = kMostNames;
  auto names = expand_hostlist(text, budget);
  EXPECT_TRUE(names.ok()) << text << ": " << names.status().message();
  return names.ok() ? *names : std::vector<std::string>();
}

std::string hostlist_complaint(const std::string& text, size_t budget = 1000) {
  auto names = expand_hostlist(text, budget);
  EXPECT_FALSE(names.ok()) << text;
  return names.status().message();
}

TEST(Hostlist, Expands) {
  EXPECT_THAT(expand("login"), ElementsAre("login"));
  EXPECT_THAT(expand("srv[1101-1103,1110]"), ElementsAre("srv1101", "srv1102", "srv1103", "srv1110"));
  EXPECT_THAT(expand("n[08-11],m"), ElementsAre("n08", "n09", "n10", "n11", "m"));
  EXPECT_THAT(expand("n[98-101]-ib"), ElementsAre("n98-ib", "n99-ib", "n100-ib", "n101-ib"));
  EXPECT_THAT(expand("r[1-2]n[0-1]"), ElementsAre("r1n0", "r1n1", "r2n0", "r2n1"));
  EXPECT_THAT(expand("[3-4]"), ElementsAre("3", "4"));
  EXPECT_THAT(expand(R"("a, [b] \"c\" \\",d)"), ElementsAre(R"(a, [b] "c" \)", "d"));
}

TEST(Hostlist, RefusesWithASentence) {
  EXPECT_THAT(hostlist_complaint(""), HasSubstr("empty name"));
  EXPECT_THAT(hostlist_complaint("a,,b"), HasSubstr("empty name"));
  EXPECT_THAT(hostlist_complaint("a,"), HasSubstr("empty name"));
  EXPECT_THAT(hostlist_complaint("a[1-2"), HasSubstr("'[' without its ']'"));
  EXPECT_THAT(hostlist_complaint("a1-2]"), HasSubstr("characters that are not allowed in names"));
  EXPECT_THAT(hostlist_complaint("a[]"), HasSubstr("expected numbers and ranges"));
  EXPECT_THAT(hostlist_complaint("a[1-b]"), HasSubstr("expected numbers and ranges"));
  EXPECT_THAT(hostlist_complaint("a[-1]"), HasSubstr("expected numbers and ranges"));
  EXPECT_THAT(hostlist_complaint("a[1--2]"), HasSubstr("expected numbers and ranges"));
  EXPECT_THAT(hostlist_complaint("a[[1]]"), HasSubstr("expected numbers and ranges"));
  EXPECT_THAT(hostlist_complaint("a[4-2]"), HasSubstr("is descending"));
  EXPECT_THAT(hostlist_complaint("a[1-010]"), HasSubstr("leading zeros"));
  EXPECT_THAT(hostlist_complaint("a[1-9999999999999999]"), HasSubstr("expected numbers"));
  EXPECT_THAT(hostlist_complaint("a b"), HasSubstr("characters that are not allowed in names"));
  EXPECT_THAT(hostlist_complaint("n\xc3\xbc"), HasSubstr("characters that are not allowed in names"));
  EXPECT_THAT(hostlist_complaint("\"a"), HasSubstr("quotation mark is missing"));
  EXPECT_THAT(hostlist_complaint("\"a\\"), HasSubstr("quotation mark is missing"));
  EXPECT_THAT(hostlist_complaint("\"\""), HasSubstr("is not a valid name"));
  EXPECT_THAT(hostlist_complaint("\"a\"b"), HasSubstr("expected ','"));
  EXPECT_THAT(hostlist_complaint(std::string(300, 'a')), HasSubstr("longer than 255"));
}

TEST(Hostlist, IsBounded) {
  EXPECT_THAT(hostlist_complaint("a[1-1001]"), HasSubstr("too long"));
  EXPECT_THAT(hostlist_complaint("a[0-999999999999999]"), HasSubstr("too long"));
  EXPECT_THAT(hostlist_complaint("a[1-100][1-100]"), HasSubstr("lists more than"));
  EXPECT_THAT(hostlist_complaint("a[1-600],b[1-600]"), HasSubstr("too long"));
  std::string many = "a";
  for (int i = 0; i < 200; ++i) many += "[1-9]";
  EXPECT_THAT(hostlist_complaint(many), HasSubstr("lists more than"));
  size_t budget = 10;
  EXPECT_TRUE(expand_hostlist("a[1-4]", budget).ok());
  EXPECT_EQ(budget, 6u);
}

TEST(Hostlist, CompressesInOrder) {
  EXPECT_EQ(compress_hostlist({}), "");
  EXPECT_EQ(compress_hostlist({"a"}), "a");
  EXPECT_EQ(compress_hostlist({"srv1101", "srv1102", "srv1103", "srv1110"}), "srv[1101-1103,1110]");
  EXPECT_EQ(compress_hostlist({"n08", "n09", "n10", "m", "n1"}), "n[08-10],m,n1");
  EXPECT_EQ(compress_hostlist({"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(compress_hostlist({"n3", "n1"}), "n[3,1]");
  EXPECT_EQ(compress_hostlist({"r1-ib0", "r2-ib0", "r2-ib1"}), "r[1-2]-ib0,r2-ib1");
  EXPECT_EQ(compress_hostlist({"1", "2"}), "[1-2]");
  EXPECT_EQ(compress_hostlist({"a b", "a \"c\""}), "\"a b\",\"a \\\"c\\\"\"");
}

TEST(Hostlist, CompressedIsTheSameExpanded) {
  const std::vector<std::vector<std::string>> lists = {
      {"n1", "n1", "n2"},
      {"n09", "n10", "n011", "n012", "n99", "n100", "n0100"},
      {"a0b0", "a0b1", "a1b1", "a1b2", "a"},
      {"n999999999999999", "n1000000000000000", "n1000000000000001"},
      {"0", "1", "01", "2", "-", "x,y", "x[1]", "\\", "\"", "#", "="},
      {"n", "n1", "n", "1n", "2n"},
  };
  for (const auto& list : lists) EXPECT_EQ(expand(compress_hostlist(list)), list) << compress_hostlist(list);
}

}  // namespace
}  // namespace weir::topology
