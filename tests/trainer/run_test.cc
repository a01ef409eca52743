// Training by one rank: that it learns, what does not change its bits, and the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>

#include "trainer/data/text.h"
#include "trainer/math/products.h"
#include "trainer/run/sharded.h"

namespace weir::trainer {
namespace {

using testing::HasSubstr;

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
        model(settings.config, settings.recompute),
        products(settings.precision),
        world(std::move(*World::join())),
        engine(std::move(*Sharded::create(world, settings, model, text, products))) {}

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
  Model model;
  Products products;
  World world;
  std::unique_ptr<Sharded> engine;
};

class Learning : public testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, Learning, testing::Values(Precision::fp32, Precision::bf16));

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

TEST(Sharded, GeneratesTheSameTextForTheSameSeed) {
  Rank rank(small_settings());
  rank.train(0, 20);
  const std::string text = *rank.engine->generate("And ", 50, 0.8f);
  EXPECT_EQ(text.size(), 54u);  // beyond the 32 bytes that the model sees
  EXPECT_TRUE(text.starts_with("And "));
  EXPECT_EQ(*rank.engine->generate("And ", 50, 0.8f), text);
  EXPECT_EQ(rank.engine->generate("", 3, 0.8f)->size(), 4u);
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
  const std::string path = testing::TempDir() + "/weir_metrics_" + std::to_string(getpid());
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

TEST(Program, WrongArgumentsEndWithASentence) {
  const auto expect = [](const std::string& arguments, int code, const std::string& text) {
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr(text)) << arguments;
  };
  expect("--preset huge", 2, "huge");
  expect("--steps 0", 2, "weir-train: --steps 0 is not at least 1");
  expect("--data /no/such/file", 1, "weir-train: /no/such/file: the text cannot be opened");
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
