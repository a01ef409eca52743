// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/topology_yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/writers.h"
#include "topology/formats/yaml.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kThree = R"(---
- topology: pod/1
  cluster_default: True
  tree:
    switches:
      - switch: spine
        children: leaf[1-2]
      - switch: leaf1
        nodes: node[01-02]
      - switch: leaf2
        nodes: [node03, "node[04-05]"]
- topology: racks
  cluster_default: false
  block:
    block_sizes:
      - 2
      - 4
    blocks:
      - block: '1'
        nodes: '[1-2]'
      - {block: b2, nodes: n3}
- topology: rest
  flat: true
)";

std::string yaml_complaint(const std::string& text) {
  auto topologies = read_topology_yaml({"y", text});
  EXPECT_FALSE(topologies.ok()) << text;
  return topologies.status().message();
}

TEST(TopologyYaml, IsReadAndWrittenBack) {
  auto topologies = read_topology_yaml({"y", kThree});
  ASSERT_TRUE(topologies.ok()) << topologies.status().message();
  ASSERT_EQ(topologies->list.size(), 3u);
  EXPECT_TRUE(topologies->list[0].cluster_default);
  EXPECT_THAT(topologies->list[0].topology.switches[2].nodes, ElementsAre("node03", "node04", "node05"));
  EXPECT_THAT(topologies->list[1].topology.block_sizes, ElementsAre(2, 4));
  EXPECT_EQ(topologies->list[2].topology, SlurmTopology());
  auto again = read_topology_yaml({"again", write_topology_yaml(*topologies)});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *topologies);
}

TEST(TopologyYaml, GivesTheGraphThatIsAskedFor) {
  auto topologies = read_topology_yaml({"y", kThree});
  ASSERT_TRUE(topologies.ok());
  auto pod = graph_of(*topologies);
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->all(NodeKind::host).size(), 5u);
  EXPECT_EQ(pod->get<FabricSwitchFacts>(pod->all(NodeKind::fabric_switch)[0])->level, 2);
  auto racks = graph_of(*topologies, "racks");
  ASSERT_TRUE(racks.ok());
  EXPECT_EQ(racks->links()[0].kind, LinkKind::nvlink);
  EXPECT_THAT(graph_of(*topologies, "rest").status().message(), HasSubstr("flat"));
  EXPECT_THAT(graph_of(*topologies, "x").status().message(),
              HasSubstr("expected one of: pod/1, racks, rest"));
  auto none = *topologies;
  none.list[0].cluster_default = false;
  EXPECT_THAT(graph_of(none).status().message(), HasSubstr("no topology is the default"));
}

TEST(TopologyYaml, KindsThatAreNotTakenAreNoted) {
  const std::string text = "- topology: r\n  ring: {rings: []}\n- topology: f\n  flat: true\n";
  EXPECT_THAT(yaml_complaint(text), HasSubstr("y:1: topology r of the kind ring is ignored"));
  Notes notes;
  auto topologies = read_topology_yaml({"y", text}, &notes);
  ASSERT_TRUE(topologies.ok());
  EXPECT_EQ(topologies->list.size(), 1u);
  EXPECT_EQ(notes.size(), 1u);
}

TEST(TopologyYaml, SkeletonsAreNoted) {
  Notes notes;
  auto topologies = read_topology_yaml(
      {"y",
       "- topology: t\n  cluster_default: true\n  tree:\n    switches:\n    - switch: spine\n      children: "
       "leaf[1-4]\n"
       "    - switch: leaf1\n    - switch: leaf2\n      nodes:\n    - switch: leaf3\n      nodes: []\n"
       "    - switch: leaf4\n      nodes: n1\n"
       "- topology: b\n  block:\n    block_sizes: [18]\n    blocks:\n    - block: rack1\n      nodes: "
       "\"\"\n"},
      &notes);
  ASSERT_TRUE(topologies.ok()) << topologies.status().message();
  EXPECT_THAT(notes, ElementsAre(HasSubstr("y:7: switch leaf1"), HasSubstr("y:8: switch leaf2"),
                                 HasSubstr("y:10: switch leaf3"), HasSubstr("block rack1 has no nodes;")));
  EXPECT_EQ(graph_of(*topologies)->all(NodeKind::host).size(), 1u);
  EXPECT_EQ(graph_of(*topologies, "b")->all(NodeKind::fabric_switch).size(), 1u);
}

