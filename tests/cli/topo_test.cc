// SPDX-License-Identifier: Apache-2.0
// weir topo and weir doctor as people call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/weir_command.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::weir_command;

class Topo : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weir-topo-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

TEST_F(Topo, ShowsThisMachineAndItsRecord) {
  const CommandResult here = weir_command("topo --record " + folder_ + "/record");
  EXPECT_EQ(here.code, 0) << here.text;
  EXPECT_THAT(here.text, HasSubstr("NUMA node 0"));
  const CommandResult there = weir_command("topo --replay " + folder_ + "/record");
  EXPECT_EQ(there.text, here.text);
  EXPECT_THAT(weir_command("topo --why").text, HasSubstr("nvml: "));
}

TEST_F(Topo, ShowsMachinesInALine) {
  EXPECT_THAT(weir_command("topo '2 x (8 gpu nvswitch 450, 8 nic 50) leaf'").text,
              HasSubstr("host host0 and 1 more of the same class"));
  EXPECT_THAT(weir_command("topo --matrix '(4 gpu mesh 64)'").text, HasSubstr("GPU0     X   NV1"));
  EXPECT_THAT(weir_command("topo --json '(1 gpu)'").text, HasSubstr("\"kind\": \"GPU\""));
  EXPECT_THAT(weir_command("topo --fabric '2 x (1 gpu, 1 nic 25) leaf'").text, HasSubstr("weir fabric 1"));
}

TEST_F(Topo, DrawsPicturesAndPages) {
  EXPECT_THAT(weir_command("topo --svg '(8 gpu cube 25)'").text, HasSubstr("<svg"));
  EXPECT_THAT(weir_command("topo --svg '2 x (1 gpu, 1 nic 25) leaf'").text, HasSubstr("leaf0"));
  const std::string page = folder_ + "/page.html";
  EXPECT_EQ(weir_command("topo --html -o " + page + " '2 x (8 gpu nvswitch 450, 8 nic 50) leaf'").code, 0);
  EXPECT_GT(std::filesystem::file_size(page), 10'000u);
}

TEST_F(Topo, WhatItWritesItReads) {
  const std::string xml = folder_ + "/node.xml";
  EXPECT_EQ(weir_command("topo --xml -o " + xml + " '(8 gpu nvswitch 450, 2 nic 50)'").code, 0);
  EXPECT_THAT(weir_command("topo --strict " + xml).text, HasSubstr("to an NVSwitch"));
  const std::string fabric = folder_ + "/fabric";
  EXPECT_EQ(
      weir_command("topo --fabric -o " + fabric + " '8 x (1 gpu, 2 nic 50) rail leaf by 4 2:1 spine 2'").code,
      0);
  EXPECT_THAT(weir_command("topo " + fabric).text, HasSubstr("2 spines"));
}

TEST_F(Topo, MergesFiles) {
  const std::string fabric = put(
      "fabric", "weir fabric 1\nleaf leaf0\nhost host0\nattach host0 nic nic0 to leaf0 400G guid 10001\n");
  const CommandResult merged = weir_command("topo '(8 gpu nvswitch 450, 1 nic 50)' " + fabric);
  EXPECT_EQ(merged.code, 0) << merged.text;
  EXPECT_THAT(merged.text, HasSubstr("leaf leaf0  1 hosts, 1 ports, 50 GB/s down"));
  EXPECT_THAT(merged.text, Not(HasSubstr("more of the same class"))) << "one host, known by its port's GUID";
}

TEST_F(Topo, BadInputIsOneSentence) {
  const CommandResult none = weir_command("topo /none");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.text, HasSubstr("weir topo: there is no file /none; expected"));
  EXPECT_THAT(weir_command("topo " + folder_).text, HasSubstr("is a folder"));
  EXPECT_THAT(weir_command("topo " + put("v3.xml", "<system version=\"3\"/>")).text,
              HasSubstr("v3.xml:1: unknown version 3"));
  EXPECT_THAT(weir_command("topo --replay " + folder_).text, HasSubstr("is not a recorded machine"));
  EXPECT_THAT(weir_command("topo '(8 gpu'").text, HasSubstr("the line:1: column 7"));
  EXPECT_THAT(weir_command("topo " + put("empty", "")).text, HasSubstr("empty:1: "));
  EXPECT_THAT(weir_command("topo /dev/zero").text, HasSubstr("/dev/zero is larger than the limit of"));
  EXPECT_THAT(weir_command("topo /proc/self/mem").text, HasSubstr("cannot be read"));
}

TEST_F(Topo, TheDoctorSaysWhatIsWrong) {
  const std::string fabric =
      put("fabric",
          "weir fabric 1\nleaf l[0-3]\nspine s[0-3]\nhost n[0-3]\n"
          "cable l[0-2] to s[0-3] 2x400G\ncable l3 to s[0-2] 2x400G\ncable l3 to s3 400G\n"
          "attach n0 to l0 400G\nattach n1 to l1 400G\nattach n2 to l2 400G\nattach n3 to l3 400G\n");
  const CommandResult diagnosis = weir_command("doctor " + fabric);
  EXPECT_EQ(diagnosis.code, 1);
  EXPECT_THAT(diagnosis.text, HasSubstr("WRONG: between l3 and s3 there is 1 of 2 cables"));
  const CommandResult well = weir_command("doctor '2 x (8 gpu nvswitch 450, 8 nic 50) leaf'");
  EXPECT_EQ(well.code, 0);
  EXPECT_THAT(well.text, HasSubstr("nothing is wrong"));
  EXPECT_THAT(weir_command("doctor").text, HasSubstr("bootstrap: interface"));
}

}  // namespace
}  // namespace weir::cli
