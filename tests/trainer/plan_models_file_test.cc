// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "trainer/plan/models_file.h"

namespace weir::trainer::plan {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A file with one model, to which tests add.
json small_file() {
  return json::parse(R"({
    "title": "Two nodes",
    "topology": "2 x (4 gpu nvswitch 200, 1 nic 25) leaf",
    "latency": "nic=3",
    "device": {"memory": 40e9, "peak": 312e12, "flops": 140e12, "half_rows": 150},
    "constants": {"flops": "fitted", "nic": "given"},
    "models": [{"name": "gpt", "layers": 3, "width": 64, "heads": 2, "sequence": 16, "vocabulary": 100, "tied": true}]
  })");
}

json row() {
  return {{"model", "gpt"},           {"nodes", 2},      {"batch", 5},
          {"strategy", "FULL_SHARD"}, {"published", 40}, {"measure", "%MFU"}};
}

std::string refused(const json& file) {
  const auto read = parse_models_file("x.json", file.dump());
  return read.ok() ? "accepted" : read.status().message();
}

/// The error where one field is changed.
std::string refused_with(const std::string& place, const json& value) {
  json file = small_file();
  file[json::json_pointer(place)] = value;
  return refused(file);
}

TEST(PlanModelsFile, ReadsADeviceAndItsLinks) {
  json written = small_file();
  written["bytes"] = {{"gather", 4}, {"reduce", 4}};
  written["device"].update({{"wake", 2e-6}, {"memory_rate", 2e12}});
  auto file = parse_models_file("x.json", written.dump());
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_TRUE(file->link().ok());
  const Cluster& cluster = file->cluster;
  EXPECT_EQ(cluster.title, "Two nodes");
  EXPECT_EQ(cluster.nodes, 2);
  EXPECT_EQ(cluster.gpus, 4);
  EXPECT_EQ(cluster.memory, 40e9);
  EXPECT_EQ(cluster.peak, 312e12);
  EXPECT_EQ(cluster.compute, 140e12);
  EXPECT_EQ(cluster.half_rows, 150);
  EXPECT_EQ(cluster.contention.wake, 2e-6);
  EXPECT_EQ(cluster.memory_rate, 2e12);
  EXPECT_EQ(cluster.precision.gather, 4);
  EXPECT_EQ(cluster.precision.activation, 2);
  EXPECT_EQ(file->latencies, "nic=3");
  ASSERT_EQ(file->constants.size(), 2u);
  EXPECT_EQ(file->constants[0].name, "flops");
  EXPECT_EQ(file->constants[0].origin, "fitted");
  file->topology.clear();
  EXPECT_THAT(file->link().message(), HasSubstr("no topology; expected --topology"));
}

TEST(PlanModelsFile, ReadsModelsRowsAndPlans) {
  json written = small_file();
  written["models"].push_back(json::parse(R"({
    "name": "list", "width": 64, "heads": 2, "sequence": 16, "vocabulary": 100, "flash": true,
    "units": [{"name": "embedding", "parameters": 1000, "products": 0, "kept": true},
              {"count": 2, "name": "block", "parameters": 500, "attentions": 2}]})"));
  json first = row();
  first.update({{"times", 3},
                {"strategy", "HYBRID_SHARD"},
                {"shard", 4},
                {"recompute", "selective"},
                {"prefetch", "all"},
                {"limiter", "sliding"},
                {"gathers", 2},
                {"speed", 1.5},
                {"above", true},
                {"fitted", true}});
  json second = row();
  second.update({{"model", "list"}, {"batch", "largest"}, {"published", 3e3}, {"measure", "tokens/s"}});
  json third = row();
  third.update({{"times", 8}, {"strategy", "NO_SHARD"}, {"stages", 2}, {"tensor", 4}, {"interleave", 3}});
  written["rows"] = {first, second, third};
  written["plans"] = {{{"model", "gpt"}, {"nodes", 2}, {"batch", 7}}};
  const auto file = parse_models_file("x.json", written.dump());
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->models.size(), 2u);
  EXPECT_TRUE(file->models[0].units[0].kept);
  const Model& list = file->models[1];
  EXPECT_TRUE(list.flash);
  ASSERT_EQ(list.units.size(), 3u);
  EXPECT_EQ(list.parameters(), 2000);
  EXPECT_EQ(list.units[0].products, 0);
  EXPECT_EQ(list.units[2].attentions, 2);

  ASSERT_EQ(file->rows.size(), 3u);
  const Row& read = file->rows[0];
  EXPECT_EQ(read.place, "rows[0]");
  EXPECT_EQ(read.job.strategy, Strategy::hybrid_shard);
  EXPECT_EQ(read.job.shard, 4);
  EXPECT_EQ(read.job.micro_batch, 5);
  EXPECT_EQ(read.job.micro_batches, 3);
  EXPECT_EQ(read.job.recompute, Recompute::selective);
  EXPECT_EQ(read.job.prefetch, kEverything);
  EXPECT_EQ(read.job.limiter.kind, Limiter::Kind::sliding);
  EXPECT_EQ(read.job.limiter.gathers, 2);
  EXPECT_EQ(read.job.speed, 1.5);
  EXPECT_TRUE(read.above && read.fitted);
  EXPECT_EQ(read.published, 40);
  EXPECT_EQ(read.measure, Measure::mfu);
  EXPECT_EQ(file->rows[1].micro_batch, 0);
  EXPECT_EQ(file->rows[1].published, 3000);
  EXPECT_EQ(file->rows[2].job.parts.ranks(), 8);
  EXPECT_EQ(file->rows[2].job.parts.interleave, 3);
  ASSERT_EQ(file->questions.size(), 1u);
  EXPECT_EQ(file->questions[0].batch, 7);
}

