// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/hwloc_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc.h>

#include <memory>

#include "tests/topology/hwloc_machines.h"
#include "tests/topology/replaced.h"
#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

HwlocXml hwloc_xml_of(const std::string& text) {
  auto document = read_hwloc_xml({"m.xml", text});
  EXPECT_TRUE(document.ok()) << document.status().message();
  return document.ok() ? *document : HwlocXml{};
}

std::string hwloc_xml_error(const std::string& text) {
  return read_hwloc_xml({"m.xml", text}).status().message();
}

/// A machine with that inside and that behind.
std::string machine(const std::string& inside, const std::string& behind = "") {
  return "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" "
         "gp_index=\"1\">\n" +
         inside + "</object>\n" + behind + "</topology>\n";
}

TEST(HwlocXml, FieldsAreRead) {
  const HwlocXml document = hwloc_xml_of(kHwloc2);
  EXPECT_EQ(document.version, "2.0");
  EXPECT_THAT(document.machine.infos, ElementsAre(Pair("HostName", "node7"), Pair("Architecture", "x86_64"),
                                                  Pair("DMIBoardAssetTag", "")));
  ASSERT_EQ(document.machine.children.size(), 2u);
  const HwlocObject& package = document.machine.children[0];
  EXPECT_EQ(package.type, "Package");
  EXPECT_EQ(package.infos.back().second, "Some \"CPU\"   ");
  EXPECT_THAT(package.attributes,
              ElementsAre(Pair("complete_cpuset", "0x00000003"), Pair("complete_nodeset", "0x00000001")));
  EXPECT_EQ(package.children[0].local_memory, 8589934592);
  EXPECT_EQ(package.children[0].others[0].name, "page_type");
  const HwlocObject& port = package.children[1].children[0];
  EXPECT_EQ(port.bridge_type, "1-1");
  EXPECT_EQ(port.pci_busid, "0000:00:01.0");
  EXPECT_EQ(port.pci_link_speed, 31.507692);
  ASSERT_EQ(document.distances.size(), 2u);
  EXPECT_TRUE(document.distances[0].by_os_index);
  EXPECT_EQ(document.distances[1].name, "NVLinkBandwidth");
  EXPECT_EQ(document.distances[1].kind, 9);
  EXPECT_EQ(document.distances[1].objects[1].index, 35);
  EXPECT_THAT(document.distances[1].values, ElementsAre(1000000, 50000, 50000, 1000000));
  EXPECT_EQ(document.others[1].children[0].name, "info");
}

TEST(HwlocXml, VersionOneHasLatencies) {
  const HwlocXml document = hwloc_xml_of(kHwloc1);
  EXPECT_EQ(document.version, "");
  ASSERT_EQ(document.machine.latencies.size(), 1u);
  EXPECT_EQ(document.machine.latencies[0].objects, 3);
  EXPECT_EQ(document.machine.latencies[0].base, 10);
  EXPECT_EQ(document.machine.latencies[0].values[2], 8.5);
  EXPECT_EQ(document.machine.children[0].children[0].type, "Socket");
}

TEST(HwlocXml, WrittenAndReadAgainIsTheSame) {
  for (const char* text : {kHwloc2, kHwloc1}) {
    const HwlocXml document = hwloc_xml_of(text);
    const std::string written = write_hwloc_xml(document);
    EXPECT_EQ(hwloc_xml_of(written), document);
    EXPECT_EQ(write_hwloc_xml(hwloc_xml_of(written)), written);
  }
  const std::string odd = machine("<info name=\"a&#10;b&#9;&lt;\" value=\"&quot;&amp;\xc3\xa9\"/>",
                                  "<userdata name=\"u\">text &lt; &#13;</userdata>"
                                  "<distances2hetero nbobjs=\"1\" kind=\"25\" name=\"M\">"
                                  "<indexes length=\"10\">Machine:1 </indexes>"
                                  "<u64values length=\"2\">7 </u64values></distances2hetero>");
  const HwlocXml document = hwloc_xml_of(odd);
  EXPECT_EQ(document.machine.infos[0].first, "a\nb\t<");
  EXPECT_EQ(hwloc_xml_of(write_hwloc_xml(document)), document);
}

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};

