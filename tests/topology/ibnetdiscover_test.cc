// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/ibnetdiscover.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/replaced.h"
#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Two leaves with one host each, a spine with two cables to the first leaf, one of them slower, and one to
// the second.
constexpr std::string_view kSmall = R"(#
# Topology file: generated on Mon Jan  1 00:00:00 2024
#

vendid=0x2c9
devid=0xd2f2
sysimgguid=0xa1
switchguid=0xa1(a1)
Switch	65 "S-00000000000000a1"		# "MF0;leaf1:MQM9701/U1" enhanced port 0 lid 1 lmc 0
[1]	"H-00000000000000b1"[1](b11) 		# "node1 mlx5_0" lid 11 4xNDR
[3]	"S-00000000000000c1"[1]		# "MF0;spine:MQM9701/U1" lid 3 4xNDR s=4 w=2 v=4 e=8
[4]	"S-00000000000000c1"[2]		# "MF0;spine:MQM9701/U1" lid 3 4xHDR
[65]	"H-00000000000000d1"[1](d1) 		# "Mellanox Technologies Aggregation Node" lid 9 4xNDR

vendid=0x2c9
devid=0xd2f2
switchguid=0xa2(a2)
Switch	65 "S-00000000000000a2"		# "MF0;leaf2:MQM9701/U1" base port 0 lid 2 lmc 0
[1][ext 7]	"H-00000000000000b2"[1](b21) 		# "node2 HCA-1" lid 12 2xHDR
[2]	"H-00000000000000b2"[2](b22) 		# "node2 HCA-1" lid 13 ?????
[9]	"S-00000000000000c1"[3]		# "MF0;spine:MQM9701/U1" lid 3 4xNDR

vendid=0x2c9
devid=0xd2f2
switchguid=0xc1(c1)
Switch	65 "S-00000000000000c1"		# "MF0;spine:MQM9701/U1" enhanced port 0 lid 3 lmc 0
[1]	"S-00000000000000a1"[3]		# "MF0;leaf1:MQM9701/U1" lid 1 4xNDR
[2]	"S-00000000000000a1"[4]		# "MF0;leaf1:MQM9701/U1" lid 1 4xHDR
[3]	"S-00000000000000a2"[9]		# "MF0;leaf2:MQM9701/U1" lid 2 4xNDR

vendid=0x2c9
devid=0x1021
caguid=0xb1
Ca	1 "H-00000000000000b1"		# "node1 mlx5_0"
[1](b11) 	"S-00000000000000a1"[1]		# lid 11 lmc 0 "MF0;leaf1:MQM9701/U1" lid 1 4xNDR

vendid=0x2c9
devid=0x1021
sysimgguid=0xb2
caguid=0xb2
Ca	2 "H-00000000000000b2"		# "node2 HCA-1"
[1](b21) 	"S-00000000000000a2"[1][ext 7]		# lid 12 lmc 0 "MF0;leaf2:MQM9701/U1" lid 2 2xHDR
[2](b22) 	"S-00000000000000a2"[2]		# lid 13 lmc 1 "MF0;leaf2:MQM9701/U1" lid 2 ?????

vendid=0x2c9
devid=0xcf09
caguid=0xd1
Ca	1 "H-00000000000000d1"		# "Mellanox Technologies Aggregation Node"
[1](d1) 	"S-00000000000000a1"[65]		# lid 9 lmc 0 "MF0;leaf1:MQM9701/U1" lid 1 4xNDR
)";

std::string small_fabric_with(std::string_view from, std::string_view to) {
  return replaced(std::string(kSmall), from, to);
}

std::string ib_complaint(const std::string& text) {
  auto fabric = read_ibnetdiscover({"f", text});
  EXPECT_FALSE(fabric.ok());
  return fabric.status().message();
}

/// "leaf1-spine 1x25" for every link between switches, one direction.
std::vector<std::string> switch_links(const Graph& graph) {
  std::vector<std::string> found;
  for (const Link& link : graph.links()) {
    const bool between =
        graph.get<FabricSwitchFacts>(link.from) != nullptr && graph.get<FabricSwitchFacts>(link.to);
    if (between && link.from < link.to)
      found.push_back(
          fmt::format("{}-{} {}x{}", graph[link.from].name, graph[link.to].name, link.count, link.gb_per_s));
  }
  return found;
}

