// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <pugixml.hpp>

#include "src/base/text.h"
#include "tests/topology/make_graph.h"
#include "topology/model/check.h"
#include "topology/views/fabric_parts.h"
#include "topology/views/html.h"
#include "topology/views/layout.h"
#include "topology/views/rings.h"
#include "topology/views/svg.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

bool is_frame(const Box& box) { return box.style == BoxStyle::frame; }

/// The sentence that says what is wrong with the geometry, or none.
std::string complaint(const Drawing& drawing) {
  const Rect paper = {0, 0, drawing.width, drawing.height};
  const auto& boxes = drawing.boxes;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (!paper.holds(boxes[i].rect)) return "a box leaves the paper: " + boxes[i].facts;
    for (size_t j = 0; j < i; ++j) {
      if (is_frame(boxes[j]) && boxes[j].rect.holds(boxes[i].rect)) continue;
      if (boxes[i].rect.overlaps(boxes[j].rect))
        return "boxes overlap: " + boxes[i].facts + " and " + boxes[j].facts;
    }
  }
  for (size_t i = 0; i < drawing.texts.size(); ++i) {
    const Text& text = drawing.texts[i];
    const Rect own = text.rect();
    if (!paper.holds(own)) return "a text leaves the paper: " + text.text;
    if (text.box >= 0 && !boxes[static_cast<size_t>(text.box)].rect.holds(own))
      return "a text leaves its box: " + text.text;
    for (size_t j = 0; j < i; ++j) {
      if (own.overlaps(drawing.texts[j].rect()))
        return "texts overlap: " + text.text + " and " + drawing.texts[j].text;
    }
    for (const Box& box : boxes) {
      if (text.box < 0 && own.overlaps(box.rect) && !(is_frame(box) && box.rect.holds(own)))
        return "a label is on a box: " + text.text + " on " + box.facts;
    }
  }
  for (const Wire& wire : drawing.wires) {
    const bool ends =
        wire.a >= 0 && (wire.b >= 0 || wire.out) && (wire.points.size() == 2 || wire.points.size() == 4);
    if (!ends || !(wire.width > 0 && wire.width < 10)) return "a wire has no ends: " + wire.facts;
    for (const Point& point : wire.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) return "a wire leads nowhere: " + wire.facts;
    }
  }
  return "";
}

size_t count(const Drawing& drawing, BoxStyle style) {
  size_t found = 0;
  for (const Box& box : drawing.boxes) found += box.style == style ? 1 : 0;
  return found;
}

size_t count(const Drawing& drawing, LinkKind kind) {
  size_t found = 0;
  for (const Wire& wire : drawing.wires) found += wire.kind == kind && wire.link && !wire.out ? 1 : 0;
  return found;
}

std::string all_texts(const Drawing& drawing) {
  std::string all;
  for (const Text& text : drawing.texts) all += text.text + "\n";
  return all;
}

/// Well-formed XML; the number of elements.
size_t elements(const std::string& text) {
  pugi::xml_document document;
  const auto result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  EXPECT_TRUE(result) << result.description() << " at "
                      << text.substr(static_cast<size_t>(result.offset), 60);
  struct Counter : pugi::xml_tree_walker {
    size_t found = 0;
    bool for_each(pugi::xml_node& node) override {
      found += node.type() == pugi::node_element ? 1 : 0;
      return true;
    }
  } counter;
  document.traverse(counter);
  return counter.found;
}

