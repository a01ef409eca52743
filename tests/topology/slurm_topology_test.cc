// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/slurm_topology.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kTwoLeaves = R"(# two leaves
SwitchName=leaf1 Nodes=node[01-03] LinkSpeed=100
switchname=leaf2   NODES = "node[04-05],login" # the rest
SwitchName=spine[1] \
  Switches=leaf[1-2]
SwitchName=spine2 Switches=leaf1,leaf2
SwitchName=core Switches=spine[1-2]
)";

std::string slurm_complaint(const std::string& text) {
  auto topology = read_slurm_topology({"t", text});
  EXPECT_FALSE(topology.ok()) << text;
  return topology.status().message();
}

std::vector<std::string> levels(const Graph& graph) {
  std::vector<std::string> found;
  for (const Index at : graph.all(NodeKind::fabric_switch))
    found.push_back(fmt::format("{} {}", graph[at].name, graph.get<FabricSwitchFacts>(at)->level));
  return found;
}

TEST(SlurmTopology, TreesAreReadAndWrittenBack) {
  auto topology = read_slurm_topology({"t", kTwoLeaves});
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  ASSERT_EQ(topology->switches.size(), 5u);
  EXPECT_EQ(topology->switches[0].link_speed, 100);
  EXPECT_THAT(topology->switches[1].nodes, ElementsAre("node04", "node05", "login"));
  EXPECT_EQ(topology->switches[2].name, "spine1");
  const std::string written = write_slurm_topology(*topology);
  EXPECT_THAT(written, HasSubstr("SwitchName=leaf1 Nodes=node[01-03] LinkSpeed=100\n"));
  EXPECT_THAT(written, HasSubstr("SwitchName=core Switches=spine[1-2]\n"));
  auto again = read_slurm_topology({"again", written});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *topology);
}

TEST(SlurmTopology, TreesBecomeGraphs) {
  auto topology = read_slurm_topology({"t", kTwoLeaves});
  ASSERT_TRUE(topology.ok());
  auto graph = graph_of(*topology);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(levels(*graph), ElementsAre("leaf1 1", "leaf2 1", "spine1 2", "spine2 2", "core 3"));
  EXPECT_EQ(graph->all(NodeKind::host).size(), 6u);
  EXPECT_EQ(graph->links().size(), 2u * (6 + 4 + 2));
  for (const Link& link : graph->links()) {
    EXPECT_EQ(link.kind, LinkKind::cable);
    EXPECT_EQ(link.gb_per_s, 0);
  }
}

TEST(SlurmTopology, BlocksAreIslands) {
  auto topology =
      read_slurm_topology({"t", "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n"});
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_THAT(topology->block_sizes, ElementsAre(2, 4));
  EXPECT_EQ(write_slurm_topology(*topology),
            "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n");
  auto graph = graph_of(*topology);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(levels(*graph), ElementsAre("b1 1", "b2 1"));
  ASSERT_EQ(graph->links().size(), 8u);
  EXPECT_EQ(graph->links()[0].kind, LinkKind::nvlink);
}

TEST(SlurmTopology, ARepeatedLineIsNoted) {
  const std::string text = "SwitchName=a Nodes=n1\nSwitchName=A Nodes=n2\nSwitchName=a Nodes=n[1]\n";
  EXPECT_EQ(slurm_complaint(text), "t:3: this line repeats line 1");
  Notes notes;
  auto topology = read_slurm_topology({"t", text}, &notes);
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->switches.size(), 2u);
  EXPECT_EQ(notes.size(), 1u);
}

TEST(SlurmTopology, RefusesContradictions) {
  const std::string leaf = "SwitchName=a Nodes=n[1-2]\n";
  EXPECT_EQ(slurm_complaint(leaf + "SwitchName=b Nodes=n2\n"), "t:2: node n2 is in switch a and in switch b");
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n1,n1\n"), HasSubstr("node n1 is in switch a twice"));
  EXPECT_THAT(slurm_complaint(leaf + "SwitchName=a Nodes=n3\n"),
              HasSubstr("t:2: switch a is defined a second time"));
  EXPECT_THAT(slurm_complaint(leaf + "SwitchName=b Switches=a,c\n"),
              HasSubstr("t:2: switch c is below b but is not defined"));
  EXPECT_THAT(slurm_complaint(leaf + "SwitchName=b Switches=a,a\n"), HasSubstr("below b twice"));
  EXPECT_THAT(slurm_complaint(leaf + "SwitchName=b\n"),
              HasSubstr("t:2: switch b has no nodes and no switches"));
  EXPECT_THAT(slurm_complaint(leaf + "SwitchName=b Nodes=n3 Switches=a\n"), HasSubstr("both"));
  EXPECT_THAT(slurm_complaint(leaf + "BlockName=b Nodes=n3\n"),
              HasSubstr("t:2: the file has switches and blocks"));
  EXPECT_THAT(slurm_complaint(leaf + "BlockSizes=3\n"), HasSubstr("sizes of blocks but no blocks"));
  EXPECT_THAT(slurm_complaint("BlockName=b\n"), HasSubstr("block b has no nodes"));
  EXPECT_THAT(slurm_complaint("BlockName=b Nodes=n1\nBlockName=c Nodes=n1\n"),
              HasSubstr("in block b and in block c"));
}

