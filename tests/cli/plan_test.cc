// SPDX-License-Identifier: Apache-2.0
// weir plan as its users see it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/weir_command.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using weir::testing::CommandResult;
using weir::testing::weir_command;

CommandResult plan(const std::string& arguments) { return weir_command("plan " + arguments); }

TEST(Plan, SaysWhatIsReachedAndWhatLimitsIt) {
  const CommandResult result = plan("'(4 gpu mesh 100)' --collective allgather --bytes 4G");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text,
              AllOf(StartsWith("all_gather of 4294967296 bytes over 4 ranks"), HasSubstr("spanning trees"),
                    HasSubstr("GB/s (busbw)"), HasSubstr("bottleneck"), HasSubstr("of the bound")));
}

TEST(Plan, SaysHowManyHostsDoIt) {
  const CommandResult result = plan("'8 x (4 gpu nvswitch 300, 2 nic 25) leaf' --collective allgather");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, AllOf(HasSubstr("between hosts rings over 2 rails"),
                                 HasSubstr("4 slots of 256 KiB"), HasSubstr("nothing can be faster")));
}

TEST(Plan, NotesWherePcieIsNarrowerThanCables) {
  EXPECT_THAT(plan("'24 x (8 gpu nvswitch 450 pcie 32, 8 nic 50) leaf'").text,
              AllOf(HasSubstr("note: PCIe gives 192 NICs less than their cables: 32 instead of 50 GB/s"),
                    HasSubstr("the links allow 100%")));
  EXPECT_THAT(plan("'24 x (8 gpu nvswitch 450 pcie 64, 8 nic 50) leaf'").text,
              ::testing::Not(HasSubstr("note:")));
}

TEST(Plan, SaysWhenNoScheduleReachesWhatTheLinksAllow) {
  // One message, and with one slot it is passed on before the next one follows.
  const CommandResult result =
      plan("'4 x (1 gpu pcie 50, 1 nic 25) leaf' --collective broadcast --slots 1 --bytes 256K");
  EXPECT_THAT(result.text, AllOf(HasSubstr("the links allow 100%, but no order of the moves"),
                                 ::testing::Not(HasSubstr("nothing can be faster"))));
}

TEST(Plan, CountsTheNicsThatAJobUses) {
  const CommandResult result =
      plan("'2 x (8 gpu nvswitch 300, 8 nic 25) leaf' --ranks 0-3,8-11 --collective allgather");
  EXPECT_THAT(result.text, AllOf(HasSubstr("the 4 cables into host host0"), HasSubstr("the links allow 100%"),
                                 HasSubstr("nothing can be faster")));
}

TEST(Plan, AsJsonHasExactFigures) {
  const CommandResult result =
      plan("'4 x (1 gpu pcie 50, 1 nic 25) leaf' --collective broadcast --root 1 --json");
  ASSERT_EQ(result.code, 0) << result.text;
  const auto json = nlohmann::json::parse(result.text);
  EXPECT_EQ(json["ranks"], 4);
  EXPECT_EQ(json["bound_GBps"], 25);
  EXPECT_EQ(json["links_GBps"], 25);
  EXPECT_LT(json["algbw_GBps"], 25) << "the first messages have to arrive";
  EXPECT_GT(json["algbw_GBps"], 24.9);
  EXPECT_EQ(json["slots"], 4);
  EXPECT_EQ(json["latency_us"]["pcie"], 0.5);
  EXPECT_EQ(json["latency_us"]["message"], 1);
  EXPECT_EQ(json["ratio_exact"], "1");
  EXPECT_THAT(json["certificate"].get<std::string>(), HasSubstr("cable"));
}

