// SPDX-License-Identifier: Apache-2.0
// What weir-train --plan-only takes and prints.
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>

#include "trainer/plan/command.h"

namespace weir::trainer::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Printed {
  int exit = 0;
  std::string out;
  std::string err;
};

Printed printed(const PlanOptions& options) {
  Printed printed;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  printed.exit = plan_only(options);
  std::fflush(stdout);
  printed.out = ::testing::internal::GetCapturedStdout();
  printed.err = ::testing::internal::GetCapturedStderr();
  return printed;
}

PlanOptions ibm() {
  PlanOptions options;
  options.models = WEIR_PUBLISHED "/ibm-a100-ethernet.json";
  return options;
}

std::string parsed(PlanOptions& options, const std::string& line) {
  CLI::App app;
  add_plan_options(app, options);
  try {
    app.parse(line);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(PlanCommand, TakesOptions) {
  PlanOptions options;
  EXPECT_EQ(
      parsed(
          options,
          "--plan-only --models x.json --topology a.txt b.xml --latency nic=1 --model m --nodes 4 --batch 7"),
      "");
  EXPECT_TRUE(options.plan_only);
  EXPECT_EQ(options.models, "x.json");
  EXPECT_THAT(options.topology, ElementsAre("a.txt", "b.xml"));
  EXPECT_EQ(options.latencies, "nic=1");
  EXPECT_EQ(options.model, "m");
  EXPECT_EQ(options.nodes, 4);
  EXPECT_EQ(options.batch, 7);
}

TEST(PlanCommand, RefusesOptionsThatMeanNothing) {
  PlanOptions options;
  EXPECT_THAT(parsed(options, "--plan-only"), HasSubstr("--models"));
  EXPECT_THAT(parsed(options, "--models x --nodes 0"), HasSubstr("--nodes"));
  EXPECT_THAT(parsed(options, "--models x --batch many"), HasSubstr("--batch"));
}

TEST(PlanCommand, PrintsChoicesAndPublishedFigures) {
  const Printed all = printed(ibm());
  EXPECT_EQ(all.exit, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("T5-11B (11.13 B parameters) on 32 nodes of 8 GPUs"));
  EXPECT_THAT(all.out, HasSubstr("T5-11B (11.13 B parameters) on 200 nodes of 8 GPUs"));
  EXPECT_THAT(all.out, HasSubstr("T5-3B (2.85 B parameters) on 200 nodes of 8 GPUs"));
  EXPECT_THAT(all.out, HasSubstr("choice       HYBRID_SHARD 32, micro-batch 50,"));
  EXPECT_THAT(all.out, HasSubstr("half of that with 153 tokens per micro-batch"));
  EXPECT_THAT(all.out, HasSubstr("25600 tokens per micro-batch reach 99% of the speed that many reach"));
  EXPECT_THAT(all.out, HasSubstr("network fitted; nic fitted;"));
  EXPECT_THAT(all.out, HasSubstr("limiter sliding 2 (fitted)"));
}

TEST(PlanCommand, PlansForWhatIsAsked) {
  PlanOptions options = ibm();
  options.model = "T5-3B";
  options.nodes = 5;
  const Printed one = printed(options);
  EXPECT_EQ(one.exit, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("on 5 nodes of 8 GPUs"));
  EXPECT_THAT(one.out, Not(HasSubstr("on 200 nodes")));
}

TEST(PlanCommand, PlansForAnyTopology) {
  PlanOptions options = ibm();
  options.model = "T5-3B";
  options.batch = 8;
  options.topology = {"2 x (4 gpu nvswitch 300 pcie 63, 4 nic 25) leaf"};
  const Printed small = printed(options);
  EXPECT_EQ(small.exit, 0) << small.err;
  EXPECT_THAT(small.out, HasSubstr("T5-3B (2.85 B parameters) on 2 nodes of 4 GPUs"));
  EXPECT_THAT(small.out, HasSubstr("topology     2 x (4 gpu"));
  options.nodes = 3;
  EXPECT_THAT(printed(options).err, HasSubstr("3 nodes; the topology has 2"));
}

TEST(PlanCommand, SaysWhatIsWrong) {
  PlanOptions options = ibm();
  options.nodes = 5;
  EXPECT_EQ(printed(options).err, "weir-train: --nodes and --batch need --model\n");
  options.model = "T6";
  EXPECT_THAT(printed(options).err, HasSubstr("no model T6; expected one of T5-11B T5-3B"));
  options.models = "/nowhere";
  const Printed missing = printed(options);
  EXPECT_EQ(missing.exit, 2);
  EXPECT_THAT(missing.err, HasSubstr("/nowhere: cannot be read"));
  EXPECT_EQ(missing.out, "");
}

TEST(PlanCommand, SaysThatNothingFits) {
  PlanOptions options = ibm();
  options.model = "T5-11B";
  options.nodes = 1;
  options.batch = 1;
  EXPECT_EQ(printed(options).exit, 0);
  options.models = WEIR_PUBLISHED "/mi250-infiniband.json";
  options.model = "GPT-221B";
  const Printed refused = printed(options);
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(
      refused.err,
      HasSubstr("GPT-221B does not fit into the memory of 1 nodes of 4 GPUs: the smallest plan needs"));
}

}  // namespace
}  // namespace weir::trainer::plan
