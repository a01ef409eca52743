// SPDX-License-Identifier: Apache-2.0
// Plans written as MSCCL files, read back and proved.
#include "algorithms/msccl/msccl.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/verify.h"
#include "tests/algorithms/ground_truth.h"
#include "tests/algorithms/some_layout.h"
#include "tests/algorithms/tree_moves.h"

namespace weir::msccl {
namespace {

using ::testing::HasSubstr;

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Written, read, proved.
void expect_round_trip(const ir::Plan& plan) {
  const auto text = write(plan);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto again = read(*text, "plan.xml");
  ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << *text;
  EXPECT_EQ(again->shape, plan.shape);
  EXPECT_EQ(ir::verify(*again).message(), "") << *text;
}

TEST(Msccl, EveryPlanOfTheCatalogueGoesThereAndBack) {
  for (const auto& entry : algorithms::catalogue()) {
    for (const int ranks : {1, 2, 3, 4, 7, 8}) {
      const Rank root = has_root(entry.kind) ? ranks / 2 : 0;
      const algorithms::Layout layout = algorithms::some_layout(ranks);
      const auto plan = algorithms::emit(
          entry.algorithm, {entry.kind, ranks, root, algorithms::default_chunks(entry, ranks, layout)},
          layout);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      SCOPED_TRACE(fmt::format("{} {} over {}", entry.algorithm, name(entry.kind), ranks));
      expect_round_trip(*plan);
    }
  }
}

TEST(Msccl, TreesGoThereAndBack) {
  for (const auto kind : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
    const auto trees = algorithms::plan_trees(algorithms::part_of(algorithms::kDgx1v, 8, 25), kind);
    ASSERT_TRUE(trees.ok()) << trees.status().message();
    const auto plan = algorithms::moves_of(*trees);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    SCOPED_TRACE(name(kind));
    expect_round_trip(*plan);
  }
}

TEST(Msccl, ARingHandsOnInOneStep) {
  const auto plan = algorithms::emit("ring", {Collective::all_reduce, 4, 0, 4});
  ASSERT_TRUE(plan.ok());
  const auto text = write(*plan);
  ASSERT_TRUE(text.ok());
  // Of 6 rounds: one begins, two sum, one sums and keeps, one keeps and hands on, one ends.
  EXPECT_EQ(count(*text, "type=\"s\""), 4U);
  EXPECT_EQ(count(*text, "type=\"rrs\""), 8U);
  EXPECT_EQ(count(*text, "type=\"rrcs\""), 4U);
  EXPECT_EQ(count(*text, "type=\"rcs\""), 8U);
  EXPECT_EQ(count(*text, "type=\"r\""), 4U);
  EXPECT_THAT(*text, HasSubstr("coll=\"allreduce\""));
}

/// As tools write it: in place, one buffer, the sum of two.
constexpr const char* kTwo =
    R"(<algo name="two" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1">
<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
 <tb id="0" send="1" recv="1" chan="0">
  <step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  <step s="1" type="rrcs" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  <step s="2" type="r" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
 </tb>
</gpu>
<gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">
 <tb id="0" send="0" recv="0" chan="0">
  <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  <step s="1" type="rrcs" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  <step s="2" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
 </tb>
</gpu>
</algo>
)";

TEST(Msccl, ReadsFilesInPlace) {
  const auto plan = read(kTwo, "two.xml");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->shape, (ir::Shape{Collective::all_reduce, 2, 0, 2}));
  EXPECT_EQ(ir::verify(*plan).message(), "");
}

TEST(Msccl, RefusesWhatIsWrongWithItsLine) {
  const std::tuple<const char*, const char*, const char*> kWrong[] = {
      {"type=\"s\"", "typ=\"s\"", "has no attribute type"},
      {"coll=\"allreduce\"", "coll=\"allsum\"", "two.xml:1: coll is \"allsum\""},
      {"ngpus=\"2\"", "ngpus=\"3\"", "no <gpu> with id 2"},
      {"gpu id=\"1\"", "gpu id=\"0\"", "two.xml:9: GPU 0 occurs twice"},
      {"type=\"s\"", "type=\"x\"", "two.xml:4: type is \"x\""},
      {"s=\"1\" type", "s=\"4\" type", "two.xml:5: the step has s 4; expected 1"},
      {"send=\"1\"", "send=\"0\"", "its own GPU as a peer"},
      {"send=\"1\"", "send=\"-1\"", "without a peer to send to"},
      {"srcoff=\"1\"", "srcoff=\"2\"", "1 chunks from 2 of buffer \"i\" of GPU 0, which has 2"},
      {"depid=\"-1\"", "depid=\"3\"", "waits for step -1 of block 3"},
      {"cnt=\"1\"", "cnt=\"0\"", "cnt of <step> is \"0\""},
      {"chan=\"0\"", "chan=\"1\"", "waits for a message of GPU 1 on channel 1"},
      {"type=\"r\"", "type=\"nop\"", "sends 1 messages on channel 0 that GPU 0 never receives"},
      {"</algo>", "", "well-formed"}};
  for (const auto& [from, to, sentence] : kWrong) {
    std::string text = kTwo;
    text.replace(text.find(from), std::string(from).size(), to);
    const auto plan = read(text, "two.xml");
    ASSERT_FALSE(plan.ok()) << to;
    EXPECT_THAT(plan.status().message(), HasSubstr(sentence));
  }
}

TEST(Msccl, SizesAreThoseOfTheLargerBuffer) {
  ir::Plan plan = *algorithms::emit("ring", {Collective::all_gather, 4, 0, 1});
  plan.least_bytes = 1000;
  plan.most_bytes = 4000;
  const std::string text = *write(plan);
  EXPECT_THAT(text, HasSubstr("minBytes=\"4000\" maxBytes=\"16000\""));
  const auto again = read(text, "plan.xml");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->least_bytes, 1000u);
  EXPECT_EQ(again->most_bytes, 4000u);
  const auto any = read(*write(*algorithms::emit("ring", {Collective::all_reduce, 4, 0, 4})), "plan.xml");
  EXPECT_EQ(any->most_bytes, UINT64_MAX);
  EXPECT_THAT(read(std::regex_replace(text, std::regex("16000"), "3999"), "plan.xml").status().message(),
              HasSubstr("maxBytes is 3999; expected at least minBytes, 4000"));
}

TEST(Msccl, AFileThatLiesIsFoundOut) {
  const std::string sums_twice =
      std::regex_replace(std::string(kTwo), std::regex("srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt"),
                         "srcoff=\"1\" dstbuf=\"i\" dstoff=\"0\" cnt");
  const auto plan = read(sums_twice, "lie.xml");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(ir::verify(*plan).message(), HasSubstr("chunk"));
}

}  // namespace
}  // namespace weir::msccl
