// SPDX-License-Identifier: Apache-2.0
// Training by one rank: that it learns, what does not change its bits, and the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <string>
#include <utility>

#include "trainer/data/text.h"
#include "trainer/math/ops.h"
#include "trainer/run/sharded.h"
#include "trainer/run/survey.h"

namespace weir::trainer {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Smaller than any preset, so that hundreds of steps take seconds.
Settings small_settings() {
  Settings settings;
  settings.config = {.name = "test", .layers = 2, .width = 64, .heads = 2, .length = 32};
  settings.batch = 8;
  settings.steps = 200;
  settings.learning_rate = 4e-3f;
  settings.evaluation_sequences = 200;
  return settings;
}

/// An engine and what it is made of.
struct Rank {
  explicit Rank(const Settings& settings)
      : text(std::move(*Text::built_in())),
        ops(settings.precision),
        world(std::move(*World::join())),
        engine(std::move(*Sharded::create(world, settings, text, ops))),
        model(engine->model()) {}

  std::vector<StepResult> train(Index from, Index to) {
    std::vector<StepResult> results;
    for (Index step = from; step < to; ++step) {
      const Result<StepResult> result = engine->step(step);
      EXPECT_TRUE(result.ok()) << result.status().message();
      results.push_back(*result);
    }
    return results;
  }
  double held_out_bits() { return *engine->evaluate() / std::numbers::ln2; }
  std::vector<std::vector<float>> parameters() const {
    std::vector<std::vector<float>> all;
    for (size_t unit = 0; unit < model.units().size(); ++unit) {
      const auto values = engine->parameters(unit);
      all.emplace_back(values.begin(), values.end());
    }
    return all;
  }

  Text text;
  CpuOps ops;
  World world;
  std::unique_ptr<Sharded> engine;
  const Model& model;
};

class Learning : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, Learning, ::testing::Values(Precision::fp32, Precision::bf16));

TEST_P(Learning, PassesWhatFrequenciesOfBytesGive) {
  Settings settings = small_settings();
  settings.precision = GetParam();
  Rank rank(settings);
  EXPECT_NEAR(rank.held_out_bits(), 8, 0.2);  // knows nothing: log2 of 256
  rank.train(0, settings.steps);
  // The order-0 entropy of the text is 4.357 bits per byte; 3.8 needs the byte before.
  EXPECT_LT(rank.held_out_bits(), 3.8);
}

TEST(Sharded, RunsAlikeGiveTheSameBits) {
  Rank first(small_settings());
  Rank second(small_settings());
  first.train(0, 3);
  second.train(0, 3);
  EXPECT_EQ(first.parameters(), second.parameters());
}

TEST(Sharded, CanonicalBitsDoNotDependOnMicroBatches) {
  Settings settings = small_settings();
  settings.canonical = true;
  Rank whole(settings);
  whole.train(0, 3);
  for (const Index micro_batch : {1, 3}) {
    settings.micro_batch = micro_batch;
    Rank parts(settings);
    parts.train(0, 3);
    EXPECT_EQ(parts.parameters(), whole.parameters()) << micro_batch;
  }
}

TEST(Sharded, TheNormIsThatOfTheGradientsAndClips) {
  Settings settings = small_settings();
  settings.clip = 0;
  Rank rank(settings);
  const StepResult result = rank.train(0, 1)[0];
  double squares = 0;
  for (size_t unit = 0; unit < rank.model.units().size(); ++unit)
    for (const float value : rank.engine->gradients(unit)) squares += std::pow(static_cast<double>(value), 2);
  EXPECT_NEAR(result.gradient_norm, std::sqrt(squares), 1e-5 * std::sqrt(squares));

  // AdamW's first step does not see how long a gradient is, its second step does.
  settings.clip = static_cast<float>(result.gradient_norm) / 4;
  Rank clipped(settings);
  EXPECT_EQ(clipped.train(0, 1)[0].gradient_norm, result.gradient_norm);
  rank.train(1, 2);
  clipped.train(1, 2);
  EXPECT_NE(rank.parameters(), clipped.parameters());
}

