// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/replaced.h"
#include "topology/formats/nccl_graph_xml.h"
#include "topology/model/paths.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Two H100 behind a switch with their NIC, an NVSwitch that is seen, one that is not.
constexpr const char* kNvidia = R"(<?xml version="1.0"?>
<system version="1" name="my host">
	<cpu numaid="0" affinity="ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:05:00.0" count="16" tclass="0x068000"/>
          <nvlink target="fffffff:ffff:ff" count="2" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:1A:00.0" class="0x030200" link_speed="16 GT/s" link_width="8">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:05:00.0" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:12:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0xabc" maxconn="131072" gdr="1" rail="0"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <nic><net name="eth0" dev="1" speed="10000" port="0" latency="2.5" gdr="0" coll="1"/></nic>
  </cpu>
</system>
)";

TEST(NcclXml, AMachineOfNvidia) {
  auto file = read_nccl_xml({"a.xml", kNvidia});
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Graph& graph = file->graph;
  EXPECT_EQ(graph[graph.all(NodeKind::host)[0]].name, "my host");
  const auto gpus = graph.all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(graph.get<GpuFacts>(gpus[0])->arch, "sm_90");
  EXPECT_EQ(graph.get<GpuFacts>(gpus[1])->pci.address, "0000:1a:00.0");
  EXPECT_THAT(graph.all(NodeKind::nvswitch), SizeIs(2));
  EXPECT_THAT(graph.all(NodeKind::nic), SizeIs(2));
  const Adjacency adjacency(graph);
  const Paths paths(graph, adjacency, gpus[0]);
  EXPECT_EQ(paths.to(gpus[1]).path_class, PathClass::nvl);
  EXPECT_EQ(paths.to(gpus[1]).gb_per_s, 400);
  const Path to_nic = paths.to(graph.all(NodeKind::port)[0]);
  EXPECT_EQ(to_nic.path_class, PathClass::pix);
  EXPECT_EQ(to_nic.gb_per_s, 50);
  EXPECT_EQ(paths.to(graph.all(NodeKind::port)[1]).path_class, PathClass::sys);
  auto again = read_nccl_xml({"b.xml", write_nccl_xml(*file)});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *file);
}

constexpr const char* kAmdSystem = R"(<system version="2">
  <cpu host_hash="0x1f" numaid="-1" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="0000:01:00.0" class="0x038000" vendor="0x1002" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="104" gcn="910" arch="38911" rank="0" gdr="1">
        <xgmi target="0000:02:00.0" count="4" tclass="0x120000"/>
        <c2c count="2" bw="50000"/>
      </gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x120000" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="104" gcn="gfx90a" rank="1" gdr="1"><xgmi target="0000:01:00.0" count="4" tclass="0x038000"/></gpu>
    </pci>
    <pci busid="0000:03:00.0" class="0x060400" link_speed="" link_width="0">
      <pcilink target="0000:04:00.0"/>
    </pci>
  </cpu>
  <cpu host_hash="0x2f" numaid="-1" arch="x86_64"/>
</system>)";

TEST(NcclXml, MachinesOfAmd) {
  auto file = read_nccl_xml({"a.xml", kAmdSystem});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->dialect, NcclDialect::rccl);
  EXPECT_EQ(dialect_of(file->graph), NcclDialect::rccl);
  const Graph& graph = file->graph;
  EXPECT_THAT(graph.all(NodeKind::host), SizeIs(2));
  const auto gpus = graph.all(NodeKind::gpu);
  EXPECT_EQ(graph.get<GpuFacts>(gpus[0])->arch, "gfx90a");
  EXPECT_EQ(graph.get<GpuFacts>(gpus[0])->units, 104);
  const Adjacency adjacency(graph);
  EXPECT_EQ(Paths(graph, adjacency, gpus[0]).to(gpus[1]).gb_per_s, 200);
  auto again = read_nccl_xml({"b.xml", write_nccl_xml(*file)});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *file);
}

TEST(NcclXml, SwitchesOfOneFabricAreNear) {
  std::string text = "<system version=\"1\">\n";
  for (int i = 0; i < 2; ++i) {
    const std::string peer = i == 0 ? "2" : "1";
    text += "<cpu numaid=\"" + std::to_string(i) +
            "\" arch=\"x86_64\"><pci busid=\"0000:" + std::to_string(i + 1) +
            "0:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><pcilink "
            "target=\"0000:" +
            peer + "0:00.0\"/><pci busid=\"0000:" + std::to_string(i + 1) +
            "1:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
            std::to_string(i) + "\" sm=\"90\"/></pci></pci></cpu>\n";
  }
  auto file = read_nccl_xml({"a.xml", text + "</system>"});
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto gpus = file->graph.all(NodeKind::gpu);
  const Path path = Paths(file->graph, Adjacency(file->graph), gpus[0]).to(gpus[1]);
  EXPECT_EQ(path.path_class, PathClass::pxb);
  EXPECT_DOUBLE_EQ(path.gb_per_s, pcie_gb_per_s(32, 16));
  auto again = read_nccl_xml({"b.xml", write_nccl_xml(*file)});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *file);
}

