// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/fabric_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kAll = R"(weir fabric 1
# every kind of line
leaf   leaf[1-2]
spine  spine1 guid 0xabc
spine  spine2
switch core level 3
island rack1
host   node[01-04]
cable  leaf[1-2] to spine[1-2] 4x400G
cable  spine[1-2] to core 800G   # one each
cable  leaf1 to leaf2 ?
attach node[01-02] nic mlx5_[0-1] to leaf[1-2] 400G rail 0-1
attach node03 nic mlx5_0 port 2 to leaf1 54.5G guid 0x1f
attach node04 to leaf[1-2] 2x100G rail 3
attach node[01-04] to rack1 7200G
host   "an odd, \"name\""
attach "an odd, \"name\"" to leaf1 ?
)";

std::string fabric_complaint(const std::string& lines) {
  auto fabric = read_fabric_file({"f", "weir fabric 1\n" + lines});
  EXPECT_FALSE(fabric.ok()) << lines;
  return fabric.status().message();
}

FabricFile read(std::string_view text) {
  auto fabric = read_fabric_file({"f", text});
  EXPECT_TRUE(fabric.ok()) << fabric.status().message();
  return fabric.ok() ? *fabric : FabricFile();
}

TEST(FabricFile, IsReadAndWrittenBack) {
  const FabricFile fabric = read(kAll);
  EXPECT_EQ(fabric.switches.size(), 5u);
  EXPECT_EQ(fabric.switches[1].guid, 0xabcu);
  EXPECT_EQ(fabric.switches[3].level, 3);
  EXPECT_TRUE(fabric.switches[4].island);
  EXPECT_THAT(fabric.hosts, ElementsAre("node01", "node02", "node03", "node04", "an odd, \"name\""));
  EXPECT_EQ(fabric.cables[0].count, 4);
  EXPECT_EQ(fabric.cables[2].gbit_per_s, 0);
  EXPECT_THAT(fabric.attachments[0].rails, ElementsAre(0, 1));
  EXPECT_EQ(fabric.attachments[1].port, 2);
  const std::string written = write_fabric_file(fabric);
  EXPECT_THAT(written, HasSubstr("attach node[01-02] nic mlx5_[0-1] to leaf[1-2] 400G rail 0-1\n"));
  EXPECT_EQ(read(written), fabric);
}

TEST(FabricFile, BecomesAGraph) {
  auto graph = graph_of(read(kAll));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::vector<std::string> switches;
  for (const Index at : graph->all(NodeKind::fabric_switch))
    switches.push_back(fmt::format("{} {}", (*graph)[at].name, graph->get<FabricSwitchFacts>(at)->level));
  EXPECT_THAT(switches, ElementsAre("leaf1 1", "leaf2 1", "spine1 2", "spine2 2", "core 3", "rack1 1"));
  EXPECT_EQ(graph->all(NodeKind::host).size(), 5u);
  EXPECT_EQ(graph->all(NodeKind::nic).size(), 5u);
  const Link& up = graph->links()[0];
  EXPECT_EQ(up.count, 4);
  EXPECT_EQ(up.gb_per_s, 200);
  const std::vector<Index> ports = graph->all(NodeKind::port);
  EXPECT_EQ(graph->describe(graph->holder(ports[1], NodeKind::nic)), "host node01, NIC mlx5_1");
  EXPECT_EQ(graph->get<PortFacts>(ports[1])->rail, 1);
  EXPECT_EQ(graph->get<PortFacts>(ports[1])->mbit_per_s, 400000);
  EXPECT_EQ(graph->get<PortFacts>(ports[4])->guid, 0x1fu);
  int islands = 0;
  for (const Link& link : graph->links()) islands += link.kind == LinkKind::nvlink ? 1 : 0;
  EXPECT_EQ(islands, 8);
}

TEST(FabricFile, AnyGraphCanBeWrittenDown) {
  auto graph = graph_of(read(kAll));
  ASSERT_TRUE(graph.ok());
  const FabricFile found = fabric_of(*graph);
  EXPECT_EQ(read(write_fabric_file(found)), found);
  auto again = graph_of(found);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->nodes().size(), graph->nodes().size());
  EXPECT_EQ(again->links().size(), graph->links().size());
  EXPECT_EQ(fabric_of(*again), found);
  const std::string text = write_fabric_file(found);
  EXPECT_THAT(text, HasSubstr("\ncable leaf[1-2] to spine[1-2] 4x400G\n"));
  EXPECT_THAT(text, HasSubstr("\nisland rack1\n"));
  EXPECT_THAT(text, HasSubstr("\nattach node[01-02] nic mlx5_0 to leaf1 400G rail 0\n"));
  EXPECT_THAT(text, HasSubstr("\nattach node[01-04] to rack1 7200G\n"));
}

