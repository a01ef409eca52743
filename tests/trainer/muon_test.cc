// SPDX-License-Identifier: Apache-2.0
// Muon on sharded parameters, beside plain matrices; and whole runs with it.
#include "trainer/run/muon.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/trainer/reference.h"
#include "tests/trainer/temporary_folder.h"
#include "tests/trainer/toy.h"

namespace weir::trainer {
namespace {

using shard::Strategy;
using ::testing::HasSubstr;

constexpr MuonStep kStep{0.02f, 0.1f, 0.5f};
constexpr int kSteps = 2;

std::vector<shard::Unit> units() { return {{"embedding", 700}, {"block 1", 5000}, {"block 2", 3100}}; }
/// Some cross the borders of shards, for which blocks of 1,024 elements count.
std::vector<UnitMatrix> matrices() {
  return {{1, 16, 24, 40}, {1, 1000, 40, 90}, {2, 0, 32, 32}, {2, 1024, 8, 16}, {2, 1152, 16, 100}};
}

float parameter(int unit, size_t element) {
  return static_cast<float>((element * 31 + static_cast<size_t>(unit) * 7) % 101) / 50.0f - 1.0f;
}
float gradient(int step, int unit, size_t element) {
  return static_cast<float>((element * 7919 + static_cast<size_t>(unit * 13 + step * 501)) % 1009) / 504.5f -
         1.0f;
}

/// All parameters after some steps, in fp64; those that are in no matrix stay.
std::vector<std::vector<double>> expected() {
  std::vector<std::vector<double>> all;
  for (int unit = 0; unit < 3; ++unit) {
    all.emplace_back();
    for (size_t at = 0; at < units()[static_cast<size_t>(unit)].parameters; ++at)
      all.back().push_back(static_cast<double>(parameter(unit, at)));
  }
  for (const UnitMatrix& matrix : matrices()) {
    const auto size = static_cast<size_t>(matrix.size());
    std::vector<double> momentum(size), update(size);
    for (int step = 0; step < kSteps; ++step) {
      for (size_t at = 0; at < size; ++at) {
        const double g =
            0.5 * static_cast<double>(gradient(step, matrix.unit, static_cast<size_t>(matrix.first) + at));
        momentum[at] = 0.95 * momentum[at] + 0.05 * g;
        update[at] = 0.05 * g + 0.95 * momentum[at];
      }
      update = reference::newton_schulz(matrix.rows, matrix.columns, update);
      const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(matrix.rows, matrix.columns)));
      for (size_t at = 0; at < size; ++at) {
        double& value = all[static_cast<size_t>(matrix.unit)][static_cast<size_t>(matrix.first) + at];
        value = (1 - 0.02 * 0.1) * value - 0.02 * scale * update[at];
      }
    }
  }
  return all;
}

struct Case {
  int ranks;
  Strategy strategy;
  int shard_ranks = 0;
};