TEST(TopologyYaml, ErrorsTellTheLine) {
  const std::string tree = "- topology: t\n  tree:\n    switches:\n";
  EXPECT_EQ(yaml_complaint(tree + "    - switch: a\n      nodes: n1\n    - switch: b\n      children: c\n"),
            "y:6: switch c is below b but is not defined");
  EXPECT_THAT(yaml_complaint(tree + "    - switch: a\n      nodes: n[2-1]\n"),
              HasSubstr("y:5: the range 2-1 is descending"));
  EXPECT_THAT(yaml_complaint(tree + "    - switch: a\n      color: red\n"),
              HasSubstr("y:5: a switch has the key \"color\""));
  EXPECT_THAT(yaml_complaint(tree + "    - nodes: n\n"), HasSubstr("a switch has no key switch"));
  EXPECT_THAT(yaml_complaint(tree + "    - switch: a\n      children: []\n"), HasSubstr("the list is empty"));
  EXPECT_THAT(yaml_complaint(tree + "    - switch: a\n      nodes: {n: 1}\n"), HasSubstr("expected a list"));
  EXPECT_THAT(yaml_complaint(tree + "    - switch: a\n      children:\n"), HasSubstr("empty"));
  EXPECT_THAT(yaml_complaint(tree + "    - switch: a\n"),
              HasSubstr("y:4: switch a has no nodes and no switches"));
  EXPECT_THAT(yaml_complaint("- topology: t\n  tree: {switches: []}\n"), HasSubstr("has no switches"));
  EXPECT_THAT(yaml_complaint("- topology: t\n"), HasSubstr("none of tree, block and flat"));
  EXPECT_THAT(yaml_complaint("- topology: t\n  flat: true\n  block: {blocks: []}\n"),
              HasSubstr("has block and flat"));
  EXPECT_THAT(yaml_complaint("- topology: t\n  flat: false\n"), HasSubstr("flat is false"));
  EXPECT_THAT(yaml_complaint("- topology: t\n  flat: maybe\n"), HasSubstr("expected true or false"));
  EXPECT_THAT(yaml_complaint("- topology: t\n  flat: [true]\n"), HasSubstr("expected true or false"));
  EXPECT_THAT(yaml_complaint("- topology: t\n  flat: true\n- topology: t\n  flat: true\n"),
              HasSubstr("y:3: topology \"t\" occurs twice"));
  EXPECT_THAT(yaml_complaint("- flat: true\n"), HasSubstr("has no key topology"));
  EXPECT_THAT(yaml_complaint("topology: t\n"), HasSubstr("the file is a mapping; expected a list"));
  EXPECT_THAT(yaml_complaint("[]\n"), HasSubstr("no topology"));
  EXPECT_THAT(
      yaml_complaint(
          "- topology: b\n  block:\n    block_sizes: [4, 2]\n    blocks:\n    - block: b\n      nodes: n\n"),
      HasSubstr("y:3: block_sizes contains \"2\""));
}

TEST(Yaml, IsStrict) {
  const auto wrong = [](const std::string& text) {
    auto root = parse_yaml({"y", text});
    EXPECT_FALSE(root.ok()) << text;
    return root.status().message();
  };
  EXPECT_THAT(wrong(""), HasSubstr("y:1: the file contains no YAML document"));
  EXPECT_THAT(wrong("a: [\n"), HasSubstr("not well-formed YAML"));
  EXPECT_THAT(wrong("a: 1\nb: &x 2\n"), HasSubstr("y:2: anchors"));
  EXPECT_THAT(wrong("a: *x\n"), HasSubstr("aliases"));
  EXPECT_THAT(wrong("a: !!str 1\n"), HasSubstr("tags"));
  EXPECT_THAT(wrong("a: 1\n---\nb: 1\n"), HasSubstr("y:2: a second document"));
  EXPECT_THAT(wrong("a: 1\nb: 2\na: 3\n"), HasSubstr("y:3: the key \"a\" occurs twice"));
  EXPECT_THAT(wrong("[a]: 1\n"), HasSubstr("a key is a list"));
  EXPECT_THAT(wrong(std::string(60, '[') + std::string(60, ']')), HasSubstr("more than 50 deep"));
  EXPECT_THAT(wrong(std::string("a\0b", 3)), HasSubstr("byte 0x00"));
}

TEST(Yaml, ScalarsAreWrittenSafely) {
  EXPECT_EQ(yaml_scalar("node[01-04],b"), "node[01-04],b");
  for (const char* text :
       {"", "[1-2]", "it's", "a: b", "- a", "# c", "*x", "&x", "!x", " a ", "a\"b", "~", "%"}) {
    const std::string yaml = fmt::format("k: {}\n", yaml_scalar(text));
    auto root = parse_yaml({"y", yaml});
    ASSERT_TRUE(root.ok()) << yaml << root.status().message();
    EXPECT_EQ(root->items[0].text, text);
  }
}

}  // namespace
}  // namespace weir::topology