TEST(SlurmTopology, WhatScontrolPrintsIsRead) {
  const char* const kTwoLeaves =
      "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
      "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
      "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[1-2]\n";
  auto tree = read_slurm_topology({"t", kTwoLeaves});
  ASSERT_TRUE(tree.ok()) << tree.status().message();
  EXPECT_THAT(tree->switches[2].nodes, IsEmpty());
  EXPECT_THAT(tree->switches[2].switches, ElementsAre("leaf1", "leaf2"));
  EXPECT_EQ(graph_of(*tree)->all(NodeKind::host).size(), 4u);
  auto blocks = read_slurm_topology({"t",
                                     "BlockName=b0 BlockIndex=0 Nodes=10.0.0.[1-2] BlockSize=2\n"
                                     "BlockName=b1 BlockIndex=1 Nodes=10.0.0.[3-4] BlockSize=2\n"
                                     "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=10.0.0.[1-4] BlockSize=4\n"});
  ASSERT_TRUE(blocks.ok()) << blocks.status().message();
  EXPECT_EQ(blocks->blocks.size(), 2u);
  EXPECT_THAT(slurm_complaint("SwitchName=a Level=x Nodes=n\n"), HasSubstr("Level is \"x\""));
}

TEST(SlurmTopology, SkeletonsAreNoted) {
  Notes notes;
  auto topology = read_slurm_topology({"t", "BlockName=a Nodes=n[1-2]\nBlockName=b\n"}, &notes);
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_THAT(notes, ElementsAre(HasSubstr("t:2: block b has no nodes; as in a skeleton")));
  EXPECT_EQ(graph_of(*topology)->all(NodeKind::host).size(), 2u);
}

TEST(SlurmTopology, RefusesCycles) {
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n\nSwitchName=b Switches=b\n"),
              HasSubstr("t:2: switch b is below itself"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n\nSwitchName=top Switches=b\nSwitchName=b "
                              "Switches=c,a\nSwitchName=c Switches=b\n"),
              HasSubstr("is below itself"));
  std::string chain = "SwitchName=s0 Nodes=n\n";
  for (int i = 1; i < 20000; ++i) chain += fmt::format("SwitchName=s{} Switches=s{}\n", i, i - 1);
  auto deep = read_slurm_topology({"t", chain});
  ASSERT_TRUE(deep.ok());
  EXPECT_TRUE(graph_of(*deep).ok());
}

TEST(SlurmTopology, RefusesBrokenLines) {
  EXPECT_THAT(slurm_complaint(""), HasSubstr("has no switch and no block"));
  EXPECT_THAT(slurm_complaint("Nodes=a SwitchName=b\n"), HasSubstr("t:1: the line begins with \"nodes\""));
  EXPECT_THAT(slurm_complaint("RingName=r Nodes=a\n"), HasSubstr("rings"));
  EXPECT_THAT(slurm_complaint("Include other.conf\n"), HasSubstr("expected '='"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n Nodes=m\n"), HasSubstr("nodes= occurs twice"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n Color=red\n"),
              HasSubstr("unknown key color= of a switch"));
  EXPECT_THAT(slurm_complaint("BlockName=a Switches=n\n"), HasSubstr("unknown key switches= of a block"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n LinkSpeed=-1\n"), HasSubstr("LinkSpeed is \"-1\""));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n LinkSpeed=4294967296\n"), HasSubstr("LinkSpeed is"));
  EXPECT_THAT(slurm_complaint("SwitchName=a[1-2] Nodes=n\n"), HasSubstr("contains 2 names; expected one"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n[1-9999999]\n"), HasSubstr("too long"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=\"n\n"), HasSubstr("expected '\"'"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n\"m\"\n"),
              HasSubstr("quotation marks around the whole value"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes= \n"), HasSubstr("a value"));
  EXPECT_THAT(slurm_complaint("SwitchName=a Nodes=n \\"), HasSubstr("ends after a backslash"));
  EXPECT_THAT(slurm_complaint("# b \\\nSwitchName=a Nodes=n\n"),
              HasSubstr("t:1: a comment ends in a backslash"));
  EXPECT_THAT(slurm_complaint("BlockName=a Nodes=n\nBlockSizes=4,4\n"),
              HasSubstr("expected growing numbers"));
  EXPECT_THAT(slurm_complaint("BlockName=a Nodes=n\nBlockSizes=4,x\n"),
              HasSubstr("BlockSizes contains \"x\""));
  EXPECT_THAT(slurm_complaint("BlockName=a Nodes=n\nBlockSizes=4\nBlockSizes=8\n"),
              HasSubstr("BlockSizes= occurs twice"));
}

TEST(SlurmTopology, ManyReferencesAreBounded) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("SwitchName=s{} Switches=s[0-2999]\n", i);
  EXPECT_THAT(slurm_complaint(text), HasSubstr("too long"));
}

TEST(SlurmTopology, GraphsOfDocumentsMadeByHandAreChecked) {
  SlurmTopology topology;
  EXPECT_THAT(graph_of(topology).status().message(), HasSubstr("flat"));
  topology.switches.push_back({"a", {}, {"b"}, -1});
  EXPECT_THAT(graph_of(topology).status().message(), HasSubstr("switch b is below a but is not defined"));
  topology.switches[0] = {"a b", {"n"}, {}, -1};
  EXPECT_THAT(graph_of(topology).status().message(), HasSubstr("is not a valid name of a switch"));
  topology.switches.clear();
  topology.block_sizes = {2};
  EXPECT_FALSE(graph_of(topology).ok());
}

}  // namespace
}  // namespace weir::topology
