// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/synthetic.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/writers.h"
#include "topology/formats/synthetic_grammar.h"
#include "topology/model/check.h"

namespace weir::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(SyntheticMachine, TheExample) {
  auto machine = read_synthetic({"line", "2 x (8 gpu nvswitch 300, 8 nic 25) leaf 4:1"});
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  const Graph graph = graph_of(*machine);
  EXPECT_TRUE(check(graph).ok()) << check(graph).message();
  EXPECT_THAT(graph.all(NodeKind::host), SizeIs(2));
  EXPECT_THAT(graph.all(NodeKind::gpu), SizeIs(16));
  EXPECT_THAT(graph.all(NodeKind::port), SizeIs(16));
  EXPECT_THAT(graph.all(NodeKind::fabric_switch), SizeIs(3));
}

TEST(SyntheticMachine, EveryLineIsItselfAgain) {
  for (const char* line :
       {"(1 gpu)", "(4 nic 12.5)", "(1 nic 0.0001)", "(1 nic 1000000)",
        "3 x (2 numa, 8 gpu cube 25 pcie 16, 4 nic 12.5)", "(16 gpu mi250 50)",
        "40 x (8 gpu mi250 50, 2 nic 25) leaf by 10 2:1 spine 4",
        "(8 gpu mesh 64) + 2 x (3 gpu ring 46, 1 nic 25) rail leaf",
        "8 x (8 gpu nvswitch 450 pcie 63, 8 nic 50) rail leaf by 4 spine 8", " 2x(1gpu,1nic 25)leaf "}) {
    auto machine = read_synthetic({"line", line});
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    auto again = read_synthetic({"line", write_synthetic(*machine)});
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *machine) << line;
    const Graph graph = graph_of(*machine);
    EXPECT_TRUE(check(graph).ok()) << line << ": " << check(graph).message();
  }
}

TEST(SyntheticMachine, TheTableOfItsGrammarIsWhatIsRead) {
  for (const MachineRule& example : machine_examples())
    EXPECT_TRUE(read_synthetic({"line", std::string(example.name)}).ok()) << example.name;
  std::string forms;
  for (const MachineRule& rule : machine_rules()) forms += std::string(rule.form) + " ";
  for (const MachineTerm& term : machine_terms())
    EXPECT_THAT(forms, HasSubstr("\"" + std::string(term.word) + "\"")) << "in no rule";
  for (const MachineLimits& limits : machine_limits()) EXPECT_THAT(forms, HasSubstr(limits.form));
  const auto reads = [](const std::string& line) { return read_synthetic({"line", line}).ok(); };
  const auto digits = [](double number) { return fmt::format("{:.5f}", number); };
  const MachineLimits& rate = limits_of(MachineNumber::gb_per_s);
  const MachineLimits& ratio = limits_of(MachineNumber::ratio);
  const MachineLimits& count = limits_of(MachineNumber::count);
  const MachineLimits& hosts = limits_of(MachineNumber::hosts);
  for (const auto& [line, good] : std::vector<std::pair<std::string, bool>>{
           {"(1 nic " + digits(rate.most) + ")", true},
           {"(1 nic " + digits(rate.most + 1) + ")", false},
           {"(1 nic " + digits(rate.least) + ")", true},
           {"(1 nic " + digits(rate.least * 0.9) + ")", false},
           {"2 x (1 nic 1) leaf " + digits(ratio.most) + ":1", true},
           {"2 x (1 nic 1) leaf " + digits(ratio.most + 1) + ":1", false},
           {fmt::format("({:.0f} nic 1)", count.most), true},
           {fmt::format("({:.0f} nic 1)", count.most + 1), false},
           {fmt::format("{:.0f} x (1 nic 1)", hosts.most), true},
           {fmt::format("{:.0f} x (1 nic 1)", hosts.most + 1), false}})
    EXPECT_EQ(reads(line), good) << line;
}

TEST(SyntheticMachine, BadLines) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line:1: column 1: the line ends; expected a number of hosts"},
      {"2 (8 gpu)", "column 3: \"(\"; expected x"},
      {"(8 cpu)", "column 4: \"cpu\"; expected gpu, nic or numa"},
      {"(8 gpu, 4 gpu)", "expected gpu, nic or numa, each once"},
      {"(8 gpu nvswitch)", "expected a bandwidth in GB/s"},
      {"(8 gpu nvswitch 0)", "expected a bandwidth"},
      {"(1 nic 0.00009)", "expected a bandwidth in GB/s, from 0.0001 to 1000000"},
      {"(0 gpu)", "expected a number of gpu, nic or numa, from 1 to 1024"},
      {"(4 gpu cube 25)", "expected 8 GPUs with cube"},
      {"(17 gpu mi250 50)", "at most 16 GPUs"},
      {"(8 gpu) spine", "column 9: \"spine\"; expected +, leaf"},
      {"(8 gpu) leaf 4", "expected :1 after the ratio"},
      {"(8 gpu) leaf x", "expected a ratio"},
      {"(8 gpu) leaf 4:1 leaf", "expected the end of the line"},
      {"(8 gpu", "expected , or )"},
      {"100000 x (1024 gpu)", "fewer than a million devices"},
      {"100000 x (1024 numa)", "at most ten million nodes and links"},
      {"100 x (1000 gpu mesh 50)", "at most ten million nodes and links"},
      {"100 x (1000 nic 25) rail leaf by 1 spine 1000", "at most ten million nodes and links"},
      {"99999999999999999999 x (1 gpu)", "expected a number of hosts"},
  };
  for (const auto& [line, sentence] : cases) {
    EXPECT_THAT(read_synthetic({"line", line}).status().message(), HasSubstr(sentence)) << line;
  }
}

}  // namespace
}  // namespace weir::topology