/// A host with what the one-line language cannot say.
class Odd {
 public:
  explicit Odd(const std::string& name) {
    host = graph.add(name, kNone, HostFacts{});
    numa = node("0", 0);
  }
  Index node(const std::string& name, int number) {
    NumaFacts facts;
    facts.number = number;
    return graph.add(name, host, facts);
  }
  Index gpu(Index parent, int number) {
    GpuFacts facts;
    facts.device = number;
    facts.pci.address = fmt::format("0000:{}:00.0", 10 + number);
    const Index made = graph.add(facts.pci.address, parent, facts);
    graph.connect({made, parent, LinkKind::pci, 1, 32, 0, -1});
    return made;
  }
  Index bridge(Index parent, const std::string& name) {
    const Index made = graph.add(name, parent, BridgeFacts{});
    graph.connect({made, parent, LinkKind::pci, 1, 32, 0, -1});
    return made;
  }
  Index nic(Index parent, const std::string& name, double mbit_per_s) {
    const Index made = graph.add(name, parent, NicFacts{});
    graph.connect({made, parent, LinkKind::pci, 1, 32, 0, -1});
    PortFacts port;
    port.mbit_per_s = mbit_per_s;
    const Index end = graph.add(name, made, port);
    graph.connect({end, made, LinkKind::inner, 1, mbit_per_s / 8000, 0, -1});
    return made;
  }

  Graph graph;
  Index host = kNone;
  Index numa = kNone;
};

TEST(ViewText, FiguresHaveThreeDigits) {
  EXPECT_EQ(rate(63.015), "63 GB/s");
  EXPECT_EQ(rate(12.5), "12.5 GB/s");
  EXPECT_EQ(rate(3.938), "3.94 GB/s");
  EXPECT_EQ(rate(12512), "12500 GB/s");
  EXPECT_EQ(rate(99.96), "100 GB/s");
  EXPECT_EQ(rate(0), "? GB/s");
  EXPECT_EQ(figure(1e-9), "<0.001");
  EXPECT_EQ(figure(0.125), "0.125");
  EXPECT_EQ(plural(1, "leaf"), "1 leaf");
  EXPECT_EQ(plural(3, "leaf"), "3 leaves");
  EXPECT_EQ(plural(2, "NVSwitch"), "2 NVSwitches");
}

