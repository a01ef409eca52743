// SPDX-License-Identifier: Apache-2.0
/// A model of which only the sums matter: gradients by formula, plain gradient descent.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "trainer/shard/engine.h"

namespace weir::shard::toy {

inline std::vector<Unit> units() {
  return {{"embedding", 5003}, {"block0", 2048}, {"block1", 2049}, {"block2", 17}, {"head", 3000}};
}

struct Run {
  EngineOptions options;
  uint64_t grains = 11;
  uint64_t per_micro = 0;
  int steps = 3;
};

/// Tokens of a grain: unequal, so that means of means would be wrong.
inline uint64_t tokens_of(uint64_t grain) { return 1 + grain * 7 % 5; }

inline float initial(int unit, size_t element) {
  return static_cast<float>((element * 2654435761U + unit * 40503U) % 1000) / 500.0F - 1.0F;
}

/// The gradient of a grain's summed loss: unlike in size, and it depends on the parameter.
inline float gradient(int unit, size_t element, uint64_t grain, float parameter) {
  const uint32_t mixed =
      static_cast<uint32_t>(element * 2246822519U + unit * 3266489917U + grain * 668265263U);
  const float wild = static_cast<float>(mixed >> 8) / 16777216.0F - 0.5F;
  return tokens_of(grain) * (parameter + wild) * (grain % 3 == 0 ? 1.0F : 1e-3F);
}

/// Calls act(rank, communicator) on a thread per rank.
inline void with_ranks(int ranks, const std::function<void(int, ncclComm_t)>& act) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ncclComm_t comm = nullptr;
      ASSERT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
      act(rank, comm);
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess) << ncclGetLastError(nullptr);
    });
  for (std::thread& thread : threads) thread.join();
}

inline void initialise(ShardEngine& engine) {
  for (int unit = 0; unit < static_cast<int>(engine.units().size()); ++unit)
    for (size_t i = 0; i < engine.shard_range(unit).count; ++i)
      engine.shard(unit)[i] = initial(unit, engine.shard_range(unit).first + i);
}

inline Status backward(ShardEngine& engine, const Run& run, int unit, GrainRange grains) {
  Result<std::span<const float>> parameters = engine.gathered(unit);
  if (!parameters.ok()) return parameters.status();
  for (uint64_t grain = grains.first; grain < grains.end; ++grain) {
    Result<std::span<float>> sums = engine.gradients(unit);
    if (!sums.ok()) return sums.status();
    for (size_t i = 0; i < sums->size(); ++i) (*sums)[i] += gradient(unit, i, grain, (*parameters)[i]);
    if (run.options.canonical) WEIR_TRY(engine.close(unit, {grain, grain + 1}));
  }
  WEIR_TRY(engine.reduce(unit));
  return engine.release(unit);
}

inline Result<StepSums> step(ShardEngine& engine, const Run& run) {
  const int count = static_cast<int>(engine.units().size());
  const GrainPlan plan(run.grains, engine.ranks(), run.per_micro);
  WEIR_TRY(engine.begin_step(plan));
  uint64_t tokens = 0;
  for (int micro = 0; micro < plan.micro_batches(); ++micro) {
    const GrainRange grains = plan.of(engine.rank(), micro);
    for (uint64_t grain = grains.first; grain < grains.end; ++grain) tokens += tokens_of(grain);
    for (int unit = 0; unit < count; ++unit) {
      if (Result<std::span<const float>> there = engine.gathered(unit); !there.ok()) return there.status();
      WEIR_TRY(engine.release(unit));
    }
    for (int unit = count; unit-- > 0;) WEIR_TRY(backward(engine, run, unit, grains));
  }
  Result<StepSums> sums = engine.finish_step(tokens);
  if (!sums.ok()) return sums;
  for (int unit = 0; unit < count; ++unit)
    for (size_t i = 0; i < engine.shard(unit).size(); ++i)
      engine.shard(unit)[i] -= 0.125F * engine.gradient_shard(unit)[i];
  return sums;
}

/// All parameters as an evaluation sees them.
inline Result<std::vector<float>> whole(ShardEngine& engine) {
  std::vector<float> all;
  WEIR_TRY(engine.begin_evaluation());
  for (int unit = 0; unit < static_cast<int>(engine.units().size()); ++unit) {
    Result<std::span<const float>> parameters = engine.gathered(unit);
    if (!parameters.ok()) return parameters.status();
    all.insert(all.end(), parameters->begin(), parameters->end());
    WEIR_TRY(engine.release(unit));
  }
  return all;
}

struct Outcome {
  std::vector<float> parameters;
  float gradient_norm = 0;  ///< of the last step
  LimiterCounts limiter;
  EngineMemory memory;
};

/// `rank`'s part of a run over `world`, from the initial parameters.
inline Result<Outcome> train(ncclComm_t world, const Run& run) {
  Result<std::unique_ptr<ShardEngine>> made = ShardEngine::create(world, units(), run.options);
  if (!made.ok()) return made.status();
  ShardEngine& engine = **made;
  initialise(engine);
  Outcome outcome;
  for (int i = 0; i < run.steps; ++i) {
    Result<StepSums> sums = step(engine, run);
    if (!sums.ok()) return sums.status();
    outcome.gradient_norm = sums->gradient_norm;
  }
  Result<std::vector<float>> parameters = whole(engine);
  if (!parameters.ok()) return parameters.status();
  outcome.parameters = std::move(*parameters);
  outcome.limiter = engine.limiter();
  outcome.memory = engine.memory();
  return outcome;
}

/// The same in one loop, in double; `norm` gets the last step's.
inline std::vector<double> reference(const Run& run, double* norm) {
  const std::vector<Unit> all = units();
  std::vector<double> parameters;
  for (size_t unit = 0; unit < all.size(); ++unit)
    for (size_t i = 0; i < all[unit].parameters; ++i)
      parameters.push_back(initial(static_cast<int>(unit), i));
  uint64_t tokens = 0;
  for (uint64_t grain = 0; grain < run.grains; ++grain) tokens += tokens_of(grain);
  for (int step = 0; step < run.steps; ++step) {
    size_t at = 0;
    double squares = 0;
    for (size_t unit = 0; unit < all.size(); ++unit)
      for (size_t i = 0; i < all[unit].parameters; ++i, ++at) {
        double sum = 0;
        for (uint64_t grain = 0; grain < run.grains; ++grain)
          sum += gradient(static_cast<int>(unit), i, grain, static_cast<float>(parameters[at]));
        sum /= static_cast<double>(tokens);
        squares += sum * sum;
        parameters[at] -= 0.125 * sum;
      }
    *norm = std::sqrt(squares);
  }
  return parameters;
}

}  // namespace weir::shard::toy