/// All parameters after the steps, by the ranks that have them.
std::vector<std::vector<float>> trained(const Case& how) {
  std::vector<std::vector<float>> all;
  for (const shard::Unit& unit : units()) all.emplace_back(unit.parameters);
  std::mutex mutex;
  shard::toy::with_ranks(how.ranks, [&](int rank, ncclComm_t world) {
    shard::EngineOptions options;
    options.strategy = how.strategy;
    options.shard_ranks = how.shard_ranks;
    auto engine = shard::ShardEngine::create(world, units(), options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    std::vector<std::vector<float>> momenta;
    for (int unit = 0; unit < 3; ++unit) {
      const shard::Range range = (*engine)->shard_range(unit);
      momenta.emplace_back(range.count);
      for (size_t at = 0; at < range.count; ++at)
        (*engine)->shard(unit)[at] = parameter(unit, range.first + at);
    }
    const std::vector<std::span<float>> momentum(momenta.begin(), momenta.end());
    Muon muon(world, **engine, matrices());
    for (int step = 0; step < kSteps; ++step) {
      for (int unit = 0; unit < 3; ++unit) {
        const shard::Range range = (*engine)->shard_range(unit);
        for (size_t at = 0; at < range.count; ++at)
          (*engine)->gradient_shard(unit)[at] = gradient(step, unit, range.first + at);
      }
      const Status status = muon.step(kStep, momentum);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    const bool sends = muon.take_bytes() > 0;
    EXPECT_TRUE(rank > 0 || sends == (how.ranks > 1));
    const std::lock_guard lock(mutex);
    for (int unit = 0; unit < 3; ++unit) {
      const shard::Range range = (*engine)->shard_range(unit);
      for (size_t at = 0; at < range.count; ++at)
        all[static_cast<size_t>(unit)][range.first + at] = (*engine)->shard(unit)[at];
    }
  });
  return all;
}

TEST(Muon, IsThatOfWholeMatricesAndTheSameForAnyShards) {
  const auto whole = expected();
  const auto alone = trained({1, Strategy::full_shard});
  for (size_t unit = 0; unit < whole.size(); ++unit)
    for (size_t at = 0; at < whole[unit].size(); ++at)
      ASSERT_NEAR(alone[unit][at], whole[unit][at], 2e-5) << unit << " " << at;
  for (const Case& how :
       {Case{2, Strategy::full_shard}, Case{2, Strategy::no_shard}, Case{3, Strategy::full_shard},
        Case{3, Strategy::no_shard}, Case{4, Strategy::shard_grad_op}, Case{4, Strategy::hybrid_shard, 2},
        Case{7, Strategy::full_shard}})
    EXPECT_EQ(trained(how), alone) << how.ranks << " ranks, " << shard::name_of(how.strategy);
}

TEST(Muon, HasTheMatricesOfBlocks) {
  const Model model({.name = "a", .layers = 2, .width = 64, .heads = 2, .length = 16}, Recompute::none);
  const auto all = matrices_of(model, {0, 4});
  ASSERT_EQ(all.size(), 12u) << "Q, K, V, the output of attention, and two of the MLP, of two blocks";
  EXPECT_EQ(all[0].unit, 1);
  EXPECT_EQ(all[1].rows, 64);
  EXPECT_EQ(all[1].first - all[0].first, 64 * 64);
  EXPECT_EQ(matrices_of(model, {2, 4}).size(), 6u);
  EXPECT_EQ(matrices_of(model, {2, 4})[0].unit, 0);
  EXPECT_TRUE(matrices_of(model, {3, 4}).empty());
}

weir::testing::CommandResult run(const std::string& arguments) {
  return weir::testing::run_command(fmt::format(
      "'{}' --preset tiny --optimizer muon --batch 6 --steps 4 --evaluation-sequences 2 --sample 0 {} 2>&1",
      WEIR_TRAIN_PROGRAM, arguments));
}

std::string digest_in(const weir::testing::CommandResult& result) {
  EXPECT_EQ(result.code, 0) << result.text;
  const std::string words = "parameters and moments: ";
  const size_t at = result.text.find(words);
  return at == std::string::npos ? result.text : result.text.substr(at + words.size(), 16);
}

TEST(ProgramWithMuon, HasOneDigestForAnyRanksAndFromCheckpoints) {
  const checkpoint::TemporaryFolder folder;
  const std::string canonical = "--deterministic canonical ";
  const std::string before = digest_in(run(canonical));
  for (const char* how : {"--ranks 3 --micro-batch 1", "--ranks 4 --strategy hybrid --shard-ranks 2",
                          "--ranks 2 --pipeline 2 --recompute full", "--ranks 2 --strategy none"})
    EXPECT_EQ(digest_in(run(canonical + how)), before) << how;
  const std::string keep = canonical + "--checkpoints " + folder.path();
  EXPECT_NE(digest_in(run(keep + " --stop-after 2 --ranks 3")), before);
  EXPECT_EQ(digest_in(run(keep + " --ranks 2")), before);
}

TEST(ProgramWithMuon, RefusesWhatItCannotDo) {
  const auto slices = run("--ranks 2 --tensor 2");
  EXPECT_NE(slices.code, 0);
  EXPECT_THAT(slices.text, HasSubstr("--optimizer muon with --tensor 2: it needs whole matrices"));
  const checkpoint::TemporaryFolder folder;
  EXPECT_EQ(run("--checkpoints " + folder.path()).code, 0);
  const auto other = weir::testing::run_command(
      fmt::format("'{}' --preset tiny --batch 6 --steps 5 --sample 0 --checkpoints {} 2>&1",
                  WEIR_TRAIN_PROGRAM, folder.path()));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.text,
              HasSubstr("was written with another optimizer (muon, now adamw); expected the same"));
}

}  // namespace
}  // namespace weir::trainer