TEST(NcclXml, BadFilesAreRefusedWithTheirLine) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"version=\"1\" name", "version=\"3\" name", "a.xml:2: unknown version 3 of the format"},
      {"<system version=\"1\"", "<system", "a.xml:2: <system> has no attribute version"},
      {"<cpu numaid=\"0\"", "<cpu", "a.xml:3: <cpu> has no attribute numaid"},
      {"familyid=\"6\"", "familyid=\"six\"", "a.xml:3: familyid of <cpu> is \"six\""},
      {"busid=\"0000:1A:00.0\"", "busid=\"0000:11:00.0\"",
       "a.xml:11: duplicate busid 0000:11:00.0; the first is in line 5"},
      {"busid=\"0000:10:00.0\" ", "", "a.xml:4: <pci> has no attribute busid"},
      {"32.0 GT/s PCIe", "fast", "a.xml:4: link_speed of <pci> is \"fast\""},
      {"link_width=\"16\"", "link_width=\"-1\"", "a.xml:4: link_width of <pci> is \"-1\""},
      {"<gpu dev=\"0\"", "<gpu", "a.xml:6: <gpu> has no attribute dev"},
      {"<gpu dev=\"1\"", "<gpu dev=\"0\"", "GPU number 0"},
      {"rank=\"1\"", "rank=\"0\"", "rank 0"},
      {"count=\"16\"", "count=\"0\"", "a.xml:7: count of <nvlink> is \"0\""},
      {"0000:05:00.0\" count=\"16\" tclass=\"0x068000\"", "0000:99:00.0\" count=\"16\" tclass=\"0x030200\"",
       "a.xml:7: target 0000:99:00.0 of <nvlink> is not in the file"},
      {"0000:05:00.0\" count=\"16\"", "0000:11:00.0\" count=\"16\"", "this very GPU"},
      {"0000:05:00.0\" count=\"16\" tclass=\"0x068000\"", "0000:1a:00.0\" count=\"16\" tclass=\"0x030200\"",
       "16 NVLink links from"},
      {"speed=\"400000\"", "speed=\"0\"", "a.xml:18: speed of <net> mlx5_0 is missing or 0"},
      {"guid=\"0xabc\"", "guid=\"xyz\"", "a.xml:18: guid of <net>"},
      {"<nic>\n", "<nic><wlan/>\n", "a.xml:17: unknown element <wlan> in <nic>"},
      {"gdr=\"1\">", "gdr=\"1\" color=\"red\">", "a.xml:6: unknown attribute color of <gpu>"},
      {"</cpu>\n  <cpu", "\n  <cpu", "not well-formed XML"},
  };
  for (const auto& [what, by, sentence] : cases) {
    const auto file = read_nccl_xml({"a.xml", replaced(kNvidia, what, by)});
    EXPECT_EQ(file.status().code(), Code::invalid_argument) << by;
    EXPECT_THAT(file.status().message(), HasSubstr(sentence));
  }
  EXPECT_THAT(read_nccl_xml({"a.xml", "<graphs/>"}).status().message(), HasSubstr("expected <system>"));
  EXPECT_THAT(read_nccl_xml({"a.xml", "<system version='1'/>"}).status().message(), HasSubstr("no <cpu>"));
}