TEST(Ibnetdiscover, IsReadAndWrittenBack) {
  Notes notes;
  auto fabric = read_ibnetdiscover({"f", kSmall}, &notes);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_THAT(notes, IsEmpty());
  ASSERT_EQ(fabric->nodes.size(), 6u);
  const IbNode& leaf = fabric->nodes[0];
  EXPECT_EQ(leaf.vendor, 0x2c9u);
  EXPECT_EQ(leaf.guid, 0xa1u);
  EXPECT_TRUE(leaf.enhanced_port_0);
  EXPECT_EQ(leaf.ports[1].attributes, "s=4 w=2 v=4 e=8");
  EXPECT_EQ(leaf.ports[1].width, 4);
  EXPECT_EQ(leaf.ports[1].speed, InfinibandSpeed::ndr);
  EXPECT_EQ(fabric->nodes[1].ports[0].external, 7);
  EXPECT_EQ(fabric->nodes[4].ports[1].guid, 0xb22u);
  EXPECT_EQ(fabric->nodes[4].ports[1].lmc, 1);
  const std::string written = write_ibnetdiscover(*fabric);
  EXPECT_EQ(written.substr(written.find("vendid")), kSmall.substr(kSmall.find("vendid")));
  auto again = read_ibnetdiscover({"again", written});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *fabric);
}

TEST(Ibnetdiscover, BecomesAGraph) {
  auto fabric = read_ibnetdiscover({"f", kSmall});
  ASSERT_TRUE(fabric.ok());
  EXPECT_THAT(graph_of(*fabric).status().message(), HasSubstr("1 aggregation nodes (SHARP)"));
  Notes notes;
  auto graph = graph_of(*fabric, &notes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(notes, ElementsAre(HasSubstr("aggregation"), HasSubstr("runs at 200 Gbit/s")));
  std::vector<std::string> switches;
  for (const Index at : graph->all(NodeKind::fabric_switch))
    switches.push_back(fmt::format("{} {}", graph->describe(at), graph->get<FabricSwitchFacts>(at)->level));
  EXPECT_THAT(switches, ElementsAre("switch leaf1 1", "switch leaf2 1", "switch spine 2"));
  EXPECT_THAT(switch_links(*graph), ElementsAre("leaf1-spine 1x50", "leaf1-spine 1x25", "leaf2-spine 1x50"));
  const std::vector<Index> ports = graph->all(NodeKind::port);
  ASSERT_EQ(ports.size(), 3u);
  EXPECT_EQ(graph->all(NodeKind::nic).size(), 2u);
  EXPECT_EQ(graph->describe(graph->holder(ports[1], NodeKind::nic)), "host node2, NIC HCA-1");
  const PortFacts& first = *graph->get<PortFacts>(ports[1]);
  EXPECT_EQ(first.guid, 0xb21u);
  EXPECT_EQ(first.mbit_per_s, 100000);
  EXPECT_EQ(first.lid, 12);
  EXPECT_EQ(first.layer, PortLayer::infiniband);
  EXPECT_EQ(graph->get<PortFacts>(ports[2])->number, 2);
  EXPECT_EQ(graph->get<PortFacts>(ports[2])->mbit_per_s, 0);
}

TEST(Ibnetdiscover, ParallelCablesAreOneLink) {
  std::string text = small_fabric_with(
      "[4]	\"S-00000000000000c1\"[2]		# \"MF0;spine:MQM9701/U1\" lid 3 4xHDR",
      "[4]	\"S-00000000000000c1\"[2]		# \"MF0;spine:MQM9701/U1\" lid 3 4xNDR");
  Notes notes;
  auto fabric = read_ibnetdiscover({"f", text});
  ASSERT_TRUE(fabric.ok());
  auto graph = graph_of(*fabric, &notes);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(notes, UnorderedElementsAre(
                         HasSubstr("aggregation"), HasSubstr("400 and 200 Gbit/s; the slower"),
                         HasSubstr("the cable from port 4 of \"MF0;leaf1:MQM9701/U1\" a1 to port 2 of "
                                   "\"MF0;spine:MQM9701/U1\" c1 runs at 200 Gbit/s, but 1 of the 2 "
                                   "parallel ones at 400")));
  EXPECT_THAT(switch_links(*graph), ElementsAre("leaf1-spine 1x50", "leaf1-spine 1x25", "leaf2-spine 1x50"));
  const size_t at = text.find("[2]	\"S-00000000000000a1\"[4]");
  text.replace(text.find("4xHDR", at), 5, "4xNDR");
  fabric = read_ibnetdiscover({"f", text});
  ASSERT_TRUE(fabric.ok());
  graph = graph_of(*fabric, &notes);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(switch_links(*graph), ElementsAre("leaf1-spine 2x100", "leaf2-spine 1x50"));
}

TEST(Ibnetdiscover, HostsWithoutANameAreToldApart) {
  std::string text;
  std::string ports;
  const char* descriptions[] = {"MT4129 ConnectX7   Mellanox", "MT4129 ConnectX7   Mellanox",
                                "localhost mlx5_0", "localhost mlx5_0", "login"};
  for (int i = 0; i < 5; ++i) {
    ports += fmt::format("[{}] \"H-{:016x}\"[1] # \"{}\" lid 1\n", i + 1, i + 16, descriptions[i]);
    text += fmt::format(
        "vendid=1\ndevid=1\ncaguid=0x{:x}\nCa 1 \"H-{:x}\" # \"{}\"\n[1] \"S-1\"[{}] # lid 1 lmc 0 \"s\" lid "
        "1\n",
        i + 16, i + 16, descriptions[i], i + 1);
  }
  text =
      "vendid=1\ndevid=1\nswitchguid=1(1)\nSwitch 8 \"S-1\" # \"s\" base port 0 lid 1 lmc 0\n" + ports + text;
  auto fabric = read_ibnetdiscover({"f", text});
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_FALSE(graph_of(*fabric).ok());
  Notes notes;
  auto graph = graph_of(*fabric, &notes);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("descriptions of 3 adapters do not identify their hosts")));
  std::vector<std::string> hosts;
  for (const Index at : graph->all(NodeKind::host)) hosts.push_back((*graph)[at].name);
  EXPECT_THAT(hosts, ElementsAre("MT4129 ConnectX7   Mellanox 0000000000000010",
                                 "MT4129 ConnectX7   Mellanox 0000000000000011", "localhost",
                                 "localhost 0000000000000013", "login"));
}