TEST(Plan, SaysWhenRootsAreFree) {
  // Three GPUs of one host and one of two others each.
  const std::string uneven = "'3 x (3 gpu mesh 100, 1 nic 25) leaf' --ranks 0-3,6 ";
  EXPECT_THAT(plan(uneven).text, HasSubstr("between hosts trees with free roots over 1 rail"));
  EXPECT_THAT(plan(uneven + "--collective allgather").text, ::testing::Not(HasSubstr("free roots")));
  const auto hosts = nlohmann::json::parse(plan(uneven + "--json").text);
  EXPECT_EQ(hosts["algorithm"], "hierarchical with free roots");
  EXPECT_EQ(hosts["links_GBps"], 18.75);
  // Five GPUs of a DGX-1V: two NVLinks lead into the fifth.
  const std::string five = WEIR_MACHINES "/dgx1v.xml --ranks 0-4 ";
  EXPECT_THAT(plan(five).text, HasSubstr("spanning tree with free roots, at most"));
  const auto trees = nlohmann::json::parse(plan(five + "--json").text);
  EXPECT_EQ(trees["algorithm"], "trees with free roots");
  EXPECT_EQ(trees["links_GBps"], 50);
}

TEST(Plan, GpusThatTakeNoPartMayForward) {
  // Dies 0 and 3 of MI250 have no link: without the others, PCIe joins them.
  const std::string two = "'(16 gpu mi250 50)' --ranks 0,3 --collective allgather ";
  const auto alone = nlohmann::json::parse(plan(two + "--json").text);
  const auto helped = nlohmann::json::parse(plan(two + "--relay --json").text);
  EXPECT_EQ(alone["bound_GBps"], 64);
  EXPECT_GE(helped["bound_GBps"], 200);
  EXPECT_GE(helped["ratio"], 0.98);
  EXPECT_EQ(helped["simulated"], false);
  EXPECT_THAT(plan(two + "--relay").text,
              AllOf(HasSubstr("relays       "), HasSubstr("moves of relays are not simulated")));
  EXPECT_NE(plan(two + "--relay --emit plan").code, 0);
}

TEST(Plan, AnAllToAllUsesTheNicsOfGpusThatTakeNoPart) {
  const std::string half =
      "'2 x (8 gpu nvswitch 300, 8 nic 25) rail leaf' --ranks 0-3,8-11 --relay "
      "--collective alltoall ";
  const auto json = nlohmann::json::parse(plan(half + "--latency 0 --json").text);
  EXPECT_EQ(json["algorithm"], "routed");
  EXPECT_EQ(json["ranks"], 8);
  EXPECT_EQ(json["bound_GBps"], 100);  // half of what 4 ranks send leaves their host by 8 NICs
  EXPECT_GE(json["ratio"], 0.98);
  EXPECT_EQ(json["simulated"], true);
  EXPECT_GE(json["algbw_GBps"], 80);
  EXPECT_THAT(plan(half).text, AllOf(HasSubstr("8 GPUs that do not take part"), HasSubstr("simulated with")));
}

TEST(Plan, TakesTheLibrarysAlgorithmsWhereEachWantsOtherData) {
  const std::string network = "'4 x (8 gpu nvswitch 300, 8 nic 25) rail leaf' --latency 0 ";
  const auto all = nlohmann::json::parse(plan(network + "--collective alltoall --root 3 --json").text);
  EXPECT_EQ(all["algorithm"], "rail");
  EXPECT_EQ(all["bound_GBps"], 8 * 25 / 6.0);  // 8 ranks of a host want 3/4 of what each other rank sends
  EXPECT_EQ(all["ratio_exact"], "1");
  EXPECT_EQ(all["trees"], 0);
  const CommandResult gather = plan(network + "--collective gather --root 9");
  EXPECT_THAT(gather.text,
              AllOf(HasSubstr("plan         rail, on the shortest routes"),
                    HasSubstr("nothing can be faster"), HasSubstr("runner-up    "),
                    HasSubstr("times as long; its busiest links are 1 cable from a leaf to a port")));
  EXPECT_THAT(plan(network + "--collective scatter --emit plan").text, HasSubstr("scatter"));
  EXPECT_THAT(
      plan("'4 x (2 gpu nvswitch 300, 2 nic 25) rail leaf' --latency 0 --collective alltoall --table").text,
      HasSubstr("1.07 GB  rail"));
  EXPECT_THAT(plan(network + "--collective alltoall --html").text, HasSubstr("all_to_all over 32 ranks"));
  const std::string large = "'65 x (8 gpu nvswitch 300, 8 nic 25) rail leaf' --latency 0 --collective ";
  EXPECT_THAT(plan(large + "alltoall").text,
              AllOf(HasSubstr("plan         routed: paths in 1 shape of hosts, between hosts over 8 planes"),
                    HasSubstr("nothing can be faster")));
  const CommandResult many = plan(large + "gather");
  EXPECT_EQ(many.code, 2);
  EXPECT_THAT(many.text,
              AllOf(HasSubstr("expected at most 512 ranks, not 520"), HasSubstr("the bottleneck")));
}