/// How many packages, NUMA nodes, PCI functions and devices of the OS hwloc itself finds in a text.
std::vector<int> counted_by_hwloc(const std::string& text) {
  hwloc_topology_t raw = nullptr;
  EXPECT_EQ(hwloc_topology_init(&raw), 0);
  const std::unique_ptr<hwloc_topology, Destroy> topology(raw);
  EXPECT_EQ(hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL), 0);
  EXPECT_EQ(hwloc_topology_set_xmlbuffer(raw, text.c_str(), static_cast<int>(text.size()) + 1), 0);
  EXPECT_EQ(hwloc_topology_load(raw), 0);
  std::vector<int> counts;
  for (const auto type :
       {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_BRIDGE, HWLOC_OBJ_PCI_DEVICE, HWLOC_OBJ_OS_DEVICE})
    counts.push_back(hwloc_get_nbobjs_by_type(raw, type));
  return counts;
}

TEST(HwlocXml, HwlocLoadsWhatIsWritten) {
  EXPECT_THAT(counted_by_hwloc(write_hwloc_xml(hwloc_xml_of(kHwloc2))), ElementsAre(2, 2, 11, 5, 6));
  EXPECT_THAT(counted_by_hwloc(write_hwloc_xml(hwloc_xml_of(kHwloc1))), ElementsAre(1, 3, 1, 1, 1));
  EXPECT_EQ(counted_by_hwloc(kHwloc2), counted_by_hwloc(write_hwloc_xml(hwloc_xml_of(kHwloc2))));
}

TEST(HwlocXml, WhatIsNoMachineIsRefused) {
  EXPECT_EQ(hwloc_xml_error("<root/>"), "m.xml:1: the root element is <root>; expected <topology>");
  EXPECT_THAT(hwloc_xml_error("<topology version=\"4.0\"/>"),
              HasSubstr("version of <topology> is \"4.0\"; expected 2.x"));
  EXPECT_THAT(hwloc_xml_error("<topology version=\"2.0\"/>"), HasSubstr("contains no object"));
  EXPECT_THAT(hwloc_xml_error("<topology><object type=\"Core\"/></topology>"),
              HasSubstr("type of <object> is \"Core\"; expected Machine"));
  EXPECT_THAT(hwloc_xml_error(machine("", "<object type=\"Machine\"/>")),
              HasSubstr("m.xml:4: <topology> contains a second"));
  EXPECT_THAT(hwloc_xml_error(std::string("<topology>\n\0</topology>", 23)),
              HasSubstr("m.xml:2: the file contains a zero byte"));
  EXPECT_THAT(hwloc_xml_error(std::string(kHwloc2).substr(0, 3000)), HasSubstr("not well-formed"));
}

TEST(HwlocXml, WrongFieldsAreRefusedWithTheirLine) {
  const auto wrong = [](const std::string& object) {
    return hwloc_xml_error(machine("<object " + object + "/>\n"));
  };
  EXPECT_EQ(wrong("type=\"PU\" os_index=\"-1\""),
            "m.xml:3: os_index of <object> is \"-1\"; expected a whole number from 0 to 4294967295");
  EXPECT_THAT(wrong("type=\"PU\" gp_index=\"99999999999999999999\""), HasSubstr("gp_index of <object>"));
  EXPECT_THAT(wrong("type=\"PU\" cpuset=\"xyz\""), HasSubstr("cpuset of <object> is \"xyz\""));
  EXPECT_THAT(wrong("type=\"PU\" depth=\"1\" depth=\"2\""), HasSubstr("has the attribute depth twice"));
  EXPECT_THAT(wrong("os_index=\"1\""), HasSubstr("<object> has no attribute type"));
  EXPECT_THAT(wrong("type=\"NUMANode\""), HasSubstr("a NUMANode without os_index"));
  EXPECT_THAT(wrong("type=\"PCIDev\" pci_busid=\"0000:01:00.0\""), HasSubstr("needs pci_busid and pci_type"));
  EXPECT_THAT(wrong("type=\"PCIDev\" pci_busid=\"0000:01:00.9\""), HasSubstr("expected like 0000:3b:00.0"));
  EXPECT_THAT(wrong("type=\"PCIDev\" pci_type=\"0302 [10de] a1\""),
              HasSubstr("expected class, [vendor:device]"));
  EXPECT_THAT(wrong("type=\"Bridge\" bridge_type=\"2-1\""), HasSubstr("expected 0-1"));
  EXPECT_THAT(wrong("type=\"Bridge\" bridge_pci=\"0000:[1-2]\""), HasSubstr("expected like 0000:[3b-40]"));
  EXPECT_THAT(wrong("type=\"Bridge\" bridge_type=\"1-1\" bridge_pci=\"0000:[01-02]\""),
              HasSubstr("1-1 needs pci_busid"));
  EXPECT_THAT(wrong("type=\"PCIDev\" pci_link_speed=\"nan\""),
              HasSubstr("pci_link_speed of <object> is \"nan\""));
  EXPECT_THAT(wrong("type=\"PU\" gp_index=\"5\" id=\"obj6\""), HasSubstr("expected obj5, to match gp_index"));
  EXPECT_THAT(hwloc_xml_error(machine("<info value=\"x\"/>")), HasSubstr("<info> has no attribute name"));
}