TEST(Ibnetdiscover, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(
      ib_complaint(small_fabric_with(
          "[3]	\"S-00000000000000a2\"[9]		# \"MF0;leaf2:MQM9701/U1\" lid 2 4xNDR\n", "")),
      "f:21: port 9 leads to port 3 of S-00000000000000c1, which lists no cable there");
  EXPECT_THAT(ib_complaint(small_fabric_with("\"S-00000000000000c1\"[1]", "\"S-00000000000000c1\"[2]")),
              HasSubstr("f:11: port 3 leads to port 2 of S-00000000000000c1, but that port leads to port 4"));
  EXPECT_THAT(ib_complaint(small_fabric_with("[4]	\"S-0", "[3]	\"S-0")),
              HasSubstr("f:12: port 3 of S-00000000000000a1 has two cables"));
  EXPECT_THAT(ib_complaint(small_fabric_with("\"H-00000000000000b1\"[1]", "\"H-00000000000000bb\"[1]")),
              HasSubstr("f:10: port 1 leads to H-00000000000000bb, which is not listed"));
  EXPECT_THAT(ib_complaint(small_fabric_with("\"H-00000000000000b1\"[1]", "\"S-00000000000000b1\"[1]")),
              HasSubstr("not listed"));
  EXPECT_THAT(ib_complaint(small_fabric_with("Switch	65 \"S-00000000000000c1\"",
                                             "Switch	2 \"S-00000000000000c1\"")),
              HasSubstr("port 3 of a node with 2 ports"));
  EXPECT_THAT(ib_complaint(std::string(kSmall) + std::string(kSmall.substr(kSmall.find("vendid")))),
              HasSubstr("node S-00000000000000a1 is listed twice"));
}

