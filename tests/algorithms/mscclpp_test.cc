// SPDX-License-Identifier: Apache-2.0
// Plans written as execution plans of MSCCL++, read back and proved. tests/cli/mscclpp_executor.py executes
// them.
#include "algorithms/mscclpp/mscclpp.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/builder.h"
#include "algorithms/ir/verify.h"
#include "tests/algorithms/ground_truth.h"
#include "tests/algorithms/some_layout.h"
#include "tests/algorithms/tree_moves.h"

namespace weir::mscclpp {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

/// Written, read, proved.
void expect_round_trip(const ir::Plan& plan, const WriteOptions& options) {
  const auto text = write(plan, options);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto again = read(*text, "plan.json");
  ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << *text;
  EXPECT_EQ(again->shape, plan.shape);
  EXPECT_EQ(again->least_bytes, plan.least_bytes);
  EXPECT_EQ(ir::verify(*again).message(), "") << *text;
}

TEST(Mscclpp, EveryPlanOfTheCatalogueGoesThereAndBack) {
  int written = 0;
  for (const auto& entry : algorithms::catalogue()) {
    if (has_root(entry.kind)) continue;
    for (const int ranks : {1, 2, 3, 4, 8}) {
      const algorithms::Layout layout = algorithms::some_layout(ranks);
      const auto plan = algorithms::emit(
          entry.algorithm, {entry.kind, ranks, 0, algorithms::default_chunks(entry, ranks, layout)}, layout);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      SCOPED_TRACE(fmt::format("{} {} over {}", entry.algorithm, name(entry.kind), ranks));
      expect_round_trip(*plan, {});
      expect_round_trip(*plan, {.in_place = entry.kind != Collective::all_to_all});
      if (ranks % 2 == 0) {
        std::vector<int> hosts(static_cast<size_t>(ranks), 7);
        std::fill_n(hosts.begin(), ranks / 2, 3);
        expect_round_trip(*plan, {.hosts = hosts});
      }
      ++written;
    }
  }
  EXPECT_GT(written, 40);
}

TEST(Mscclpp, TreesGoThereAndBack) {
  for (const auto kind : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
    const auto trees = algorithms::plan_trees(algorithms::part_of(algorithms::kDgx1v, 8, 25), kind);
    ASSERT_TRUE(trees.ok()) << trees.status().message();
    const auto plan = algorithms::moves_of(*trees);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    SCOPED_TRACE(name(kind));
    expect_round_trip(*plan, {});
  }
}

Json ring(const WriteOptions& options) {
  const auto plan = algorithms::emit("ring", {Collective::all_reduce, 4, 0, 4});
  const auto text = write(plan.value(), options);
  return Json::parse(text.value());
}

/// Whether a plan is read and proved.
bool is_right(const Json& json) {
  const auto plan = read(json.dump(), "plan.json");
  return plan.ok() && ir::verify(*plan).ok();
}

TEST(Mscclpp, NoOperationIsMissingAndAnyMissingOneIsNoticed) {
  for (const std::vector<int>& hosts : {std::vector<int>{}, {0, 0, 1, 1}}) {
    const Json whole = ring({.hosts = hosts});
    ASSERT_TRUE(is_right(whole));
    for (size_t g = 0; g < whole["gpus"].size(); ++g) {
      for (size_t b = 0; b < whole["gpus"][g]["threadblocks"].size(); ++b) {
        for (size_t o = 0; o < whole["gpus"][g]["threadblocks"][b]["ops"].size(); ++o) {
          Json less = whole;
          auto& operations = less["gpus"][g]["threadblocks"][b]["ops"];
          // What comes back around the ring may tell without a flush that a copy is complete.
          if (operations[o]["name"] == "flush") continue;
          if (o + 1 < operations.size() && operations[o + 1]["name"] == "flush") continue;
          SCOPED_TRACE(fmt::format("GPU {}, block {}, operation {}: {}", g, b, o, operations[o].dump()));
          operations.erase(o);
          EXPECT_FALSE(is_right(less));
        }
      }
    }
  }
}

TEST(Mscclpp, KernelsEndAfterTheirCopies) {
  const auto plan = algorithms::emit("one_shot", {Collective::all_to_all, 4, 0, 1});
  const Json whole = Json::parse(write(plan.value(), {.hosts = {0, 0, 1, 1}}).value());
  ASSERT_TRUE(is_right(whole));
  for (size_t g = 0; g < 4; ++g) {
    Json less = whole;
    size_t flushes = 0;
    for (auto& block : less["gpus"][g]["threadblocks"]) {
      auto& operations = block["ops"];
      for (size_t o = operations.size(); o-- > 0;)
        if (operations[o]["name"] == "flush") operations.erase(o), ++flushes;
    }
    EXPECT_GT(flushes, 0U);
    const auto read_again = read(less.dump(), "plan.json");
    ASSERT_FALSE(read_again.ok());
    EXPECT_THAT(read_again.status().message(), HasSubstr("may end before the last access"));
  }
}

TEST(Mscclpp, KeepsTheSizesForWhichAPlanIs) {
  auto plan = algorithms::emit("ring", {Collective::all_gather, 4, 0, 1}).value();
  plan.least_bytes = 1 << 20;
  plan.most_bytes = 1 << 22;
  const auto text = write(plan, {}).value();
  EXPECT_THAT(text, HasSubstr("\"min_message_bytes\": 4194304"));
  EXPECT_THAT(text, HasSubstr("\"max_message_bytes\": 16777216"));
  EXPECT_EQ(read(text, "plan.json").value().most_bytes, plan.most_bytes);
}

TEST(Mscclpp, OffsetsFitInto32Bits) {
  const Json json = ring({});
  // 6 chunks of scratch for 4 of the input.
  EXPECT_LE(json["max_message_bytes"].get<uint64_t>() / 4 * 6, UINT32_MAX);
  EXPECT_GE(json["max_message_bytes"].get<uint64_t>(), uint64_t{2} << 30);
}

TEST(Mscclpp, RefusesWhatTheExecutorCannotRun) {
  const auto refusal = [](const char* algorithm, ir::Shape shape, const WriteOptions& options) {
    const auto text = write(algorithms::emit(algorithm, shape).value(), options);
    return text.ok() ? "written" : text.status().message();
  };
  EXPECT_THAT(refusal("ring", {Collective::broadcast, 4, 1, 4}, {}), HasSubstr("has no root"));
  EXPECT_THAT(refusal("one_shot", {Collective::all_to_all, 4, 0, 1}, {.in_place = true}),
              HasSubstr("cannot be called in place"));
  const ir::Shape four = {Collective::all_reduce, 4, 0, 4};
  EXPECT_THAT(refusal("ring", four, {.hosts = {0, 1, 0, 1}}), HasSubstr("not consecutive"));
  EXPECT_THAT(refusal("ring", four, {.hosts = {0, 0, 0, 1}}), HasSubstr("equally many"));
  std::vector<int> wide(18, 0);
  std::fill_n(wide.begin(), 9, 1);
  EXPECT_THAT(refusal("ring", {Collective::all_reduce, 18, 0, 18}, {.hosts = wide}),
              HasSubstr("each host has 9 ranks"));
  ir::Builder long_plan("copies", {Collective::all_gather, 1, 0, 1});
  for (int copy = 0; copy < 3000; ++copy) long_plan.local(0, ir::input(0), {.to = ir::output(0)});
  EXPECT_THAT(write(long_plan.take(), {}).status().message(),
              HasSubstr("thread blocks of MSCCL++; expected at most 64"));
}

/// The sum of two in place, as MSCCL++'s own language writes it, except for the nops that it adds.
constexpr const char* kTwo =
    R"({"name": "two", "collective": "allreduce", "protocol": "Simple", "inplace": true,
"gpus": [
 {"id": 0, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 0,
  "channels": [{"channel_type": "memory", "connected_to": [1]}],
  "remote_buffers": [{"rank": 1, "type": "i", "access_channel_types": ["memory"]}],
  "threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}],
   "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
   "ops": [
    {"name": "rlxsignal", "channel_ids": [0], "channel_type": "memory"},
    {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"},
    {"name": "nop"},
    {"name": "rres", "src_buff": [{"type": "i", "index": 0, "size": 1}, {"buffer_id": 0, "index": 0, "size": 1}],
     "dst_buff": [{"type": "i", "index": 0, "size": 1}, {"buffer_id": 0, "index": 0, "size": 1}],
     "channel_type": "memory", "reduce_op": "sum"},
    {"name": "nop"},
    {"name": "signal", "channel_ids": [0], "channel_type": "memory"},
    {"name": "wait", "channel_ids": [0], "channel_type": "memory"}]}]},
 {"id": 1, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 0,
  "channels": [{"channel_type": "memory", "connected_to": [0]}],
  "remote_buffers": [{"rank": 0, "type": "i", "access_channel_types": ["memory"]}],
  "threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}],
   "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
   "ops": [
    {"name": "signal", "channel_ids": [0], "channel_type": "memory"},
    {"name": "wait", "channel_ids": [0], "channel_type": "memory"},
    {"name": "nop"},
    {"name": "rres", "src_buff": [{"type": "i", "index": 1, "size": 1}, {"buffer_id": 0, "index": 1, "size": 1}],
     "dst_buff": [{"type": "i", "index": 1, "size": 1}, {"buffer_id": 0, "index": 1, "size": 1}],
     "channel_type": "memory", "reduce_op": "sum"},
    {"name": "nop"},
    {"name": "signal", "channel_ids": [0], "channel_type": "memory"},
    {"name": "wait", "channel_ids": [0], "channel_type": "memory"}]}]}]})";