TEST(Plan, PredictsTheTimeOfWhatItEmits) {
  const std::string network = "'16 x (1 gpu, 1 nic 25) leaf' --collective allgather ";
  const auto predicted = nlohmann::json::parse(plan(network + "--json").text);
  EXPECT_EQ(predicted["simulated"], true);
  const CommandResult run = weir::testing::run_command(
      fmt::format("{0} plan {1} --emit plan | {0} sim {1} --plan - --json", WEIR_PROGRAM, network));
  ASSERT_EQ(run.code, 0) << run.text;
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(run.text)["seconds"], predicted["seconds"]);
  EXPECT_GT(predicted["algbw_GBps"], 0.98 * 80 / 3);
}

TEST(Plan, AssumesLatenciesAndNamesThem) {
  const std::string network = "'2 x (2 gpu nvswitch 300, 2 nic 25) leaf' --bytes 64K ";
  const CommandResult usual = plan(network);
  EXPECT_THAT(usual.text,
              HasSubstr("\nlatencies    assumed: NVLink 0.6, PCIe 0.5, NIC 0.2, network cable 0.15, "
                        "message 1 us; --latency sets others\n"));
  const CommandResult none = plan(network + "--latency 0");
  EXPECT_THAT(none.text, HasSubstr("\nlatencies    none\n"));
  const auto seconds = [&](const std::string& latency) {
    return nlohmann::json::parse(plan(network + latency + "--json").text)["seconds"].get<double>();
  };
  const auto bound = [&](const std::string& latency) {
    return nlohmann::json::parse(plan(network + latency + "--json").text)["bound_GBps"].get<double>();
  };
  // Two hosts exchange: at least one message from GPU to GPU over the leaf.
  EXPECT_GE(seconds("") - seconds("--latency 0 "), 3.7e-6);
  EXPECT_GE(seconds("--latency network=1000 "), 2e-3);
  EXPECT_EQ(bound(""), bound("--latency 0 ")) << "a bound is one";
  const CommandResult wrong = plan(network + "--latency nvlnk=1");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.text, HasSubstr("--latency: \"nvlnk\" has no latency; expected NAME=MICROSECONDS"));
  EXPECT_THAT(plan(network + "--table").text, HasSubstr("note: latencies: NVLink 0.6, PCIe 0.5, NIC 0.2, "));
}

TEST(Plan, ChoosesTheSizeOfMessages) {
  const std::string network = "'8 x (1 gpu, 1 nic 25) leaf' --collective broadcast --latency 0 --json ";
  const auto slot = [&](const std::string& more) {
    return nlohmann::json::parse(plan(network + more).text)["slot_bytes"].get<int>();
  };
  EXPECT_EQ(slot("--bytes 1M"), 64 << 10) << "a chain of ranks passes small messages on sooner";
  EXPECT_EQ(slot("--bytes 1M --slot-bytes 256K"), 256 << 10);
  EXPECT_EQ(slot("--bytes 16K"), 256 << 10) << "one message has all of it";
}

TEST(Plan, NothingHasRatesToo) {
  const CommandResult result = plan("'(8 gpu nvswitch 300)' --bytes 0");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, AllOf(StartsWith("all_reduce of 0 bytes"), HasSubstr("runner-up    ")));
  EXPECT_THAT(result.text, ::testing::Not(HasSubstr("nan")));
}

TEST(Plan, EmitsAPlan) {
  const CommandResult result = plan("'4 x (1 gpu pcie 50, 1 nic 25) leaf' --ranks 0,2-3 --emit plan");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, AllOf(HasSubstr("all_reduce"), HasSubstr("3")));
}