TEST(ViewText, EscapesWhatXmlDoesNotHold) {
  EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escaped(std::string("\0\x01\x7f", 3)), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(escaped("\xc3\xa9\xe2\x80\xa6\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x80\xa6\xf0\x9f\x98\x80");
  for (const char* broken : {"\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf8", "\xe2\x80", "\xef\xbf\xbf", "\x80"})
    EXPECT_THAT(escaped(broken), AllOf(HasSubstr("\xef\xbf\xbd"), Not(HasSubstr(broken)))) << broken;
}

TEST(ViewText, CutTextsFit) {
  const std::string text =
      "Wm\xc3\xa9"
      "i a long name of a machine";
  for (double width = 0; width < 200; width += 0.7) {
    const std::string cut = fitted(text, width, 11, true);
    EXPECT_LE(text_width(cut, 11, true), width);
    EXPECT_EQ(escaped(cut).find("\xef\xbf\xbd"), std::string::npos);
  }
  EXPECT_EQ(fitted(text, 1000, 11), text);
  EXPECT_EQ(first_fitting({"long words", "short"}, 40, 11), "short");
}

TEST(Rings, LinksCrossLittle) {
  const auto ring = [](const std::vector<Chord>& chords, int n) { return ring_order(n, chords); };
  EXPECT_THAT(ring({{0, 2}, {2, 1}, {1, 3}, {3, 0}}, 4),
              AnyOf(ElementsAre(0, 2, 1, 3), ElementsAre(0, 3, 1, 2)));
  std::vector<Chord> all;
  for (int b = 1; b < 6; ++b) {
    for (int a = 0; a < b; ++a) all.push_back({a, b});
  }
  EXPECT_THAT(ring(all, 6), ElementsAre(0, 1, 2, 3, 4, 5));
}

const char* const kHosts[] = {
    "(1 gpu)",
    "(4 nic 12.5)",
    "(1 gpu, 1 nic 25)",
    "(2 gpu mesh 50, 1 nic 25)",
    "(3 gpu ring 46, 1 nic 25)",
    "(4 gpu pcie 32, 1 nic 12.5)",
    "(2 numa, 4 gpu mesh 64)",
    "(2 numa, 8 gpu nvswitch 450 pcie 63, 8 nic 50)",
    "(8 gpu cube 25 pcie 16, 4 nic 12.5)",
    "(8 gpu nvswitch 450, 16 nic 25)",
    "(4 numa, 8 gpu mesh 64 pcie 63, 8 nic 50)",
    "(8 numa, 16 gpu nvswitch 900 pcie 126, 16 nic 100)",
    "(16 gpu mi250 50, 8 nic 25)",
    "(2 numa, 16 gpu mesh 64, 1 nic 0.125)",
    "(12 numa, 5 gpu, 3 nic 25)",
    "(2 numa, 8 gpu nvswitch 450, 40 nic 12.5)",
    "(72 gpu nvswitch 900, 72 nic 50)",
    "(64 gpu mesh 1, 2 nic 1)",
    "(1024 gpu, 1024 nic 1, 1000 numa)",
};

TEST(HostView, NothingOverlaps) {
  for (const char* line : kHosts) {
    const Graph graph = make_graph(line);
    const Drawing drawing = layout_of_host(graph, graph.all(NodeKind::host)[0]);
    EXPECT_EQ(complaint(drawing), "") << line;
    EXPECT_GT(elements(svg_of_host(graph, 0)), 5u) << line;
  }
  for (int gpus = 1; gpus <= 16; ++gpus) {
    for (int nics = 0; nics <= 9; nics += 3) {
      for (const char* wiring : {"", "nvswitch 450", "mesh 64", "ring 25"}) {
        const std::string more = nics > 0 ? fmt::format(", {} nic 12.5", nics) : "";
        const std::string line = fmt::format("(2 numa, {} gpu {}{})", gpus, wiring, more);
        const Graph graph = make_graph(line);
        EXPECT_EQ(complaint(layout_of_host(graph, 0)), "") << line;
      }
    }
  }
}

TEST(HostView, ShowsAllThatIsThere) {
  const Graph graph = make_graph("(2 numa, 8 gpu nvswitch 450 pcie 63, 8 nic 50)");
  const Drawing drawing = layout_of_host(graph, 0);
  EXPECT_EQ(count(drawing, BoxStyle::head), 2u);
  EXPECT_EQ(count(drawing, BoxStyle::bridge), 8u);
  EXPECT_EQ(count(drawing, BoxStyle::gpu), 8u);
  EXPECT_EQ(count(drawing, BoxStyle::nic), 8u);
  EXPECT_EQ(count(drawing, BoxStyle::nvswitch), 1u);
  EXPECT_EQ(count(drawing, LinkKind::nvlink), 8u);
  EXPECT_EQ(count(drawing, LinkKind::pci), 24u);
  EXPECT_EQ(count(drawing, LinkKind::cpu), 1u);
  EXPECT_THAT(all_texts(drawing), AllOf(HasSubstr("450 GB/s"), HasSubstr("63 GB/s"), HasSubstr("16 GB/s"),
                                        HasSubstr("nic7"), HasSubstr("NVLink 450 GB/s")));
}

TEST(HostView, FastLinksAreWide) {
  const Graph graph = make_graph("(2 numa, 8 gpu nvswitch 450 pcie 63, 8 nic 50)");
  double nvlink = 0, pci = 0, cpu = 0;
  for (const Wire& wire : layout_of_host(graph, 0).wires) {
    if (wire.kind == LinkKind::nvlink) nvlink = wire.width;
    if (wire.kind == LinkKind::pci) pci = wire.width;
    if (wire.kind == LinkKind::cpu) cpu = wire.width;
  }
  EXPECT_GT(nvlink, 3 * pci);
  EXPECT_GT(pci, 1.5 * cpu);
}

TEST(HostView, MeshesStandOnRings) {
  const Graph graph = make_graph("(8 gpu cube 25 pcie 16, 4 nic 12.5)");
  const Drawing drawing = layout_of_host(graph, 0);
  EXPECT_EQ(count(drawing, BoxStyle::ring), 8u);
  EXPECT_EQ(count(drawing, LinkKind::nvlink), 16u);
  EXPECT_THAT(all_texts(drawing),
              AllOf(HasSubstr("16 of 28 pairs are connected"), HasSubstr("each GPU: 150 GB/s"),
                    HasSubstr("8 times 2 links of 25 GB/s")));
}

TEST(HostView, ManyNicsAreFolded) {
  const Graph graph = make_graph("(2 numa, 8 gpu nvswitch 450, 32 nic 12.5)");
  const Drawing drawing = layout_of_host(graph, 0);
  EXPECT_EQ(count(drawing, BoxStyle::gpu), 8u);
  EXPECT_EQ(count(drawing, BoxStyle::nic), 8u);
  EXPECT_THAT(all_texts(drawing),
              AllOf(HasSubstr("4 NICs\n50 GB/s"), HasSubstr("32 NICs, together 400 GB/s")));
}

TEST(FabricView, TheRateOfSeveralNicsIsThatOfAllTogether) {
  const Drawing drawing =
      layout_of_fabric(make_graph("4 x (8 gpu nvswitch 450, 8 nic 50) leaf by 2 spine 2"));
  std::string facts;
  for (const Box& box : drawing.boxes) facts += box.facts + "\n";
  EXPECT_THAT(facts, AllOf(HasSubstr("8 NICs, together 400 GB/s"), Not(HasSubstr("400 GB/s each"))));
}

TEST(HostView, WhatHasNoRoomIsSaid) {
  const Graph graph = make_graph("(1024 gpu mesh 1, 1024 nic 1, 20 numa)");
  const Drawing drawing = layout_of_host(graph, 0);
  EXPECT_EQ(complaint(drawing), "");
  EXPECT_LE(count(drawing, BoxStyle::gpu) + count(drawing, BoxStyle::nic), 40u);
  EXPECT_THAT(all_texts(drawing), HasSubstr("Not drawn: "));
}

TEST(HostView, BridgesInARowAreDots) {
  Odd odd("a");
  Index bridge = odd.bridge(odd.numa, "b0");
  odd.nic(bridge, "near", 100000);
  for (int i = 1; i <= 2; ++i) bridge = odd.bridge(bridge, fmt::format("b{}", i));
  odd.gpu(bridge, 0);
  Index deep = odd.numa;
  for (int i = 0; i < 2000; ++i) deep = odd.bridge(deep, fmt::format("deep{}", i));
  odd.gpu(deep, 1);
  ASSERT_TRUE(check(odd.graph).ok()) << check(odd.graph).message();
  const Drawing drawing = layout_of_host(odd.graph, odd.host);
  EXPECT_EQ(complaint(drawing), "");
  EXPECT_EQ(count(drawing, BoxStyle::bridge), 1u);
  EXPECT_EQ(count(drawing, BoxStyle::dot), 3u);
  EXPECT_LT(drawing.height, 600);
}

TEST(HostView, OddHosts) {
  Odd odd(
      "<&\">\x01\xff, a name that is much longer than any title that could ever fit in here, surely it is");
  const Index second = odd.node("1", 1);
  odd.graph.connect({odd.numa, second, LinkKind::cpu, 1, 0, 0, -1});
  const Index a = odd.gpu(odd.numa, 0), b = odd.gpu(second, 1);
  odd.graph.connect({a, odd.numa, LinkKind::c2c, 8, 450, 0, -1});
  odd.graph.connect({b, second, LinkKind::nvlink, 3, 75, 0, -1});
  odd.graph.connect({a, b, LinkKind::nvlink, 2, 50, 0.7, -1});
  odd.graph.add("part", b, PartitionFacts{0, "3g.40gb", ""});
  GpuFacts bare;
  odd.graph.add("on nothing", odd.host, bare);
  odd.graph.add("a NIC with a long name", odd.host, NicFacts{});
  const Index left = odd.graph.add("nvswitch", odd.host, NvSwitchFacts{});
  const Index right = odd.graph.add("right", odd.host, NvSwitchFacts{});
  odd.graph.connect({a, left, LinkKind::nvlink, 1, 25, 0, -1});
  odd.graph.connect({b, right, LinkKind::nvlink, 1, 25, 0, -1});
  odd.graph.connect({left, right, LinkKind::nvlink, 1, 25, 0, -1});
  odd.nic(odd.numa, "down", 0);
  ASSERT_TRUE(check(odd.graph).ok()) << check(odd.graph).message();
  const Drawing drawing = layout_of_host(odd.graph, odd.host);
  EXPECT_EQ(complaint(drawing), "");
  EXPECT_EQ(count(drawing, LinkKind::c2c), 1u);
  EXPECT_EQ(count(drawing, LinkKind::nvlink), 5u);
  EXPECT_THAT(all_texts(drawing), AllOf(HasSubstr("450 GB/s"), HasSubstr("1 part")));
  elements(svg_of_host(odd.graph, odd.host));
  elements(svg_of_fabric(odd.graph));
  EXPECT_THAT(html_of(odd.graph), Not(HasSubstr("<&")));
}

const char* const kClusters[] = {
    "(1 gpu)",
    "2 x (8 gpu nvswitch 300, 8 nic 25)",
    "2 x (8 gpu nvswitch 300, 8 nic 25) leaf 4:1",
    "6 x (8 gpu nvswitch 300, 2 nic 25) leaf by 2 4:1 spine 2",
    "12 x (8 gpu mesh 64, 8 nic 50) leaf by 1 spine 8",
    "16 x (4 gpu, 1 nic 12.5) leaf",
    "40 x (8 gpu mi250 50, 2 nic 25) leaf by 10 2:1 spine 4",
    "8 x (8 gpu nvswitch 450, 8 nic 50) rail leaf",
    "64 x (8 gpu nvswitch 450, 8 nic 50) rail leaf by 32 spine 8",
    "10 x (8 gpu, 4 nic 50) + 5 x (4 gpu, 2 nic 25) + (1 nic 12.5) leaf by 4 spine 3",
    "1250 x (2 numa, 8 gpu nvswitch 450 pcie 63, 8 nic 50) rail leaf by 32 spine 16",
    "1250 x (8 gpu, 1 nic 50) leaf by 1 spine 100",
    "300 x (1 gpu)",
};

TEST(FabricView, NothingOverlaps) {
  for (const char* line : kClusters) {
    const Graph graph = make_graph(line);
    const Drawing drawing = layout_of_fabric(graph);
    EXPECT_EQ(complaint(drawing), "") << line;
    EXPECT_LT(drawing.width, 2600) << line;
    elements(svg_of_fabric(graph));
  }
  for (int hosts = 1; hosts < 70; hosts += 3) {
    for (const char* fabric : {"leaf", "rail leaf", "leaf by 3 spine 2", "rail leaf by 5 3:1 spine 5"}) {
      const std::string line = fmt::format("{} x (8 gpu, 4 nic 25) {}", hosts, fabric);
      EXPECT_EQ(complaint(layout_of_fabric(make_graph(line))), "") << line;
    }
  }
  EXPECT_EQ(complaint(layout_of_fabric(Graph())), "");
}

TEST(FabricView, SmallOnesAreDrawnInFull) {
  const Drawing drawing =
      layout_of_fabric(make_graph("6 x (8 gpu nvswitch 300, 2 nic 25) leaf by 2 4:1 spine 2"));
  EXPECT_EQ(count(drawing, BoxStyle::fabric_switch), 5u);
  EXPECT_EQ(count(drawing, BoxStyle::host), 6u);
  EXPECT_EQ(count(drawing, LinkKind::cable), 12u);
  EXPECT_THAT(all_texts(drawing), AllOf(HasSubstr("oversubscribed 4:1"), HasSubstr("50 GB/s\n2 \xc3\x97 25"),
                                        HasSubstr("12 cables\n300 GB/s"), HasSubstr("host5\n8 GPUs")));
}

TEST(FabricView, LargeOnesAreFolded) {
  const Graph graph =
      make_graph("1250 x (2 numa, 8 gpu nvswitch 450 pcie 63, 8 nic 50) rail leaf by 32 spine 16");
  const FabricParts parts = fabric_parts_of(graph);
  ASSERT_EQ(parts.pods.size(), 2u);
  EXPECT_EQ(parts.pods[0].times, 39);
  EXPECT_EQ(parts.pods[0].leaves.size(), 8u);
  EXPECT_EQ(parts.pods[0].hosts.size(), 1u);
  EXPECT_EQ(parts.pods[1].hosts[0].size(), 2u);
  EXPECT_THAT(all_texts(layout_of_fabric(graph)),
              AllOf(HasSubstr("39 groups like this: 8 leaves, 32 hosts"), HasSubstr("32 hosts\n8 GPUs each"),
                    HasSubstr("1250 hosts\n10000 GPUs"), HasSubstr("10000 cables\n500000 GB/s"),
                    HasSubstr("16 spines"), HasSubstr("1600 GB/s\n32 \xc3\x97 50")));
}

TEST(FabricView, DifferentPodsBecomeARest) {
  std::string line;
  for (int i = 1; i < 12; ++i) line += fmt::format("{}6 x ({} gpu, 2 nic 25)", i > 1 ? " + " : "", i);
  line += " leaf by 2 spine 2";
  const FabricParts parts = fabric_parts_of(make_graph(line));
  ASSERT_EQ(parts.pods.size(), 6u);
  EXPECT_EQ(parts.pods[0].times, 3);
  EXPECT_TRUE(parts.pods[5].mixed);
  EXPECT_EQ(parts.pods[5].times, 3 * 6);
  size_t hosts = 0;
  for (const Block& block : parts.pods[5].hosts) hosts += block.size();
  EXPECT_EQ(hosts, 2 * 3 * 6u);
  EXPECT_EQ(complaint(layout_of_fabric(make_graph(line))), "");
}

TEST(FabricView, LevelsThatAreNotGivenAreCounted) {
  Graph graph = make_graph("4 x (1 gpu, 1 nic 25) leaf by 1 spine 2");
  for (const Index node : graph.all(NodeKind::fabric_switch)) graph.get<FabricSwitchFacts>(node)->level = 0;
  const FabricParts parts = fabric_parts_of(graph);
  ASSERT_EQ(parts.upper.size(), 1u);
  EXPECT_EQ(parts.upper[0].size(), 2u);
  EXPECT_EQ(parts.pods.size(), 4u);
  EXPECT_EQ(complaint(layout_of_fabric(graph)), "");
}

/// Racks of hosts whose GPUs share NVSwitches that stand outside of them, and hosts cabled to each other.
TEST(FabricView, HostsJoinedWithoutLeaves) {
  Graph graph = make_graph("4 x (4 gpu, 2 nic 50)");
  const Index shared = graph.add("tray", kNone, NvSwitchFacts{});
  for (const Index gpu : graph.all(NodeKind::gpu))
    graph.connect({gpu, shared, LinkKind::nvlink, 18, 900, 0, -1});
  const std::vector<Index> ports = graph.all(NodeKind::port);
  graph.connect({ports[0], ports[3], LinkKind::cable, 1, 50, 0, -1});
  graph.connect({ports[1], ports[6], LinkKind::cable, 1, 50, 0, -1});
  ASSERT_TRUE(check(graph).ok()) << check(graph).message();
  const Drawing drawing = layout_of_fabric(graph);
  EXPECT_EQ(complaint(drawing), "");
  EXPECT_EQ(count(drawing, BoxStyle::nvswitch), 1u);
  EXPECT_EQ(count(drawing, LinkKind::nvlink), 4u);
  EXPECT_EQ(count(drawing, LinkKind::cable), 2u);
  EXPECT_EQ(complaint(layout_of_host(graph, 0)), "");
  EXPECT_EQ(count(layout_of_host(graph, 0), LinkKind::nvlink), 4u);
}

TEST(Page, IsOneFileWithOneHostOfEachClass) {
  const std::string page =
      html_of(make_graph("1250 x (8 gpu nvswitch 450, 8 nic 50) + 3 x (4 gpu, 1 nic 25) leaf by 32 spine 2"));
  size_t drawings = 0;
  for (size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) ++drawings;
  EXPECT_EQ(drawings, 3u);
  EXPECT_LT(page.size(), 200000u);
  EXPECT_THAT(page, AllOf(HasSubstr("10012 GPUs in 1253 hosts"), HasSubstr("1250 hosts of this class"),
                          HasSubstr("prefers-color-scheme"), Not(HasSubstr("src=")), Not(HasSubstr("href=")),
                          Not(HasSubstr("url("))));
  const size_t script = page.find("<script>"), end = page.find("</script>");
  elements(page.substr(page.find("<html"), script - page.find("<html")) + page.substr(end + 9));
}

TEST(Page, ManyClassesAreCutWithAWord) {
  std::string line;
  for (int i = 1; i <= 30; ++i) line += fmt::format("{}({} gpu)", i > 1 ? " + " : "", i);
  const std::string page = html_of(make_graph(line));
  EXPECT_THAT(page, HasSubstr("There are 30 classes of hosts; the 24 with the most hosts are shown"));
}

TEST(Html, SaysNothingOfWhatIsNotThere) {
  const std::string page = html_of(make_graph("(2 nic 25)"));
  EXPECT_THAT(page, HasSubstr("<title>1 host</title>"));
  EXPECT_THAT(page, Not(HasSubstr("0 GPU")));
  EXPECT_THAT(html_of(make_graph("(2 gpu mesh 50)")), Not(HasSubstr("0 NIC")));
}

TEST(Svg, BoxesHaveRoomForTheModelOfAGpu) {
  Graph graph = make_graph("(3 gpu mesh 50)");
  const auto gpus = graph.all(NodeKind::gpu);
  const char* const names[] = {"NVIDIA H100 80GB HBM3", "AMD Instinct MI300X OAM", "Tesla V100-SXM2-32GB"};
  for (size_t i = 0; i < 3; ++i) graph.get<GpuFacts>(gpus[i])->model_name = names[i];
  for (const char* words : {">H100<", ">MI300X<", ">V100<"})
    EXPECT_THAT(svg_of_host(graph, graph.all(NodeKind::host)[0]), HasSubstr(words));
}

TEST(Views, TrafficColoursWires) {
  const Graph graph = make_graph("(3 gpu mesh 50)");
  LinkTraffic traffic{std::vector<double>(graph.links().size())};
  double share = 1;
  for (size_t link = 0; link < traffic.bytes.size(); ++link) {
    if (graph.links()[link].kind != LinkKind::nvlink || graph.links()[link].from > graph.links()[link].to)
      continue;
    traffic.bytes[link] = share * 1e9;
    share /= 2;
  }
  std::vector<double> busy;
  for (const Wire& wire : layout_of_host(graph, 0, "", traffic).wires) {
    if (wire.kind == LinkKind::nvlink) busy.push_back(wire.busy);
  }
  std::sort(busy.begin(), busy.end());
  EXPECT_EQ(busy, (std::vector<double>{0.25, 0.5, 1}));
  const std::string svg = svg_of_host(graph, 0, traffic);
  for (const char* part : {"class=\"heat1\"", "class=\"heat2\"", "class=\"heat5\"",
                           "carries 0.25 GB both ways, busy 25%", "the busiest"})
    EXPECT_THAT(svg, HasSubstr(part));
  EXPECT_THAT(svg_of_host(graph, 0), Not(HasSubstr("class=\"heat")));
  for (const Wire& wire : layout_of_host(graph, 0).wires) EXPECT_EQ(wire.busy, -1);
}

}  // namespace
}  // namespace weir::topology