TEST(Sharded, AStepThatIsNotFiniteChangesNothing) {
  Rank rank(small_settings());
  rank.train(0, 3);
  const uint64_t before = *rank.engine->digest();
  // Of the output layer, which each token meets.
  auto& weight = const_cast<float&>(rank.engine->parameters(rank.model.units().size() - 1)[100]);
  const float kept = std::exchange(weight, std::numeric_limits<float>::infinity());
  const StepResult skipped = rank.train(3, 4)[0];
  EXPECT_TRUE(skipped.skipped);
  EXPECT_FALSE(std::isfinite(skipped.gradient_norm));
  weight = kept;
  EXPECT_EQ(*rank.engine->digest(), before);
  const StepResult next = rank.train(4, 5)[0];
  EXPECT_FALSE(next.skipped);
  EXPECT_TRUE(std::isfinite(next.loss));
  EXPECT_NE(*rank.engine->digest(), before);
}

TEST(Sharded, GeneratesTheSameTextForTheSameSeed) {
  Rank rank(small_settings());
  rank.train(0, 20);
  const std::vector<Token> prompt{'A', 'n', 'd', ' '};
  const std::vector<Token> text = *rank.engine->generate(prompt, 50, 0.8f);
  EXPECT_EQ(text.size(), 54u);  // beyond the 32 bytes that the model sees
  EXPECT_TRUE(std::ranges::equal(prompt, std::span(text).first(prompt.size())));
  EXPECT_EQ(*rank.engine->generate(prompt, 50, 0.8f), text);
  EXPECT_EQ(rank.engine->generate({prompt.data(), 1}, 3, 0.8f)->size(), 4u);
}

TEST(Settings, TheLearningRateRisesAndFalls) {
  Settings settings;
  settings.steps = 110;
  settings.warm_up = 10;
  settings.learning_rate = 1.0f;
  EXPECT_FLOAT_EQ(learning_rate_at(settings, 0), 0.1f);
  EXPECT_FLOAT_EQ(learning_rate_at(settings, 9), 1.0f);
  EXPECT_FLOAT_EQ(learning_rate_at(settings, 10), 1.0f);
  EXPECT_FLOAT_EQ(learning_rate_at(settings, 43), 0.1f + 0.9f * 0.75f);  // a third of the way: cos 60 degrees
  EXPECT_FLOAT_EQ(learning_rate_at(settings, 109), 0.1f);
}

TEST(Settings, WhatMakesNoSenseIsNamed) {
  const auto message = [](auto change) {
    Settings settings;
    change(settings);
    return check(settings).message();
  };
  EXPECT_EQ(message([](Settings&) {}), "");
  EXPECT_THAT(message([](Settings& s) { s.steps = 0; }), HasSubstr("--steps 0"));
  EXPECT_THAT(message([](Settings& s) { s.batch = -1; }), HasSubstr("--batch -1"));
  EXPECT_THAT(message([](Settings& s) { s.micro_batch = -2; }), HasSubstr("--micro-batch -2"));
  EXPECT_THAT(message([](Settings& s) { s.learning_rate = NAN; }), HasSubstr("--learning-rate nan"));
  EXPECT_THAT(message([](Settings& s) { s.clip = -1; }), HasSubstr("--clip -1"));
}

// --- The program.

struct Outcome {
  int code;
  std::string output;
};