TEST(FabricFile, GraphsOfOtherKindsAreWrittenDown) {
  Graph graph;
  EXPECT_EQ(write_fabric_file(fabric_of(graph)), "weir fabric 1\n");
  const Index leaf = graph.add("leaf", kNone, FabricSwitchFacts{});
  const Index spine = graph.add("spine", kNone, FabricSwitchFacts{});
  const Index host = graph.add("h", kNone, HostFacts{});
  const Index nic = graph.add("n", host, NicFacts{});
  const Index first = graph.add("a", nic, PortFacts{});
  const Index second = graph.add("b", nic, PortFacts{});
  const Index gpu = graph.add("g", host, GpuFacts{});
  const auto cable = [&](Index from, Index to) {
    graph.add(Link{.from = from, .to = to, .kind = LinkKind::cable, .count = 1, .gb_per_s = 100. / 3});
  };
  cable(leaf, spine);
  cable(spine, leaf);
  cable(leaf, spine);
  cable(first, leaf);
  cable(leaf, second);
  cable(gpu, leaf);
  const FabricFile found = fabric_of(graph);
  EXPECT_EQ(write_fabric_file(found),
            "weir fabric 1\nleaf leaf\nspine spine\nhost h\ncable leaf to spine 2x266.666667G\n"
            "attach h nic n to leaf 266.666667G\nattach h nic n port 2 to leaf 266.666667G\n");
  EXPECT_EQ(read(write_fabric_file(found)), found);
}

TEST(FabricFile, TheTitleIsNeeded) {
  const auto wrong = [](std::string_view text) { return read_fabric_file({"f", text}).status().message(); };
  EXPECT_THAT(wrong(""), HasSubstr("f:1: wrong title; expected 'weir fabric 1' as the first line"));
  EXPECT_THAT(wrong("\nweir fabric 1\n"), HasSubstr("f:1:"));
  EXPECT_THAT(wrong("weir fabric 2\n"), HasSubstr("unknown version; expected version 1"));
  EXPECT_THAT(wrong("weir fabric 1 x\n"), HasSubstr("expected the end of the line"));
  EXPECT_TRUE(read_fabric_file({"f", "weir fabric 1"}).ok());
}

TEST(FabricFile, RefusesWhatTheGrammarDoesNotHave) {
  EXPECT_THAT(fabric_complaint("\nrouter a\n"), StartsWith("f:3: found \"router\", expected leaf, spine"));
  EXPECT_THAT(fabric_complaint("leaf\n"), HasSubstr("found the end of the line, expected a list of names"));
  EXPECT_THAT(fabric_complaint("leaf a b\n"), HasSubstr("found \"b\", expected the end of the line"));
  EXPECT_THAT(fabric_complaint("leaf a[1-\n"), HasSubstr("'[' without its ']'"));
  EXPECT_THAT(fabric_complaint("leaf a \"b\\"), HasSubstr("expected the end of the line"));
  EXPECT_THAT(fabric_complaint("switch a\n"), HasSubstr("expected 'level'"));
  EXPECT_THAT(fabric_complaint("switch a level 0\n"), HasSubstr("a level, a whole number from 1"));
  EXPECT_THAT(fabric_complaint("leaf a guid 0\n"), HasSubstr("expected a GUID"));
  EXPECT_THAT(fabric_complaint("cable a b 1G\n"), HasSubstr("expected 'to'"));
  for (const char* speed : {"", "400", "0x1G", "x1G", "4x", "4xx1G", "99999999x1G", "-1G", "0G"})
    EXPECT_THAT(fabric_complaint(fmt::format("cable a to b {}\n", speed)), HasSubstr("expected")) << speed;
  for (const char* rails : {"", "x", "0-", "[0]", "-1", "2-1"})
    EXPECT_THAT(fabric_complaint(fmt::format("attach a to b 1G rail {}\n", rails)),
                HasSubstr("expected rails"))
        << rails;
  EXPECT_THAT(fabric_complaint("attach a nic n port x to b 1G\n"), HasSubstr("a port, a whole number"));
}