TEST(Ibnetdiscover, RefusesBrokenLines) {
  EXPECT_THAT(ib_complaint(""), HasSubstr("f:1: the file lists no node"));
  EXPECT_THAT(ib_complaint("[1] \"S-1\"[1] # \"a\" lid 1\n"),
              HasSubstr("f:1: a port before the line of its node"));
  EXPECT_THAT(ib_complaint("hello\n"), HasSubstr("f:1: found \"hello\", expected a line of ibnetdiscover"));
  EXPECT_THAT(ib_complaint("vendid=1\nvendid=2\n"), HasSubstr("f:2: vendid occurs twice"));
  EXPECT_THAT(ib_complaint("vendid=0x1ffffffff\n"),
              HasSubstr("a vendor, a hexadecimal number up to ffffffff"));
  EXPECT_THAT(ib_complaint("vendid=1\ndevid=2\n"), HasSubstr("ends in the middle of a node"));
  EXPECT_THAT(ib_complaint("vendid=1\nswitchguid=1(1)\nSwitch 3 \"S-1\" # \"a\" base port 0 lid 1 lmc 0\n"),
              HasSubstr("f:3: Switch without vendid=, devid= and switchguid="));
  EXPECT_THAT(ib_complaint(small_fabric_with("Switch	65 \"S-00000000000000a2\"",
                                             "Switch	65 \"S-00000000000000a3\"")),
              HasSubstr("expected the GUID a2 of the line before"));
  EXPECT_THAT(ib_complaint(small_fabric_with("[3]	", "[256]	")),
              HasSubstr("a port, a whole number from 1 to 255"));
  EXPECT_THAT(ib_complaint(small_fabric_with("4xNDR s=4", "4xMDR s=4")),
              HasSubstr("expected a speed from SDR to XDR"));
  EXPECT_THAT(ib_complaint(small_fabric_with("4xNDR s=4", "4xNDR what")),
              HasSubstr("expected attributes like s=4"));
  EXPECT_THAT(ib_complaint(small_fabric_with("lid 12 2xHDR", "lid 99999 2xHDR")), HasSubstr("a lid"));
  EXPECT_THAT(ib_complaint(small_fabric_with("node1 mlx5_0\" lid", "node1 mlx5_0 lid")),
              HasSubstr("in quotation marks"));
  EXPECT_THAT(ib_complaint(small_fabric_with("node1",
                                             "n\xc3\xb6"
                                             "de1")),
              HasSubstr("in quotation marks"));
  EXPECT_THAT(ib_complaint(std::string("vend\0id", 7)), HasSubstr("byte 0x00 is not text"));
  // A switch without ports is whole, and so is the text without its last node, an aggregation node.
  for (size_t length = kSmall.find("\n[1]") + 2; length < kSmall.rfind("\nvendid"); ++length)
    EXPECT_FALSE(read_ibnetdiscover({"f", kSmall.substr(0, length)}).ok()) << length;
}

TEST(Ibnetdiscover, ChassisHeadingsAreNoted) {
  std::string text(kSmall);
  text.insert(text.find("vendid"), "Chassis 1 (guid 0x1)\n# Spine Nodes\n");
  EXPECT_THAT(ib_complaint(text), HasSubstr("it only names the chassis of a node"));
  Notes notes;
  EXPECT_TRUE(read_ibnetdiscover({"f", text}, &notes).ok());
  EXPECT_EQ(notes.size(), 1u);
}

constexpr std::string_view kPorts =
    R"(CA    11  1 0x00000000000000b1 4x EDR - SW     1 10 0x00000000000000a1 ( 'node1 HCA-1' - 'leaf1' )
CA    13  2 0x00000000000000b3 4x EDR - SW     1 12 0x00000000000000a1 ( 'node2 HCA-1' - 'leaf1' )
CA    12  1 0x00000000000000b2 4x ???                                    'node2 HCA-1'
SW     1 12 0x00000000000000a1 4x EDR - CA    13  2 0x00000000000000b3 ( 'leaf1' - 'node2 HCA-1' )
SW     1 10 0x00000000000000a1 4x EDR - CA    11  1 0x00000000000000b1 ( 'leaf1' - 'node1 HCA-1' )
SW     1  1 0x00000000000000a1 4x EDR - SW     2  1 0x00000000000000c1 ( 'leaf1' - 'spine' )
SW     2  3 0x00000000000000c1 4x SDR                                    spine
SW     2  1 0x00000000000000c1 4x EDR - SW     1  1 0x00000000000000a1 ( 'spine' - 'leaf1' )
)";