Outcome run_program(const std::string& arguments) {
  FILE* pipe = popen((std::string(WEIR_TRAIN_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
  std::string output;
  char part[4096];
  for (size_t got = 1; got > 0;) {
    got = fread(part, 1, sizeof(part), pipe);
    output.append(part, got);
  }
  return {WEXITSTATUS(pclose(pipe)), output};
}

TEST(Program, PrintsProgressAndWritesMetrics) {
  const std::string path = ::testing::TempDir() + "/weir_metrics_" + std::to_string(getpid());
  const Outcome outcome = run_program(
      "--preset tiny --steps 3 --batch 2 --micro-batch 1 --report-every 1 --sample 10 "
      "--evaluation-sequences 4 --evaluate-every 2 --recompute full --metrics " +
      path);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("preset tiny: 4 blocks of width 128"));
  EXPECT_THAT(outcome.output, HasSubstr("  step     nats  bits/byte"));
  EXPECT_THAT(outcome.output, HasSubstr("\n     3  "));
  EXPECT_THAT(outcome.output, HasSubstr("And God said"));
  std::ifstream file(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  std::remove(path.c_str());
  ASSERT_EQ(lines.size(), 8u);  // held out before, after 2 and 3; three steps; the digest; the text
  EXPECT_EQ(lines[0]["step"], 0);
  EXPECT_GT(lines[0]["held_out_bits_per_byte"], 7.5);
  EXPECT_EQ(lines[1]["step"], 1);
  EXPECT_NEAR(lines[1]["bits_per_byte"].get<double>(), lines[1]["loss"].get<double>() / std::numbers::ln2,
              1e-9);
  EXPECT_EQ(lines[7]["text"].get<std::string>().substr(0, 12), "And God said");
}

TEST(Program, TheSameCommandAgainGoesOnWithItsFiles) {
  const std::string folder = ::testing::TempDir() + "/weir_goes_on_" + std::to_string(getpid());
  const std::string command = "--preset tiny --steps 4 --sample 0 --evaluation-sequences 2 ";
  const std::string files = "--checkpoints " + folder + " --metrics " + folder + ".metrics ";
  EXPECT_EQ(run_program(command + files + "--stop-after 2 --batch 2").code, 0);
  const std::string changes = "--batch 3 --learning-rate 0.001 ";
  const Outcome refused = run_program(command + files + changes + "--allow-changes batch");
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("the checkpoint of step 2 in " + folder +
                                        " was written with another --learning-rate (0.003, now 0.001); "));
  const Outcome again = run_program(command + files + changes + "--allow-changes batch,learning-rate");
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(again.output,
              HasSubstr("written with another --batch (2, now 3), --learning-rate (0.003, now 0.001);"));
  std::ifstream file(folder + ".metrics");
  std::vector<int> steps;
  for (std::string line; std::getline(file, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.contains("loss")) steps.push_back(object["step"]);
  }
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 3, 4}));
  std::filesystem::remove_all(folder);
  std::filesystem::remove(folder + ".metrics");
}

TEST(Program, AFolderThatCannotBeUsedIsRefusedBeforeTheFirstStep) {
  const Outcome outcome = run_program(
      "--preset tiny --steps 2 --batch 2 --sample 0 --checkpoint-every 0 --checkpoints /dev/null");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("checkpoints cannot be written to /dev/null"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("held out, after")));
}

TEST(Budget, IsSharedBetweenActivationsAndParameters) {
  Settings settings = small_settings();
  settings.batch = 32;
  const Model model(settings.config, settings.recompute);
  const shard::Place place{.shard = 0, .shards = 4, .replica = 0, .replicas = 1};
  const auto with_micro_batch = [&](Index micro_batch, size_t gathered) {
    Settings tried = settings;
    tried.micro_batch = micro_batch;
    tried.sharding.limiter.bytes = gathered;
    return memory_of(tried, model, place, 4);
  };
  const RankMemory all = with_micro_batch(8, 0);
  settings.memory = all.total();
  Settings whole = settings;
  ASSERT_TRUE(fit(whole, model, place, 4).ok());
  EXPECT_EQ(whole.micro_batch, 8) << "a rank's share of the batch";

  settings.memory = all.total() - all.activations / 2;
  Settings half = settings;
  ASSERT_TRUE(fit(half, model, place, 4).ok());
  EXPECT_GT(half.micro_batch, 1);
  EXPECT_LT(half.micro_batch, 8);
  EXPECT_EQ(memory_of(half, model, place, 4).total(),
            std::min(settings.memory, with_micro_batch(half.micro_batch, 0).total()));
  const size_t two_units =
      2 *
      shard::Gathers::bytes_of(shard::Cut(static_cast<size_t>(model.units()[1]->parameters().size()), 4, 1),
                               settings.sharding.gather);
  EXPECT_GT(with_micro_batch(half.micro_batch + 1, two_units).total(), settings.memory)
      << "one more does not fit";

  settings.memory = 1000;
  const Status refused = fit(settings, model, place, 4);
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_THAT(refused.message(), HasSubstr("--memory 1000 (0.0 MiB) is too small; expected at least "));
  settings.micro_batch = 3;
  const std::string least = with_micro_batch(3, two_units / 2).describe();
  EXPECT_THAT(fit(settings, model, place, 4).message(), HasSubstr(least)) << "what was asked for stays";
}

