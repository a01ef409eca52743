// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/cpu_set.h"

#include <gtest/gtest.h>

namespace weir::topology {
namespace {

CpuSet list(const char* text) {
  CpuSet set;
  EXPECT_TRUE(CpuSet::parse_list(text, set)) << text;
  return set;
}

CpuSet words_of(const char* text) {
  CpuSet set;
  EXPECT_TRUE(CpuSet::parse_words(text, set)) << text;
  return set;
}

TEST(CpuSet, ListsAndWordsAreTheSame) {
  EXPECT_EQ(list("0-3,8").text(), "0000010f");
  EXPECT_EQ(list("32,64-95").text(), "ffffffff,00000001,00000000");
  EXPECT_EQ(words_of("0xffffffff,0x00000001,0x0"), list("32,64-95"));
  EXPECT_EQ(words_of("0x0000ffff,,,0x1"), list("0,96-111"));
  EXPECT_EQ(words_of("00000000,0000010f"), list("0-3,8"));
  EXPECT_EQ(words_of("0x0").text(), "00000000");
  EXPECT_TRUE(words_of("0x0").empty());
}

TEST(CpuSet, Intersections) {
  EXPECT_TRUE(list("0-40").intersects(list("40,70")));
  EXPECT_FALSE(list("0-39").intersects(list("40,70")));
  EXPECT_FALSE(words_of("0x0").intersects(list("0")));
  const CpuSet unbounded = words_of("0xf...f,0x0");
  EXPECT_TRUE(unbounded.all_above());
  EXPECT_FALSE(unbounded.empty());
  EXPECT_TRUE(unbounded.intersects(list("32")));
  EXPECT_TRUE(list("32").intersects(unbounded));
  EXPECT_FALSE(unbounded.intersects(list("31")));
  EXPECT_TRUE(words_of("0xf...f").intersects(list("0")));
}

TEST(CpuSet, WhatIsNoSet) {
  CpuSet set = list("7");
  for (const char* bad : {"", ",", "1,", "3-1", "-1", "a", "1-", "65536", "0-99999999999", "1 2"})
    EXPECT_FALSE(CpuSet::parse_list(bad, set)) << bad;
  for (const char* bad : {"", "0x", "0x123456789", "g", "0xf...f0x1", "0x1;0x2"})
    EXPECT_FALSE(CpuSet::parse_words(bad, set)) << bad;
  EXPECT_FALSE(CpuSet::parse_words(std::string(3000, ','), set));
  EXPECT_EQ(set, list("7"));
}

}  // namespace
}  // namespace weir::topology