TEST(Mscclpp, ReadsFilesInPlace) {
  const auto plan = read(kTwo, "two.json");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->shape, (ir::Shape{Collective::all_reduce, 2, 0, 2}));
  EXPECT_EQ(ir::verify(*plan).message(), "");
}

std::string refused(const std::string& from, const std::string& to) {
  std::string text = kTwo;
  const size_t at = text.find(from);
  if (at == std::string::npos) return "not in the file: " + from;
  text.replace(at, from.size(), to);
  const auto plan = read(text, "two.json");
  return plan.ok() ? "read" : plan.status().message();
}

TEST(Mscclpp, RefusesWhatIsWrongWithItsPlace) {
  const std::tuple<const char*, const char*, const char*> kWrong[] = {
      {"{\"name\"", "{\"name\" 1", "two.json: the text is no JSON"},
      {"allreduce", "allsum", "the collective is \"allsum\"; expected allreduce"},
      {"Simple", "LL", "the protocol is \"LL\"; expected Simple"},
      {"\"id\": 1", "\"id\": 2", "two.json: GPU 1: \"id\" is 2; expected 1 to 1"},
      {"\"output_chunks\": 2", "\"output_chunks\": 3", "\"output_chunks\" is 3; expected 2 to 2"},
      {"connected_to\": [1]", "connected_to\": [0]", "connected to its own GPU"},
      {"connected_to\": [1]", "connected_to\": [2]", "\"connected_to\" is 2; expected 0 to 1"},
      {"\"type\": \"i\", \"access", "\"type\": \"q\", \"access", "the type of the buffer is \"q\""},
      {"channel_ids\": [0]}]", "channel_ids\": [1]}]",
       "two.json: GPU 0, thread block 0: \"channel_ids\" is 1"},
      {"\"buffer_id\": 0, \"index\": 0", "\"buffer_id\": 0, \"index\": 2",
       "chunks 2 to 2 of buffer i of GPU 1"},
      {"\"nop\"", "\"gstore\"", "operation 2: weir does not know the operation \"gstore\""},
      {"\"rres\"", "\"copy\"", "operation 3: \"copy\" has operands that the executor does not know"},
      {"\"name\": \"rlxwait\"", "\"name\": \"nop\", \"x\": 0", "whose kernel may not have begun"},
      {"\"name\": \"rlxsignal\"", "\"name\": \"nop\", \"x\": 0", "deadlock: \"wait\" waits forever"},
      {"\"index\": 1, \"size\": 1}, {\"buffer_id\"", "\"index\": 0, \"size\": 1}, {\"buffer_id\"",
       "nothing orders this with an earlier access"},
  };
  for (const auto& [from, to, sentence] : kWrong) EXPECT_THAT(refused(from, to), HasSubstr(sentence)) << from;
}

}  // namespace
}  // namespace weir::mscclpp