TEST(PlanModelsFile, RefusesWhatIsNoModelsFile) {
  const auto error = [](const std::string& text) {
    return parse_models_file("x.json", text).status().message();
  };
  EXPECT_THAT(error(""), HasSubstr("x.json: is not JSON: "));
  EXPECT_THAT(error("weir cluster 1\n"), HasSubstr("x.json: is not JSON: "));
  EXPECT_EQ(error("[]"), "x.json: is array; expected an object");
  EXPECT_EQ(error("{}"), "x.json: the field \"title\" is missing");
  EXPECT_THAT(error(std::string(100'000, '[')), HasSubstr("is not JSON"));
}

TEST(PlanModelsFile, RefusesWrongFields) {
  EXPECT_EQ(refused(small_file()), "accepted");
  EXPECT_EQ(refused_with("/device/memory", "40 GB"),
            "x.json: device: \"memory\" is \"40 GB\"; expected a number from 1 to 1000000000000000");
  EXPECT_THAT(refused_with("/device/flops", -1), HasSubstr("device: \"flops\" is -1; expected a number"));
  EXPECT_EQ(refused_with("/device/warp", 1), "x.json: device: there is an unknown field \"warp\"");
  EXPECT_EQ(refused_with("/device/reserve", 40e9),
            "x.json: device: the reserve takes all of the memory; expected less");
  EXPECT_EQ(refused_with("/constants/nic", "guessed"),
            "x.json: constants: \"nic\" is \"guessed\"; expected one of given, assumed, fitted");
  EXPECT_EQ(refused_with("/nodes", 2), "x.json: there is an unknown field \"nodes\"");
  EXPECT_THAT(refused_with("/topology", 7),
              HasSubstr("\"topology\" is 7; expected a text, or a list of texts"));
  EXPECT_THAT(refused_with("/models", 7), HasSubstr("\"models\" is 7; expected a list of objects"));
  EXPECT_THAT(refused_with("/models/0", json::array()), HasSubstr("models[0]: is array; expected an object"));
  EXPECT_THAT(refused_with("/models/0/width", 1.5),
              HasSubstr("models[0]: \"width\" is 1.5; expected a whole number"));
  EXPECT_THAT(refused_with("/models/0/layers", json::array()),
              HasSubstr("\"layers\" is array; expected a whole"));
  EXPECT_THAT(refused_with("/models/0/tied", 1), HasSubstr("\"tied\" is 1; expected true or false"));
  EXPECT_THAT(refused_with("/models/0/units", json::array()), HasSubstr("models[0]: "));
  EXPECT_EQ(refused_with("/models", json::array()), "x.json: there are no models; expected at least one");
}

TEST(PlanModelsFile, RefusesWrongModelsAndRows) {
  json file = small_file();
  file["models"].push_back(file["models"][0]);
  EXPECT_EQ(refused(file), "x.json: there are two models \"gpt\"");
  file = small_file();
  file["models"][0].erase("layers");
  file["models"][0].erase("tied");
  file["models"][0]["units"] = {{{"count", 9999}, {"name", "a"}, {"parameters", 1}},
                                {{"count", 2}, {"name", "b"}, {"parameters", 1}}};
  EXPECT_THAT(refused(file), HasSubstr("units[1]: more than 10000 units"));
  const auto refused_row = [](const json& change) {
    json file = small_file();
    file["rows"] = {row()};
    file["rows"][0].update(change);
    return refused(file);
  };
  EXPECT_EQ(refused_row(json::object()), "accepted");
  EXPECT_THAT(refused_row({{"model", "T6"}}),
              HasSubstr("rows[0]: unknown model \"T6\"; expected one of gpt"));
  EXPECT_THAT(refused_row({{"strategy", "ZERO"}}),
              HasSubstr("\"strategy\" is \"ZERO\"; expected one of NO_SHARD, "));
  EXPECT_THAT(refused_row({{"strategy", "HPZ"}}), HasSubstr("the field \"shard\" is missing"));
  EXPECT_THAT(refused_row({{"limiter", "block"}}), HasSubstr("the field \"gathers\" is missing"));
  EXPECT_THAT(refused_row({{"limiter", "off"}, {"gathers", 2}}), HasSubstr("an unknown field \"gathers\""));
  EXPECT_THAT(refused_row({{"batch", "some"}}), HasSubstr("\"batch\" is \"some\"; expected a whole number"));
  EXPECT_THAT(refused_row({{"measure", "%"}}),
              HasSubstr("expected one of %scaling, TFLOP/s, %MFU, tokens/s"));
}

TEST(PlanModelsFile, RefusesMoreThanTwoFittedConstants) {
  json file = small_file();
  file["constants"]["nic"] = "fitted";
  EXPECT_EQ(refused(file), "accepted");
  file["rows"] = {row()};
  file["rows"][0]["speed"] = 1.1;
  EXPECT_EQ(refused(file), "x.json: 3 constants are fitted; expected at most 2");
}

TEST(PlanModelsFile, NamesFilesThatCannotBeRead) {
  EXPECT_THAT(read_models_file("/nowhere").status().message(), HasSubstr("/nowhere: cannot be read"));
  EXPECT_THAT(read_models_file("/").status().message(), HasSubstr("/: cannot be read"));
}

}  // namespace
}  // namespace weir::trainer::plan
