// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/formats/link_speed.h"
#include "topology/formats/listing.h"

namespace weir::topology {
namespace {

using ::testing::HasSubstr;

TEST(Levels, CountFromTheNearestLeaf) {
  Graph graph;
  std::vector<Index> switches;
  for (const char* name : {"leaf1", "leaf2", "spine", "core", "alone"})
    switches.push_back(graph.add(name, kNone, FabricSwitchFacts{}));
  const Index host = graph.add("host", kNone, HostFacts{});
  const auto cable = [&](Index from, Index to) {
    graph.connect({.from = from, .to = to, .kind = LinkKind::cable});
  };
  cable(host, switches[0]);
  cable(host, switches[1]);
  cable(switches[0], switches[2]);
  cable(switches[2], switches[3]);
  assign_levels(graph);
  const int levels[] = {1, 1, 2, 3, 1};
  for (size_t i = 0; i < switches.size(); ++i)
    EXPECT_EQ(graph.get<FabricSwitchFacts>(switches[i])->level, levels[i]) << graph[switches[i]].name;
  cable(switches[1], switches[3]);  // now two ways up
  assign_levels(graph);
  EXPECT_EQ(graph.get<FabricSwitchFacts>(switches[3])->level, 2);
}

TEST(LinkSpeed, Words) {
  const double gbit[] = {0, 2, 4, 8, 10, 13.63636363636364, 25, 50, 100, 200};
  const char* names[] = {"???", "SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"};
  for (int i = 0; i < 10; ++i) {
    InfinibandSpeed speed{};
    ASSERT_TRUE(parse_infiniband_speed(names[i], speed)) << names[i];
    EXPECT_STREQ(name(speed), names[i]);
    EXPECT_DOUBLE_EQ(gbit_per_s(speed), gbit[i]);
  }
  InfinibandSpeed speed{};
  EXPECT_FALSE(parse_infiniband_speed("hdr", speed));
  EXPECT_FALSE(parse_infiniband_speed("", speed));
  double value = 7;
  EXPECT_TRUE(parse_bandwidth("400G", value));
  EXPECT_EQ(value, 400);
  EXPECT_TRUE(parse_bandwidth("54.545455G", value));
  EXPECT_EQ(write_bandwidth(value), "54.545455G");
  EXPECT_TRUE(parse_bandwidth("?", value));
  EXPECT_EQ(write_bandwidth(value), "?");
  for (const char* bad : {"", "G", "400", "0G", "-1G", "400g", "4x1G", "nanG", "1e9G", "infG"})
    EXPECT_FALSE(parse_bandwidth(bad, value)) << bad;
}

TEST(Listing, TextIsChecked) {
  EXPECT_TRUE(check_text({"a", "caf\xc3\xa9\tb\r\nc"}).ok());
  EXPECT_EQ(check_text({"a", std::string_view("x\ny\0z", 5)}).message(),
            "a:2: byte 0x00 is not text; expected printable characters, tabs and line ends");
}

TEST(Listing, TheCursorKeepsTheFirstMiss) {
  Cursor line("[12] 0x1f \"a \"b\" rest");
  int number = 0;
  uint64_t hex = 0;
  std::string text;
  EXPECT_TRUE(line.need("[") && line.number("n", 1, 99, number) && line.need("]") && line.need_blank());
  EXPECT_TRUE(line.hex("h", 255, hex));
  line.blanks();
  EXPECT_TRUE(line.quoted("text", text));
  EXPECT_EQ(number, 12);
  EXPECT_EQ(hex, 31u);
  EXPECT_EQ(text, "a \"b");
  EXPECT_FALSE(line.number("a port", 1, 9, number));
  EXPECT_FALSE(line.need("x"));
  EXPECT_EQ(line.complaint(), "found \" rest\", expected a port, a whole number from 1 to 9");
  for (const char* bad : {"0x", "x", "1ff", "", "0x11111111111111111"}) {
    Cursor wrong(bad);
    EXPECT_FALSE(wrong.hex("h", 255, hex)) << bad;
  }
  EXPECT_EQ(shown("a\x01\xff"), "\"a??\"");
}

}  // namespace
}  // namespace weir::topology