TEST(FabricFile, RefusesContradictions) {
  const std::string base = "leaf a,b\nhost h[1-2]\n";
  EXPECT_EQ(fabric_complaint(base + "spine b\n"), "f:4: switch b is defined twice");
  EXPECT_THAT(fabric_complaint(base + "host h2\n"), HasSubstr("f:4: host h2 is defined twice"));
  EXPECT_THAT(fabric_complaint("leaf a[1-2] guid 5\n"), HasSubstr("one GUID for 2 switches"));
  EXPECT_THAT(fabric_complaint(base + "cable a to c 1G\n"),
              HasSubstr("f:4: c is cabled but not defined as a switch"));
  EXPECT_THAT(fabric_complaint(base + "cable a to a 1G\n"), HasSubstr("cabled to itself"));
  EXPECT_THAT(fabric_complaint(base + "cable a to b 1G\ncable b to a 1G\n"),
              HasSubstr("f:5: b and a are cabled twice"));
  EXPECT_THAT(fabric_complaint(base + "attach h3 to a 1G\n"),
              HasSubstr("\"h3\" is attached but not defined as a host"));
  EXPECT_THAT(fabric_complaint(base + "attach h1 to c 1G\n"), HasSubstr("\"c\" is not defined as a switch"));
  EXPECT_THAT(fabric_complaint(base + "attach h1 nic n[1-3] to a,b 1G\n"),
              HasSubstr("3 NICs and 2 switches"));
  EXPECT_THAT(fabric_complaint(base + "attach h1 nic n[1-3] to a 1G rail 0-1\n"),
              HasSubstr("2 rails; expected one or 3"));
  EXPECT_THAT(fabric_complaint(base + "attach h1 nic n to a 2x1G\n"), HasSubstr("a NIC's port has 2 cables"));
  EXPECT_THAT(fabric_complaint(base + "attach h1 nic n to a 1G\nattach h[1-2] nic n to b 1G\n"),
              HasSubstr("f:5: port 1 of n of h1 is attached twice"));
  EXPECT_THAT(fabric_complaint(base + "attach h1 to a 1G\nattach h1 to a 1G\n"),
              HasSubstr("h1 is attached to a twice"));
  EXPECT_THAT(fabric_complaint(base + "attach h[1-2] nic n to a 1G guid 7\n"),
              HasSubstr("expected one host with one NIC"));
}

TEST(FabricFile, ProductsAreBounded) {
  EXPECT_THAT(fabric_complaint("leaf a[1-2000]\nspine b[1-2000]\ncable a[1-2000] to b[1-2000] 1G\n"),
              HasSubstr("more than 1000000 pairs"));
  EXPECT_THAT(fabric_complaint("leaf a\nhost h[1-2000]\nattach h[1-2000] nic n[1-2000] to a 1G\n"),
              HasSubstr("more than 1000000 attachments"));
}

TEST(FabricFile, LargeFabricsAreQuick) {
  std::string text =
      "weir fabric 1\nleaf leaf[1-320]\nspine spine[1-32]\nhost node[1-10240]\n"
      "cable leaf[1-320] to spine[1-32] 400G\n";
  for (int i = 0; i < 320; ++i)
    text += fmt::format("attach node[{}-{}] nic mlx5_[0-7] to leaf{} 400G\n", i * 32 + 1, i * 32 + 32, i + 1);
  auto graph = graph_of(read(text));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->all(NodeKind::port).size(), 81920u);
  const FabricFile found = fabric_of(*graph);
  EXPECT_EQ(found.attachments.size(), 320u * 8);
  EXPECT_EQ(found.cables.size(), 1u);
}

TEST(FabricFile, TheExampleOfTheDocumentationIsRight) {
  std::ifstream file(WEIR_SOURCE_FOLDER "/docs/fabric-file.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const size_t begin = text.find("\nweir fabric 1\n") + 1;
  ASSERT_NE(begin, 0u);
  auto graph = graph_of(read(text.substr(begin, text.find("```", begin) - begin)));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->all(NodeKind::fabric_switch).size(), 6u);
  EXPECT_EQ(graph->all(NodeKind::host).size(), 9u);
  EXPECT_EQ(graph->all(NodeKind::port).size(), 16u);
}

}  // namespace
}  // namespace weir::topology
