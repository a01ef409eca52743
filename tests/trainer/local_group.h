// SPDX-License-Identifier: Apache-2.0
/// A group of ranks that trains by itself, in tests of the outer optimizer: toy units, and steps by formula.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/trainer/toy.h"
#include "trainer/run/outer_optimizer.h"

namespace weir::trainer {

inline Settings local_settings(int shard_ranks, shard::Precision reduce = shard::Precision::float32) {
  Settings settings;
  settings.local_steps = 5;
  settings.batch = 8;
  settings.sharding.shard_ranks = shard_ranks;
  settings.sharding.reduce = reduce;
  return settings;
}

/// How far a group moves an element in a round.
inline float moved(int group, int round, size_t element) {
  return 0.01F * static_cast<float>(group + 1) *
         std::sin(static_cast<float>(element) + 3.0F * static_cast<float>(round));
}

struct LocalGroup {
  LocalGroup(ncclComm_t world, const Settings& settings) {
    auto joined = OuterOptimizer::join(world, settings);
    EXPECT_TRUE(joined.ok()) << joined.status().message();
    outer = std::move(*joined);
    auto made = shard::ShardEngine::create(outer->ranks(), shard::toy::units(), {});
    EXPECT_TRUE(made.ok()) << made.status().message();
    engine = std::move(*made);
    shard::toy::initialise(*engine);
    EXPECT_TRUE(outer->make_arrays(*engine).ok());
    outer->begin();
  }
  int units() const { return static_cast<int>(engine->units().size()); }
  void move(int round) {
    for (int unit = 0; unit < units(); ++unit)
      for (size_t at = 0; at < engine->shard(unit).size(); ++at)
        engine->shard(unit)[at] += moved(outer->group(), round, engine->shard_range(unit).first + at);
  }

  std::unique_ptr<OuterOptimizer> outer;  ///< has the engine's communicator
  std::unique_ptr<shard::ShardEngine> engine;
};

}  // namespace weir::trainer