TEST(NcclXml, WithNotesWhatIsUnknownIsLeftOut) {
  Notes notes;
  const std::string text =
      replaced(replaced(kNvidia, "<nic>\n", "<nic><wlan/>\n"), "speed=\"400000\"", "speed=\"-1\"");
  auto file = read_nccl_xml({"a.xml", text}, &notes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(notes, ElementsAre(HasSubstr("a.xml:17: unknown element <wlan>"),
                                 HasSubstr("a.xml:18: speed of <net> mlx5_0")));
}

TEST(NcclXml, ALinkToTheGpuItselfIsIgnored) {
  const std::string text = replaced(kNvidia, "0000:05:00.0\" count=\"16\"", "0000:11:00.0\" count=\"16\"");
  Notes notes;
  auto file = read_nccl_xml({"a.xml", text}, &notes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(notes,
              ElementsAre("a.xml:7: target 0000:11:00.0 of <nvlink> is this very GPU; the link is ignored"));
  for (const Link& link : file->graph.links()) EXPECT_NE(link.count, 16);
}

TEST(NcclXml, ASwitchWithTheAddressOfAnotherIsASecondOne) {
  const std::string text = replaced(
      replaced(kNvidia, "      <pci busid=\"0000:1A:00.0\"",
               "    </pci>\n<pci busid=\"0000:10:00.0\" class=\"0x060400\" link_speed=\"8 GT/s\" "
               "link_width=\"16\">\n      <pci busid=\"0000:1A:00.0\""),
      "<nic><net name=\"eth0\"", "<pci busid=\"0000:10:00.0\" class=\"0x060400\"/>\n<nic><net name=\"eth0\"");
  EXPECT_THAT(read_nccl_xml({"a.xml", text}).status().message(),
              HasSubstr("a.xml:12: duplicate busid 0000:10:00.0; the first is in line 4"));
  Notes notes;
  auto file = read_nccl_xml({"a.xml", text}, &notes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(
      notes, ElementsAre(HasSubstr("it counts as another bridge"), HasSubstr("it counts as another bridge")));
  const Graph& graph = file->graph;
  const auto gpus = graph.all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_THAT(graph.all(NodeKind::bridge), SizeIs(3));
  EXPECT_EQ(graph[graph[gpus[0]].parent].name, "0000:10:00.0");
  EXPECT_EQ(graph[graph[gpus[1]].parent].name, "0000:10:00.0#2");
  auto again = read_nccl_xml({"b.xml", write_nccl_xml(*file)}, &notes);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *file);
}

TEST(NcclXml, AGpuThatOccursTwiceIsReadOnce) {
  Notes notes;
  auto file = read_nccl_xml({"a.xml", replaced(kNvidia, "0000:1A:00.0", "0000:11:00.0")}, &notes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(notes, ElementsAre(HasSubstr("the first is in line 5; this one is ignored")));
  EXPECT_THAT(file->graph.all(NodeKind::gpu), SizeIs(1));

  notes.clear();
  file = read_nccl_xml({"a.xml", replaced(kNvidia, "<gpu dev=\"1\"", "<gpu dev=\"0\"")}, &notes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(notes, ElementsAre(HasSubstr("GPU number 0 occurs twice; this GPU gets a free number")));
  ASSERT_THAT(file->graph.all(NodeKind::gpu), SizeIs(2));
  EXPECT_EQ(file->graph.get<GpuFacts>(file->graph.all(NodeKind::gpu)[1])->device, 1);
}

/// Every beginning of a file is refused or read, and never crashes.
TEST(NcclXml, TruncatedFiles) {
  const std::string whole = kNvidia;
  for (size_t length = 0; length < whole.size() - 10; ++length) {
    EXPECT_FALSE(read_nccl_xml({"a.xml", std::string_view(whole).substr(0, length)}).ok()) << length;
  }
}

constexpr const char* kGraphs = R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="24" speedinter="12.5" latencyinter="0" typeintra="NVL" typeinter="PXN" samechannels="1">
    <channel><net dev="1a"/><gpu dev="0" rank="0"/><gpu dev="f" rank="1"/><net dev="0"/></channel>
    <channel><gpu dev="0"/><gpu dev="1"/></channel>
  </graph>
</graphs>)";

TEST(NcclGraphXml, ReadsAndWrites) {
  auto graphs = read_nccl_graph_xml({"g.xml", kGraphs});
  ASSERT_TRUE(graphs.ok()) << graphs.status().message();
  ASSERT_THAT(*graphs, SizeIs(1));
  const ChannelGraph& graph = (*graphs)[0];
  EXPECT_EQ(graph.channels[0][0].device, 26);
  EXPECT_TRUE(graph.channels[0][0].is_net);
  EXPECT_EQ(graph.channels[0][2].rank, 1);
  EXPECT_EQ(graph.type_inter, PathClass::pxn);
  auto again = read_nccl_graph_xml({"h.xml", write_nccl_graph_xml(*graphs)});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *graphs);
}

TEST(NcclGraphXml, BadFiles) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"nchannels=\"2\"", "nchannels=\"3\"",
       "g.xml:2: the graph has 2 channels; expected 3, the value of nchannels"},
      {"typeintra=\"NVL\"", "typeintra=\"FAST\"", "g.xml:2: typeintra of <graph> is \"FAST\""},
      {"dev=\"1a\"", "dev=\"zz\"", "g.xml:3: dev of <net>"},
      {"<graphs version=\"1\"", "<graphs version=\"2\"", "g.xml:1: version of <graphs>"},
      {"<gpu dev=\"1\"/>", "<tpu/>", "g.xml:4: unknown element <tpu> in <channel>"},
      {"<gpu dev=\"0\"/><gpu dev=\"1\"/>", "", "g.xml:4: the channel is empty"},
  };
  for (const auto& [what, by, sentence] : cases) {
    EXPECT_THAT(read_nccl_graph_xml({"g.xml", replaced(kGraphs, what, by)}).status().message(),
                HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace weir::topology