TEST(Plan, EmitsMscclXml) {
  const CommandResult result = plan("'(4 gpu mesh 100)' --emit msccl-xml");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text,
              AllOf(StartsWith("<algo"), HasSubstr("ngpus=\"4\""), HasSubstr("coll=\"allreduce\"")));
}

TEST(Plan, EmitsExecutionPlansOfMscclpp) {
  const CommandResult result =
      plan("'2 x (2 gpu mesh 100, 2 nic 25) leaf' --collective allgather --in-place --emit mscclpp-json");
  ASSERT_EQ(result.code, 0) << result.text;
  const auto json = nlohmann::json::parse(result.text);
  EXPECT_EQ(json["collective"], "allgather");
  EXPECT_EQ(json["inplace"], true);
  EXPECT_EQ(json["gpus"].size(), 4U);
  EXPECT_THAT(result.text, AllOf(HasSubstr("\"memory\""), HasSubstr("\"port\"")));
  const CommandResult rooted = plan("'(4 gpu mesh 100)' --collective broadcast --emit mscclpp-json");
  EXPECT_EQ(rooted.code, 2);
  EXPECT_THAT(rooted.text, HasSubstr("has no root"));
}

TEST(Plan, DrawsTreesAndLoads) {
  const std::string network = "'2 x (2 gpu mesh 100, 2 nic 25) leaf' --collective allgather ";
  const CommandResult page = plan(network + "--html");
  EXPECT_EQ(page.code, 0);
  EXPECT_THAT(page.text, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("all_gather over 4 ranks"),
                               HasSubstr("Trees that broadcast"), HasSubstr("class=\"heat5"),
                               HasSubstr("of the time of the busiest link")));
  const CommandResult network_picture = plan(network + "--svg");
  EXPECT_THAT(network_picture.text,
              AllOf(StartsWith("<svg"), HasSubstr("class=\"heat5"), HasSubstr("leaf0")));
  const CommandResult host_picture = plan("'(4 gpu mesh 100)' --svg");
  EXPECT_THAT(host_picture.text, AllOf(StartsWith("<svg"), HasSubstr("class=\"heat5"), HasSubstr("GPU 3")));
  EXPECT_NE(plan(network + "--html --json").code, 0);
}

TEST(Plan, ComparesWithTheRunnerUp) {
  const CommandResult result = plan("'(4 gpu mesh 100)' --collective allgather");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text,
              AllOf(HasSubstr("runner-up    "), HasSubstr("times as long; its busiest links are")));
  const CommandResult table =
      plan("'2 x (4 gpu nvswitch 300, 4 nic 25) leaf' --table --latency 0,message=1 --slot-bytes 512K");
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.text, AllOf(HasSubstr("1.02 kB  recursive_doubling"), HasSubstr("1.07 GB  hierarchical"),
                                HasSubstr("planned, 1.00 times as long")));
  const CommandResult many = plan("'9 x (8 gpu nvswitch 300, 8 nic 25) leaf' --table");
  EXPECT_EQ(many.code, 2);
  EXPECT_THAT(many.text, HasSubstr("expected at most 64 ranks, not 72"));
}

TEST(Plan, RefusesWhatCannotBe) {
  const std::string machine = "'4 x (1 gpu pcie 50, 1 nic 25) leaf' ";
  const std::pair<const char*, const char*> kWrong[] = {
      {"--collective allsum", "--collective is \"allsum\"; expected allreduce"},
      {"--ranks 0,x", "--ranks has \"x\"; expected numbers"},
      {"--ranks 0-9", "the topology has devices 0 to 3"},
      {"--ranks 1,1", "expected one device per rank"},
      {"--ranks 2", "one rank alone"},
      {"--bytes -5", "--bytes is"},
      {"--collective broadcast --root 7", "root"}};
  for (const auto& [arguments, words] : kWrong) {
    const CommandResult result = plan(machine + arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_THAT(result.text, HasSubstr(words)) << arguments;
  }
}

}  // namespace
}  // namespace weir::cli