TEST(Budget, IsWhatArraysTake) {
  for (const auto gather : {shard::Precision::float32, shard::Precision::bfloat16}) {
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      Settings settings = small_settings();
      settings.sharding.gather = gather;
      settings.recompute = recompute;
      settings.micro_batch = 3;
      const Rank rank(settings);
      EXPECT_EQ(rank.engine->memory().describe(), memory_of(settings, rank.model, {}, 1).describe());
      EXPECT_EQ(rank.engine->memory().total(), memory_of(settings, rank.model, {}, 1).total());
    }
  }
}

TEST(Budget, CountsTheMatricesOfMuon) {
  Settings settings = small_settings();
  const size_t before = memory_of(settings, Model(settings.config, settings.recompute), {}, 1).states;
  settings.optimizer = Optimizer::muon;
  const Rank rank(settings);
  EXPECT_EQ(rank.engine->memory().describe(), memory_of(settings, rank.model, {}, 1).describe());
  // The MLP's matrices of 64 x 256: three of them, and two of 64 x 64; but no variance of those of two
  // blocks.
  EXPECT_EQ(rank.engine->memory().states + 2 * 12 * 64 * 64 * sizeof(float) - before,
            (3 * 64 * 256 + 2 * 64 * 64) * sizeof(float));
}

/// What follows a text in an output, up to the end of the line.
std::string after(const std::string& output, const std::string& text) {
  const size_t at = output.find(text);
  if (at == std::string::npos) return "";
  const size_t begin = at + text.size();
  return output.substr(begin, output.find('\n', begin) - begin);
}

class LeastMemory : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Program, LeastMemory,
                         ::testing::Values("--strategy none ", "--strategy gradients ", "--strategy full ",
                                           "--strategy hybrid --shard-ranks 2 ",
                                           "--strategy hpz --shard-ranks 2 ",
                                           "--strategy gradients --pipeline 2 ", "--auto "));

/// The number of a refusal is what a run then takes, whatever the strategy.
TEST_P(LeastMemory, IsWhatARunTakes) {
  const std::string path = ::testing::TempDir() + "/weir_least_" + std::to_string(getpid());
  const std::string common =
      std::string("--ranks 4 --preset tiny --steps 1 --batch 4 --sample 0 --evaluation-sequences 4 ") +
      GetParam() + "--metrics " + path + " --memory ";
  const Outcome refused = run_program(common + "1000");
  EXPECT_EQ(refused.code, 2) << refused.output;
  const std::string needed = after(refused.output, "is too small; expected at least ");
  const size_t least = std::strtoull(needed.c_str(), nullptr, 10);
  ASSERT_GT(least, 1000u) << refused.output;
  const Outcome fits = run_program(common + std::to_string(least));
  EXPECT_EQ(fits.code, 0) << fits.output;
  const std::string taken = after(fits.output, "a rank's arrays take ");
  EXPECT_EQ(taken.substr(0, taken.find(';')), needed.substr(needed.find(", ") + 2, taken.find(';')));
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto object = nlohmann::json::parse(line);
    if (!object.contains("memory_bytes")) continue;
    EXPECT_LE(object["memory_bytes"].get<size_t>(), least);
    EXPECT_GT(object["memory_bytes"].get<size_t>(), least * 3 / 4);
  }
  const Outcome less = run_program(common + std::to_string(least - 1));
  EXPECT_EQ(less.code, 2);
  EXPECT_THAT(less.output, HasSubstr("expected at least " + std::to_string(least)));
  std::remove(path.c_str());
}

TEST(Program, AutoTriesItsChoiceBesideTheUsualSettings) {
  const std::string common =
      "--ranks 2 --preset tiny --steps 2 --batch 4 --sample 0 --evaluation-sequences 2 --auto ";
  const Outcome tried = run_program(common);
  EXPECT_EQ(tried.code, 0) << tried.output;
  EXPECT_THAT(tried.output, HasSubstr("\nplan           "));
  EXPECT_THAT(after(tried.output, "\ntried          "), HasSubstr(" s with the usual settings"));
  const Outcome refused = run_program(common + "--local-steps 2 --strategy none");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("--auto was given with --local-steps"));
  const Outcome cut = run_program(common + "--pipeline 2");
  EXPECT_EQ(cut.code, 0) << cut.output;
  EXPECT_THAT(after(cut.output, "\nplan           "), HasSubstr("2 stages of 1 slices"));
}