TEST(Ibnetdiscover, ThePortsFormGivesTheSameKindOfValue) {
  auto fabric = read_ibnetdiscover({"p", kPorts});
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  ASSERT_EQ(fabric->nodes.size(), 4u);
  EXPECT_EQ(fabric->nodes[1].guid, 0xb3u);
  EXPECT_EQ(fabric->nodes[1].port_count, 2);
  ASSERT_EQ(fabric->nodes[2].ports.size(), 3u);
  EXPECT_EQ(fabric->nodes[2].ports[1].peer, 0xb1u);
  auto again = read_ibnetdiscover({"again", write_ibnetdiscover(*fabric)});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *fabric);
  auto graph = graph_of(*fabric);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(switch_links(*graph), ElementsAre("leaf1-spine 1x12.5"));
  EXPECT_EQ(graph->all(NodeKind::host).size(), 2u);
  EXPECT_EQ(graph->all(NodeKind::port).size(), 2u);
}

TEST(Ibnetdiscover, ThePortsFormMayBeFiltered) {
  const std::string_view without_spine = kPorts.substr(0, kPorts.find("SW     2  3"));
  EXPECT_THAT(ib_complaint(std::string(without_spine)),
              HasSubstr("f:6: the cable of port 1 is ignored: \"spine\""));
  Notes notes;
  EXPECT_TRUE(read_ibnetdiscover({"f", without_spine}, &notes).ok());
  EXPECT_EQ(notes.size(), 1u);
  const std::string_view one_sided = kPorts.substr(0, kPorts.find("\nSW     2  1"));
  EXPECT_THAT(ib_complaint(std::string(one_sided)), HasSubstr("which lists no cable there"));
  EXPECT_THAT(ib_complaint("CA 1 1 0x1 4x EDR - XX"), HasSubstr("expected SW, CA or RT"));
  EXPECT_THAT(ib_complaint("CA 1 1 0x1 4x EDR - SW 1 1 0x2 ( 'a' - 'b"),
              HasSubstr("expected two descriptions"));
  EXPECT_THAT(ib_complaint("SW 1 1 0x1 4x SDR 'a'\nSW 2 2 0x1 4x SDR 'a'"), HasSubstr("here it is lid 2"));
  EXPECT_THAT(ib_complaint("CA 1 1 0x1 4x SDR 'a'\nCA 1 1 0x1 4x SDR 'a'"), HasSubstr("listed twice"));
}

TEST(Ibnetdiscover, LargeFabricsAreQuick) {
  // 10,000 hosts at 313 leaves of 32.
  std::string switches;
  std::string adapters;
  for (int leaf = 0; leaf < 313; ++leaf) {
    switches += fmt::format(
        "vendid=1\ndevid=1\nswitchguid={0:x}(1)\nSwitch 40 \"S-{0:x}\" # \"l{0}\" base port 0 lid 1 lmc 0\n",
        leaf + 1);
    for (int port = 1; port <= 32; ++port) {
      const int guid = 1000 + leaf * 32 + port;
      switches += fmt::format("[{0}] \"H-{1:x}\"[1] # \"n{1} mlx5_0\" lid 1 4xNDR\n", port, guid);
      adapters += fmt::format(
          "vendid=1\ndevid=1\ncaguid={0:x}\nCa 1 \"H-{0:x}\" # \"n{0} mlx5_0\"\n[1] \"S-{1:x}\"[{2}] # lid 1 "
          "lmc 0 \"s\" lid 1 4xNDR\n",
          guid, leaf + 1, port);
    }
  }
  auto fabric = read_ibnetdiscover({"f", switches + adapters});
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  auto graph = graph_of(*fabric);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->all(NodeKind::host).size(), 313u * 32);
}

}  // namespace
}  // namespace weir::topology
