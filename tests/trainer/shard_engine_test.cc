// SPDX-License-Identifier: Apache-2.0
/// The engine on threads as ranks: sums, canonical bits, the limiter, misuse.
#include "trainer/shard/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <mutex>
#include <set>

#include "tests/base/sanitized.h"
#include "tests/trainer/toy.h"

namespace weir::shard {
namespace {

using ::testing::HasSubstr;

struct Way {
  Strategy strategy;
  int shard_ranks;
};

std::vector<Way> ways(int world) {
  std::vector<Way> all = {{Strategy::no_shard, 0}, {Strategy::shard_grad_op, 0}, {Strategy::full_shard, 0}};
  if (world % 2 == 0) all.push_back({Strategy::hybrid_shard, 2});
  if (world % 2 == 0) all.push_back({Strategy::hpz, 2});
  if (world == 8) all.push_back({Strategy::hybrid_shard, 4});
  if (world == 1) all.push_back({Strategy::hybrid_shard, 0});
  return all;
}

std::string text_of(int world, const toy::Run& run) {
  const EngineOptions& options = run.options;
  return std::string(name_of(options.strategy)) + " of " + std::to_string(options.shard_ranks) + ", world " +
         std::to_string(world) + ", prefetch " + std::to_string(options.forward_prefetch) + ", limiter " +
         std::to_string(static_cast<int>(options.limiter.kind)) + ", micro " + std::to_string(run.per_micro);
}

/// One of 27 combinations of prefetch, limiter and micro-batch.
toy::Run variant(Way way, int number) {
  toy::Run run;
  run.options.strategy = way.strategy;
  run.options.shard_ranks = way.shard_ranks;
  run.options.forward_prefetch = run.options.backward_prefetch = number % 3;
  const int kind = number / 3 % 3;
  run.options.limiter = {static_cast<Limit>(kind), 2, way.strategy == Strategy::shard_grad_op ? 0U : 120000U};
  run.per_micro = std::vector<uint64_t>{1, 3, 0}[number / 9 % 3];
  return run;
}

TEST(ShardEngine, AllStrategiesGiveTheSumsOfOneLoop) {
  int number = 0;
  for (int world : {1, 2, 3, 4}) {
    const int first = number;
    toy::with_ranks(world, [&](int rank, ncclComm_t comm) {
      int next = first;
      for (const Way& way : ways(world))
        for (int each = 0; each < testing::enough(2); ++each) {
          const toy::Run run = variant(way, next += 5);
          SCOPED_TRACE(text_of(world, run));
          Result<toy::Outcome> outcome = toy::train(comm, run);
          ASSERT_TRUE(outcome.ok()) << outcome.status().message();
          if (rank != world - 1) continue;
          double norm = 0;
          const std::vector<double> expected = toy::reference(run, &norm);
          ASSERT_EQ(outcome->parameters.size(), expected.size());
          double worst = 0;
          for (size_t i = 0; i < expected.size(); ++i)
            worst = std::max(worst, std::abs(outcome->parameters[i] - expected[i]));
          EXPECT_LT(worst, 1e-6);
          EXPECT_NEAR(outcome->gradient_norm, norm, 1e-5 * norm);
        }
    });
    number += 7;
  }
}

TEST(ShardEngine, CanonicalBitsAreTheSameInAnyWorldAndStrategy) {
  std::vector<float> bits;
  float norm = 0;
  std::mutex mutex;
  int number = 0;
  for (int world : {1, 2, 3, 4, 5, 8}) {
    const int first = number;
    toy::with_ranks(world, [&](int rank, ncclComm_t comm) {
      int next = first;
      for (const Way& way : ways(world))
        for (int each = 0; each < testing::enough(2); ++each) {
          toy::Run run = variant(way, next += 7);
          run.options.canonical = true;
          SCOPED_TRACE(text_of(world, run));
          Result<toy::Outcome> outcome = toy::train(comm, run);
          ASSERT_TRUE(outcome.ok()) << outcome.status().message();
          std::lock_guard lock(mutex);
          if (bits.empty()) {
            bits = outcome->parameters;
            norm = outcome->gradient_norm;
          }
          EXPECT_EQ(outcome->parameters, bits) << "rank " << rank;
          EXPECT_EQ(outcome->gradient_norm, norm) << "rank " << rank;
        }
    });
    number += 11;
  }
}

/// The bits themselves: what the tree over grains gives in one loop.
TEST(ShardEngine, CanonicalBitsAreThoseOfTheTree) {
  toy::with_ranks(3, [](int, ncclComm_t comm) {
    toy::Run run;
    run.options.canonical = true;
    run.steps = 1;
    Result<toy::Outcome> outcome = toy::train(comm, run);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    uint64_t tokens = 0;
    for (uint64_t grain = 0; grain < run.grains; ++grain) tokens += toy::tokens_of(grain);
    std::vector<float> expected;
    const std::vector<Unit> units = toy::units();
    for (size_t unit = 0; unit < units.size(); ++unit)
      for (size_t i = 0; i < units[unit].parameters; ++i) {
        const int number = static_cast<int>(unit);
        const float parameter = toy::initial(number, i);
        std::vector<float> parts;
        for (uint64_t grain = 0; grain < run.grains; ++grain)
          parts.push_back(toy::gradient(number, i, grain, parameter));
        const float mean = weirTreeSum(parts.data(), parts.size()) * (1.0F / static_cast<float>(tokens));
        expected.push_back(parameter - 0.125F * mean);
      }
    EXPECT_EQ(outcome->parameters, expected);
  });
}

TEST(ShardEngine, Bfloat16GathersGiveOneResultInEveryWorld) {
  std::vector<float> bits;
  std::mutex mutex;
  for (int world : {1, 2, 4})
    toy::with_ranks(world, [&](int, ncclComm_t comm) {
      for (const Way& way : ways(world)) {
        toy::Run run = variant(way, 13);
        run.options.canonical = true;
        run.options.gather = Precision::bfloat16;
        SCOPED_TRACE(text_of(world, run));
        Result<toy::Outcome> outcome = toy::train(comm, run);
        ASSERT_TRUE(outcome.ok()) << outcome.status().message();
        std::lock_guard lock(mutex);
        if (bits.empty()) bits = outcome->parameters;
        EXPECT_EQ(outcome->parameters, bits);
        for (float value : bits) ASSERT_EQ(std::bit_cast<uint32_t>(value) & 0xffff, 0U);
      }
    });
}

/// Blocks are cut by the position in the unit, so shards do not matter.
TEST(ShardEngine, QuantizedGathersGiveOneResultInEveryWorld) {
  for (const Precision precision : {Precision::int8, Precision::float8}) {
    std::vector<float> bits;
    std::mutex mutex;
    for (int world : {1, 2, 4})
      toy::with_ranks(world, [&](int, ncclComm_t comm) {
        for (const Way& way : ways(world)) {
          toy::Run run = variant(way, 13);
          run.options.canonical = true;
          run.options.gather = precision;
          SCOPED_TRACE(text_of(world, run));
          Result<toy::Outcome> outcome = toy::train(comm, run);
          ASSERT_TRUE(outcome.ok()) << outcome.status().message();
          std::lock_guard lock(mutex);
          if (bits.empty()) bits = outcome->parameters;
          EXPECT_EQ(outcome->parameters, bits);
          const std::set<float> block(bits.begin(), bits.begin() + 128);
          EXPECT_LE(block.size(), 127U) << "as many as a block of fp32 has if nothing was rounded";
        }
      });
  }
}

/// The owners' parameters are not rounded, and the bytes are those of int8.
TEST(ShardEngine, QuantizedGathersLeaveTheShardsExactAndSendAQuarter) {
  toy::with_ranks(2, [](int, ncclComm_t comm) {
    const auto made_with = [&](Precision precision) {
      EngineOptions options;
      options.gather = options.reduce = precision;
      Result<std::unique_ptr<ShardEngine>> engine = ShardEngine::create(comm, toy::units(), options);
      EXPECT_TRUE(engine.ok()) << engine.status().message();
      toy::initialise(**engine);
      EXPECT_TRUE(toy::whole(**engine).ok());
      for (int unit = 0; unit < 5; ++unit)
        for (size_t i = 0; i < (*engine)->shard(unit).size(); ++i)
          EXPECT_EQ((*engine)->shard(unit)[i], toy::initial(unit, (*engine)->shard_range(unit).first + i));
      EXPECT_TRUE(toy::step(**engine, {}).ok());
      return (*engine)->record().counts;
    };
    const PassCounts wide = made_with(Precision::float32), narrow = made_with(Precision::int8);
    EXPECT_EQ(narrow.gathers, wide.gathers);
    EXPECT_EQ(narrow.gather_bytes * 128, wide.gather_bytes / 4 * 132);
    EXPECT_EQ(narrow.reduce_bytes * 128, wide.reduce_bytes / 4 * 132);
  });
}

/// Rounded once by each rank; bf16 also once per sum of two; but not where nothing travels.
TEST(ShardEngine, NarrowReductionsAreTheSumsRounded) {
  for (int world : {1, 4})
    toy::with_ranks(world, [&](int, ncclComm_t comm) {
      for (const Way& way : ways(world))
        for (int number :
             {4, 6, 8, 9, 10, 14, 18, 19, 20}) {  // each precision with each size of micro-batches
          toy::Run run = variant(way, number);
          constexpr Precision kPrecisions[] = {Precision::bfloat16, Precision::int8, Precision::float8};
          run.options.reduce = kPrecisions[number % 3];
          SCOPED_TRACE(text_of(world, run));
          Result<toy::Outcome> outcome = toy::train(comm, run);
          ASSERT_TRUE(outcome.ok()) << outcome.status().message();
          double norm = 0;
          const std::vector<double> expected = toy::reference(run, &norm);
          double moved = 0, worst = 0;
          for (size_t unit = 0, i = 0; unit < toy::units().size(); ++unit)
            for (size_t at = 0; at < toy::units()[unit].parameters; ++at, ++i) {
              const double begin = toy::initial(static_cast<int>(unit), at);
              moved = std::max(moved, std::abs(expected[i] - begin));
              worst = std::max(worst, std::abs(outcome->parameters[i] - expected[i]));
            }
          // fp8 has 1/16 of an element twice where replicas add.
          EXPECT_LT(worst, (run.options.reduce == Precision::float8 ? 0.13 : 0.03) * moved);
          EXPECT_EQ(worst > 1e-5 * moved, world > 1) << worst << " of " << moved;
        }
    });
}

TEST(ShardEngine, GathersNeverTakeMoreThanTheLimit) {
  toy::with_ranks(2, [](int, ncclComm_t comm) {
    // The largest unit, padded to two shards of whole blocks, takes 6144 floats.
    constexpr size_t kLargest = 24576;
    for (Limit kind : {Limit::block, Limit::sliding})
      for (size_t bytes : {kLargest, kLargest + 9000, 2 * kLargest})
        for (int gathers : {0, 1, 2}) {
          toy::Run run;
          run.options.forward_prefetch = run.options.backward_prefetch = 4;
          run.options.limiter = {kind, gathers, bytes};
          run.per_micro = 2;
          Result<toy::Outcome> outcome = toy::train(comm, run);
          ASSERT_TRUE(outcome.ok()) << outcome.status().message();
          EXPECT_LE(outcome->limiter.most_bytes, bytes);
          EXPECT_LE(outcome->memory.gathered, bytes);
          EXPECT_GE(outcome->limiter.most_bytes, kLargest);
          EXPECT_LE(outcome->limiter.most_gathers, gathers == 0 ? 5 : gathers);
          EXPECT_GT(outcome->limiter.held, 0U);
          EXPECT_EQ(outcome->limiter.flushes > 0, kind == Limit::block);
        }
    toy::Run run;
    run.options.forward_prefetch = run.options.backward_prefetch = 4;
    run.options.limiter.kind = Limit::off;
    Result<toy::Outcome> outcome = toy::train(comm, run);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    EXPECT_EQ(outcome->limiter.most_gathers, 5);  // all units
    EXPECT_EQ(outcome->limiter.held, 0U);
  });
}

TEST(ShardEngine, StrategiesGatherAsOftenAsTheyShould) {
  toy::with_ranks(2, [](int, ncclComm_t comm) {
    const auto gathers = [&](Strategy strategy) {
      EngineOptions options;
      options.strategy = strategy;
      Result<std::unique_ptr<ShardEngine>> engine = ShardEngine::create(comm, toy::units(), options);
      EXPECT_TRUE(engine.ok()) << engine.status().message();
      toy::Run run;
      run.per_micro = 3;  // two micro-batches for the 5 or 6 grains of a rank
      EXPECT_TRUE(toy::step(**engine, run).ok());
      EXPECT_EQ((*engine)->record().counts.intervals.size(),
                (*engine)->record().counts.gathers + (*engine)->record().counts.reductions);
      return (*engine)->record().counts.gathers;
    };
    EXPECT_EQ(gathers(Strategy::no_shard), 0U);
    EXPECT_EQ(gathers(Strategy::shard_grad_op), 5U);
    EXPECT_EQ(gathers(Strategy::full_shard), 5U + 3 * 4);  // the unit at each turn stays
  });
}

/// With the ranks of a group, only the first gather of each unit in a step is over all ranks.
TEST(ShardEngine, HpzGathersOverAllRanksOncePerStep) {
  toy::with_ranks(4, [](int, ncclComm_t comm) {
    const auto counts = [&](Strategy strategy, Precision precision) {
      EngineOptions options;
      options.strategy = strategy;
      options.shard_ranks = 2;
      options.gather = precision;
      Result<std::unique_ptr<ShardEngine>> engine = ShardEngine::create(comm, toy::units(), options);
      EXPECT_TRUE(engine.ok()) << engine.status().message();
      toy::initialise(**engine);
      toy::Run run;
      run.per_micro = 2;  // two micro-batches for the 2 or 3 grains of a rank
      EXPECT_TRUE(toy::step(**engine, run).ok());
      EXPECT_TRUE(toy::step(**engine, run).ok());
      return (*engine)->record().counts;
    };
    const auto units = toy::units();
    uint64_t once = 0, inside = 0;
    for (size_t unit = 0; unit < units.size(); ++unit) {
      const Cut cut(units[unit].parameters, 4, 1);
      once += cut.padded() * 3 / 4 * sizeof(float);
      // Three more visits, but the units where forward and backward turn stay gathered.
      const bool turns = unit == 0 || unit + 1 == units.size();
      inside += cut.padded() / 2 * sizeof(float) * (unit + 1 == units.size() ? 1 : turns ? 2 : 3);
    }
    const PassCounts full = counts(Strategy::full_shard, Precision::float32);
    const PassCounts hpz = counts(Strategy::hpz, Precision::float32);
    EXPECT_EQ(hpz.gathers, full.gathers);
    EXPECT_EQ(hpz.gather_bytes, once + inside);
    EXPECT_EQ(hpz.reduce_bytes, full.reduce_bytes);
    // What is gathered inside groups was rounded once, and travels as it is used.
    EXPECT_EQ(counts(Strategy::hpz, Precision::int8).gather_bytes * 128, once / 4 * 132 + inside * 128);
  });
}

TEST(ShardEngine, ScalarsOfGrainsAreSummedInTheOrderOfTheTree) {
  std::vector<float> values;
  for (int grain = 0; grain < 13; ++grain) values.push_back(grain % 2 == 0 ? 1e8F : 0.3F * grain);
  for (int world : {1, 3, 4})
    toy::with_ranks(world, [&](int rank, ncclComm_t comm) {
      Result<std::unique_ptr<ShardEngine>> engine = ShardEngine::create(comm, toy::units(), {});
      ASSERT_TRUE(engine.ok()) << engine.status().message();
      const GrainPlan plan(values.size(), world);
      const GrainRange own = plan.of(rank);
      Result<float> sum =
          (*engine)->sum_over_grains(plan, std::span<const float>(values).subspan(own.first, own.count()));
      ASSERT_TRUE(sum.ok()) << sum.status().message();
      EXPECT_EQ(*sum, weirTreeSum(values.data(), values.size()));
    });
}

TEST(ShardEngine, MisuseIsRefusedWithASentence) {
  toy::with_ranks(1, [](int, ncclComm_t comm) {
    EXPECT_THAT(ShardEngine::create(comm, {}, {}).status().message(), HasSubstr("the engine has no units"));
    EXPECT_THAT(ShardEngine::create(comm, {{"head", 0}}, {}).status().message(),
                HasSubstr("head has no parameters"));
    EngineOptions options;
    options.strategy = Strategy::hybrid_shard;
    options.shard_ranks = 3;
    EXPECT_THAT(ShardEngine::create(comm, toy::units(), options).status().message(),
                HasSubstr("divides the 1 ranks"));

    options = {};
    options.canonical = true;
    options.reduce = Precision::bfloat16;
    EXPECT_THAT(ShardEngine::create(comm, toy::units(), options).status().message(),
                HasSubstr("canonical sums with gradients in bf16; expected fp32"));
    options.reduce = Precision::int8;
    EXPECT_THAT(ShardEngine::create(comm, toy::units(), options).status().message(),
                HasSubstr("canonical sums with gradients in int8; expected fp32"));
    options.reduce = Precision::float32;
    Result<std::unique_ptr<ShardEngine>> made = ShardEngine::create(comm, toy::units(), options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    ShardEngine& engine = **made;
    EXPECT_THAT(engine.gathered(0).status().message(), HasSubstr("the pass is over"));
    EXPECT_THAT(engine.begin_step(GrainPlan(4, 2)).message(), HasSubstr("for 2 ranks"));
    ASSERT_TRUE(engine.begin_step(GrainPlan(4, 1)).ok());
    EXPECT_THAT(engine.begin_evaluation().message(), HasSubstr("before all units of the last pass"));
    EXPECT_THAT(engine.gathered(2).status().message(), HasSubstr("expected unit 0 (embedding), forward"));
    EXPECT_THAT(engine.release(0).message(), HasSubstr("without gathered"));
    EXPECT_THAT(engine.gradients(0).status().message(), HasSubstr("not being visited backward"));
    for (int unit = 0; unit < 5; ++unit) {
      ASSERT_TRUE(engine.gathered(unit).ok());
      ASSERT_TRUE(engine.release(unit).ok());
    }
    ASSERT_TRUE(engine.gathered(4).ok());
    EXPECT_THAT(engine.release(4).message(), HasSubstr("before its gradients were reduced"));
    ASSERT_TRUE(engine.gradients(4).ok());
    ASSERT_TRUE(engine.close(4, {0, 2}).ok());
    EXPECT_THAT(engine.reduce(4).message(), HasSubstr("expected each of its grains once"));
    EXPECT_THAT(engine.finish_step(1).status().message(), HasSubstr("before all units"));
  });
}

TEST(ShardEngine, TooSmallAMemoryIsRefusedWithTheUnit) {
  toy::with_ranks(2, [](int, ncclComm_t comm) {
    EngineOptions options;
    options.limiter = {Limit::sliding, 2, 20000};
    EXPECT_THAT(ShardEngine::create(comm, toy::units(), options).status().message(),
                HasSubstr("20000 bytes, but embedding alone takes 24576"));
    options.strategy = Strategy::shard_grad_op;
    EXPECT_THAT(ShardEngine::create(comm, toy::units(), options).status().message(),
                HasSubstr("SHARD_GRAD_OP keeps"));
  });
}

/// A rank that goes away in the middle of a step: the others get an error, and nothing hangs.
TEST(ShardEngine, AnAbortedRankEndsTheStepOfTheOthers) {
  for (bool canonical : {false, true})
    toy::with_ranks(3, [canonical](int rank, ncclComm_t comm) {
      toy::Run run;
      run.options.canonical = canonical;
      Result<std::unique_ptr<ShardEngine>> made = ShardEngine::create(comm, toy::units(), run.options);
      ASSERT_TRUE(made.ok()) << made.status().message();
      ShardEngine& engine = **made;
      if (rank == 1) {
        ASSERT_TRUE(engine.begin_step(GrainPlan(11, 3)).ok());
        engine.abort();
        EXPECT_THAT(engine.gathered(0).status().message(), HasSubstr("expected a new one"));
      } else {
        const Result<StepSums> sums = toy::step(engine, run);
        EXPECT_FALSE(sums.ok());
      }
    });
}

}  // namespace
}  // namespace weir::shard