TEST(HwlocXml, WhatIsThereOnceIsNotTwice) {
  EXPECT_THAT(hwloc_xml_error(machine("<object type=\"PU\" gp_index=\"1\"/>")),
              HasSubstr("second object with gp_index 1"));
  EXPECT_THAT(hwloc_xml_error(machine(
                  "<object type=\"NUMANode\" os_index=\"2\"/>\n<object type=\"NUMANode\" os_index=\"2\"/>")),
              HasSubstr("m.xml:4: a second object with NUMA node 2; the first is in line 3"));
  const std::string twice = replaced(kHwloc2, "pci_busid=\"0000:81:00.0\"", "pci_busid=\"0000:03:00.0\"");
  EXPECT_THAT(hwloc_xml_error(twice), HasSubstr("second object with pci_busid 0000:03:00.0"));
  Notes notes;
  EXPECT_TRUE(read_hwloc_xml({"m.xml", twice}, &notes).ok());
  EXPECT_EQ(notes.size(), 1u);
}

TEST(HwlocXml, MatricesAreComplete) {
  const auto matrix = [](const std::string& inside) {
    return hwloc_xml_error(machine(
        "",
        "<distances2 type=\"Machine\" nbobjs=\"1\" kind=\"5\" indexing=\"os\">" + inside + "</distances2>"));
  };
  const std::string index = "<indexes length=\"2\">0 </indexes>";
  EXPECT_EQ(matrix(index + "<u64values length=\"2\">1 </u64values>"), "");
  EXPECT_THAT(matrix(index), HasSubstr("of 1 objects has 1 indexes and 0 values; expected 1 and 1"));
  EXPECT_THAT(matrix(index + "<u64values length=\"2\">x </u64values>"),
              HasSubstr("a value of <u64values> is \"x\""));
  EXPECT_THAT(matrix("<indexes length=\"2\">9 </indexes><u64values length=\"2\">1 </u64values>"),
              HasSubstr("refers to Machine with os_index 9, which is not in the file"));
  EXPECT_THAT(matrix("<other/>"), HasSubstr("expected <indexes> or <u64values>"));
  EXPECT_THAT(
      hwloc_xml_error(replaced(kHwloc2, "<indexes length=\"6\">16 35", "<indexes length=\"6\">16 16")),
      HasSubstr("with gp_index 16 twice"));
  EXPECT_THAT(hwloc_xml_error(replaced(kHwloc2, "nbobjs=\"2\"", "nbobjs=\"2147483647\"")),
              HasSubstr("has 2 indexes"));
  EXPECT_THAT(hwloc_xml_error(replaced(kHwloc1, "<latency value=\"8.500000\"/>", "")),
              HasSubstr("<distances> of 3 objects has 8 latencies; expected 9"));
}

TEST(HwlocXml, WhatIsNotKnownIsNoted) {
  const std::string text =
      machine("<object type=\"Quark\" os_index=\"7\" spin=\"1\"/>\n<strange a=\"1\"/>\nstray\n",
              "<novelty><deep/></novelty>\n");
  EXPECT_THAT(hwloc_xml_error(text), HasSubstr("unexpected text inside <object>"));
  Notes notes;
  auto document = read_hwloc_xml({"m.xml", text}, &notes);
  ASSERT_TRUE(document.ok()) << document.status().message();
  EXPECT_THAT(notes, ElementsAre(HasSubstr("m.xml:2: unexpected text"),
                                 HasSubstr("m.xml:3: unknown object type Quark"),
                                 HasSubstr("m.xml:4: unknown element <strange> in an object"),
                                 HasSubstr("<novelty> in <topology>")));
  EXPECT_EQ(document->machine.children[0].attributes[0].first, "spin");
  EXPECT_EQ(document->machine.others[0].name, "strange");
  EXPECT_EQ(document->others[0].children[0].name, "deep");
  Notes more;
  auto again = read_hwloc_xml({"w.xml", write_hwloc_xml(*document)}, &more);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *document);
}

}  // namespace
}  // namespace weir::topology