TEST(Program, KeepsToABudgetOfMemory) {
  const auto digest = [](const std::string& output) {
    const size_t at = output.find("parameters and moments: ");
    return at == std::string::npos ? output : output.substr(at, 41);
  };
  const std::string common =
      "--ranks 2 --preset tiny --steps 2 --batch 16 --sample 0 --evaluation-sequences 2 --report-every 1 "
      "--deterministic canonical ";
  const Outcome free = run_program(common), bound = run_program(common + "--memory 14M");
  ASSERT_EQ(bound.code, 0) << bound.output;
  EXPECT_THAT(bound.output, HasSubstr("a rank's arrays take 14.0 MiB: states "));
  EXPECT_THAT(bound.output, HasSubstr("; memory budget 14.0 MiB, micro-batches of "));
  EXPECT_EQ(digest(bound.output), digest(free.output));
  const Outcome refused = run_program(common + "--memory 1M");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("is too small; expected at least "));
}

const std::string kAutoRun =
    "--ranks 4 --auto --preset tiny --batch 16 --steps 2 --sample 0 --evaluation-sequences 2 --report-every "
    "1 ";

TEST(Program, PlansWhatIsLeftOpen) {
  const Outcome open = run_program(kAutoRun);
  ASSERT_EQ(open.code, 0) << open.output;
  EXPECT_THAT(open.output, HasSubstr("measured here  "));
  EXPECT_THAT(open.output, ContainsRegex(" GFLOP/s per rank.*, inside a host "));
  EXPECT_THAT(open.output, HasSubstr("\nnext best      "));
  EXPECT_THAT(open.output, HasSubstr("median step time "));
}

TEST(Program, PlansWithWhatIsAskedFor) {
  const Outcome asked = run_program(kAutoRun +
                                    "--strategy hybrid --shard-ranks 2 --micro-batch 3 --prefetch 2 "
                                    "--recompute selective --limiter block --gathers 3");
  ASSERT_EQ(asked.code, 0) << asked.output;
  EXPECT_THAT(asked.output, HasSubstr("plan           HYBRID_SHARD in groups of 2, micro-batch 3 (2 a step), "
                                      "recompute selective, prefetch 2, limiter block 3: "));
  EXPECT_THAT(asked.output, HasSubstr("4 ranks, HYBRID_SHARD: 2-way sharding over 4 ranks, 2 replicas"));
}

TEST(Program, PlansWithinMemory) {
  const Outcome bound = run_program(kAutoRun + "--memory 8M");
  ASSERT_EQ(bound.code, 0) << bound.output;
  EXPECT_THAT(bound.output, HasSubstr(" of 8 MiB\n"));
  EXPECT_THAT(bound.output, HasSubstr("; memory budget 8.0 MiB, micro-batches of "));
  const Outcome refused = run_program(kAutoRun + "--memory 1M");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("--memory 1048576 (1.0 MiB) is too small; expected at least "));
}

