// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/formats/xml.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Need = XmlFile::Need;

TEST(Source, LinesAreCounted) {
  Lines lines("one\r\n\ntwo");
  std::string_view line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "one");
  ASSERT_TRUE(lines.next(line) && lines.next(line));
  EXPECT_EQ(line, "two");
  EXPECT_EQ(lines.number(), 3u);
  EXPECT_FALSE(lines.next(line));
  EXPECT_EQ(line_of("a\nb\nc", 4), 3u);
  EXPECT_EQ(line_of("a\nb", 100), 2u);
}

TEST(Source, WordsAndNumbers) {
  EXPECT_THAT(words(" a\t bc  d "), ElementsAre("a", "bc", "d"));
  int64_t whole = 7;
  EXPECT_TRUE(parse_int("-12", whole));
  EXPECT_EQ(whole, -12);
  for (const char* bad : {"", "12x", " 1", "0x1", "99999999999999999999"})
    EXPECT_FALSE(parse_int(bad, whole)) << bad;
  uint64_t hex = 0;
  EXPECT_TRUE(parse_hex("0x1F", hex));
  EXPECT_EQ(hex, 31u);
  EXPECT_FALSE(parse_hex("0x", hex));
  double number = 0;
  EXPECT_TRUE(parse_number("2.5", number));
  for (const char* bad : {"nan", "inf", "", "1e999", "2,5"}) EXPECT_FALSE(parse_number(bad, number)) << bad;
}

TEST(Source, PciAddresses) {
  std::string address;
  EXPECT_TRUE(parse_pci_address("0000:3B:00.0", address));
  EXPECT_EQ(address, "0000:3b:00.0");
  EXPECT_TRUE(parse_pci_address("00010000:3b:1f.7", address));
  for (const char* bad :
       {"", "0000:3b:00.8", "000:3b:00.0", "0000:3g:00.0", "0000-3b:00.0", "0000:3b:00.0 ", "00:3b:00.0"})
    EXPECT_FALSE(parse_pci_address(bad, address)) << bad;
}

TEST(Xml, ErrorsTellFileAndLine) {
  const auto broken = XmlFile::parse({"a.xml", "<a>\n<b>\n</a>"});
  EXPECT_THAT(broken.status().message(), HasSubstr("a.xml:3: this is not well-formed XML"));
  EXPECT_FALSE(XmlFile::parse({"a.xml", ""}).ok());
  EXPECT_THAT(XmlFile::parse({"a.xml", std::string_view("<a/>\n\0", 6)}).status().message(),
              HasSubstr("a.xml:2: the text contains a byte 0"));
  EXPECT_THAT(XmlFile::parse({"a.xml", "<a/>\n<b/>"}).status().message(),
              HasSubstr("a.xml:2: a second element <b>"));
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "<a>";
  for (int i = 0; i < 300; ++i) deep += "</a>";
  EXPECT_THAT(XmlFile::parse({"a.xml", deep}).status().message(), HasSubstr("more than 200 deep"));
}

TEST(Xml, AttributesAreChecked) {
  const Source source{"a.xml", "<a>\n  <b n=\"5\" x=\"0xff\" f=\"1.5\" t=\"1\" w=\"word\"/></a>"};
  auto file = XmlFile::parse(source);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const pugi::xml_node b = file->root().child("b");
  int n = -1;
  EXPECT_TRUE(file->get(b, "n", Need::needed, 0, 9, n).ok());
  EXPECT_EQ(n, 5);
  EXPECT_TRUE(file->get(b, "none", Need::optional, 0, 9, n).ok());
  EXPECT_EQ(n, 5);
  EXPECT_EQ(file->get(b, "n", Need::needed, 6, 9, n).message(),
            "a.xml:2: n of <b> is \"5\"; expected a whole number from 6 to 9");
  EXPECT_EQ(file->get(b, "none", Need::needed, 6, 9, n).message(), "a.xml:2: <b> has no attribute none");
  uint64_t x = 0;
  EXPECT_TRUE(file->get_hex(b, "x", Need::needed, x).ok());
  EXPECT_EQ(x, 255u);
  EXPECT_FALSE(file->get_hex(b, "w", Need::needed, x).ok());
  double f = 0;
  EXPECT_TRUE(file->get_number(b, "f", Need::needed, 0, 2, f).ok());
  EXPECT_FALSE(file->get_number(b, "f", Need::needed, 0, 1, f).ok());
  bool t = false;
  EXPECT_TRUE(file->get(b, "t", Need::needed, t).ok());
  EXPECT_TRUE(t);
  EXPECT_FALSE(file->get(b, "n", Need::needed, t).ok());
  Notes notes;
  EXPECT_TRUE(file->leave_out(&notes, b, "why").ok());
  EXPECT_THAT(notes, ElementsAre("a.xml:2: why"));
  EXPECT_FALSE(file->leave_out(nullptr, b, "why").ok());
}

}  // namespace
}  // namespace weir::topology