/// What one rank's products take, and links that are none.
TEST(Survey, MeasuresTheRanksThatAreHere) {
  const Settings settings = small_settings();
  Rank rank(settings);
  const auto found = survey(rank.world, settings, rank.model, rank.ops);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const plan::Cluster* cluster = &found->cluster;
  EXPECT_EQ(cluster->nodes, 1);
  EXPECT_EQ(cluster->gpus, 1);
  EXPECT_GT(cluster->compute, 1e6);
  EXPECT_LT(cluster->compute, 1e14);
  EXPECT_GE(cluster->half_rows, 0);
  EXPECT_LE(cluster->half_rows, 4 * settings.config.length);
  EXPECT_GT(cluster->memory, 1e6);
  EXPECT_GT(cluster->update, 1e-12);
  EXPECT_LT(cluster->update, 1e-6);
  EXPECT_GT(cluster->memory_rate, 1e6);
  EXPECT_LT(cluster->memory_rate, 1e14);
  EXPECT_EQ(cluster->half_width, 0);  // one rank has no slices
  EXPECT_GE(cluster->alone, 1);
  EXPECT_EQ(cluster->contention.wake, 0);
  const plan::Model seen = plan_model(rank.model);
  EXPECT_EQ(seen.parameters(), static_cast<double>(rank.model.parameter_floats()));
  EXPECT_NEAR(seen.flops_per_token(), settings.config.operations_per_token(), 1);
  EXPECT_TRUE(seen.units.front().whole && seen.units.back().whole && !seen.units[1].whole);
  EXPECT_EQ(seen.units.back().moved.forward, static_cast<double>(settings.config.vocabulary));
  EXPECT_EQ(seen.units.front().moved.forward, 3.0 * static_cast<double>(settings.config.width));
}

TEST(Program, TracesAllRanksAndWritesAPage) {
  const std::string path = ::testing::TempDir() + "/weir_journal_" + std::to_string(getpid());
  const Outcome outcome = run_program(
      "--ranks 2 --preset tiny --steps 4 --batch 2 --sample 0 --evaluation-sequences 2 --trace-steps 2 "
      "--trace " +
      path + ".trace --page " + path + ".html");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::ifstream trace_file(path + ".trace"), page_file(path + ".html");
  const auto trace = nlohmann::json::parse(trace_file);
  const std::string page(std::istreambuf_iterator<char>(page_file), {});
  std::remove((path + ".trace").c_str());
  std::remove((path + ".html").c_str());
  // Of each rank, row and step: how often units were used, and that nothing in a row overlaps.
  std::map<std::array<int, 3>, int> counts;
  std::map<std::array<int, 2>, std::vector<std::array<double, 2>>> rows;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const int rank = event.at("pid"), row = event.at("tid"), step = event.at("args").at("step");
    rows[{rank, row}].push_back({event.at("ts"), event.at("dur")});
    if (event.at("cat") != "wait") ++counts[{rank, row, step}];
  }
  constexpr int kUnits = 6;
  for (int rank = 0; rank < 2; ++rank) {
    for (const int step : {3, 4}) {
      EXPECT_EQ((counts[{rank, 0, step}]), 2 * kUnits + 1) << "forward, backward, update";
      EXPECT_EQ((counts[{rank, 1, step}]), 2 * kUnits - 1) << "gathers; the head's serve both ways";
      EXPECT_EQ((counts[{rank, 2, step}]), kUnits) << "reductions";
    }
    EXPECT_EQ((counts[{rank, 0, 2}]), 0) << "only the last steps";
  }
  for (auto& [row, spans] : rows) {
    std::sort(spans.begin(), spans.end());
    for (size_t at = 1; at < spans.size(); ++at)
      EXPECT_GE(spans[at][0], spans[at - 1][0] + spans[at - 1][1] - 20)
          << "rank " << row[0] << " row " << row[1];
  }
  for (const char* part : {"0.87 M parameters", "tokens/s of all ranks", "rank 1: computing"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

TEST(Program, WrongArgumentsEndWithASentence) {
  const auto expect = [](const std::string& arguments, int code, const std::string& text) {
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr(text)) << arguments;
  };
  expect("--preset huge", 2, "huge");
  expect("--allow-changes seed,ranks", 2, "--allow-changes: ranks not in ");
  expect("--steps 0", 2, "weir-train: --steps 0 is too small; expected at least 1");
  expect("--data /no/such/file", 1, "weir-train: /no/such/file: the text cannot be opened");
  expect("--trace /no/such/file --preset tiny", 1, "weir-train: /no/such/file: the trace cannot be written");
  expect("--metrics /no/such/file --preset tiny", 1,
         "weir-train: /no/such/file: the metrics cannot be opened");
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // these end a program that asks for as much
  expect("--preset tiny --batch 1000000000", 1, "do not fit into memory");
#endif
  expect("--preset tiny --learning-rate 1e30 --sample 0 --evaluation-sequences 1", 1,
         "a lower --learning-rate may help");
}

}  // namespace
}  // namespace weir::trainer
