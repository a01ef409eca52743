// SPDX-License-Identifier: Apache-2.0
/// Streaming DiLoCo: fragments that are exchanged while groups train, over threads as ranks. Whole runs:
/// matrix_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/trainer/local_group.h"

namespace weir::trainer {
namespace {

using ::testing::HasSubstr;
namespace toy = shard::toy;

constexpr Index kStreamed = 17;

struct Way {
  Index interval, fragments, delay;
};
constexpr Way kWays[] = {{5, 1, 0}, {5, 1, 3}, {6, 3, 0}, {6, 3, 1}, {10, 2, 4}, {7, 5, 1}};

Settings settings_of(const Way& way, int shard_ranks = 1,
                     shard::Precision reduce = shard::Precision::float32) {
  Settings settings = local_settings(shard_ranks, reduce);
  settings.local_steps = way.interval;
  settings.outer_fragments = way.fragments;
  settings.outer_delay = way.delay;
  settings.steps = kStreamed;
  return settings;
}

/// What the engine does after `step`.
Status exchange(LocalGroup& group, Index step) {
  if (group.outer->meets_after(step)) {
    WEIR_TRY(group.outer->receive(step));
    group.outer->apply(step);
  }
  return group.outer->send(step);
}

/// An element of two groups in plain loops, as in algorithm 2 of the paper: {the first group's, outer}. The
/// sum of two has no order, so that bits can be compared.
std::pair<float, float> plain_loops(const Settings& settings, int unit, size_t element) {
  const Index interval = settings.local_steps, delay = *settings.outer_delay;
  const Index fragment = unit % settings.outer_fragments;
  const Index offset = (fragment + 1) * interval / settings.outer_fragments % interval;
  const float rate = settings.outer_learning_rate, kept = settings.outer_momentum, own = settings.outer_mix;
  float outer = toy::initial(unit, element), momentum = 0;
  float groups[2] = {outer, outer};
  bool sent = false;
  Index sent_at = 0;
  float difference = 0;  // the mean of what was sent
  for (Index done = 1; done <= kStreamed; ++done) {
    for (int group = 0; group < 2; ++group)
      groups[group] += moved(group, static_cast<int>(done - 1), element);
    const auto mean = [&] { return ((outer - groups[0]) + (outer - groups[1])) / 2.0F; };
    const bool last = done == kStreamed;
    const auto send = [&] {
      sent = true;
      sent_at = done;
      difference = mean();
    };
    if (!sent && (last || (delay == 0 && done % interval == offset))) send();
    if (sent && (last || sent_at + delay == done)) {
      momentum = kept * momentum + difference;
      outer -= rate * (difference + kept * momentum);
      for (float& parameter : groups)
        parameter = last || delay == 0 ? outer : own * parameter + (1.0F - own) * outer;
      sent = false;
    }
    if (!last && delay > 0 && done % interval == offset) send();
  }
  return {groups[0], outer};
}

TEST(Streaming, HasTheBitsOfPlainLoops) {
  for (const Way& way : kWays)
    for (const int shard_ranks : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << way.interval << ", " << way.fragments << ", " << way.delay);
      const Settings settings = settings_of(way, shard_ranks);
      toy::with_ranks(2 * shard_ranks, [&](int, ncclComm_t world) {
        LocalGroup group(world, settings);
        for (Index step = 0; step < kStreamed; ++step) {
          group.move(static_cast<int>(step));
          ASSERT_TRUE(exchange(group, step).ok());
        }
        for (int unit = 0; unit < group.units(); ++unit) {
          const shard::Range own = group.engine->shard_range(unit);
          for (size_t at = 0; at < own.count; ++at) {
            const auto [parameter, outer] = plain_loops(settings, unit, own.first + at);
            ASSERT_EQ(group.engine->shard(unit)[at], parameter) << "unit " << unit;
            ASSERT_EQ(group.outer->state(static_cast<size_t>(unit))[1][at], outer);
          }
        }
      });
    }
}

/// The parameters of a group in the middle of a run: between its own and the outer ones.
TEST(Streaming, AGroupGoesOnFromAMixture) {
  toy::with_ranks(2, [](int, ncclComm_t world) {
    const Settings settings = settings_of({5, 1, 2});
    LocalGroup group(world, settings);
    for (Index step = 0; step < 6; ++step) {
      group.move(static_cast<int>(step));
      ASSERT_TRUE(exchange(group, step).ok());
    }
    group.move(6);
    const std::vector<float> before(group.engine->shard(2).begin(), group.engine->shard(2).end());
    ASSERT_TRUE(exchange(group, 6).ok());
    const float* const outer = group.outer->state(2)[1];
    for (size_t at = 0; at < before.size(); ++at) {
      ASSERT_EQ(group.engine->shard(2)[at], 0.5F * before[at] + 0.5F * outer[at]);
      ASSERT_NE(outer[at], toy::initial(2, at));
    }
  });
}

struct Sent {
  uint64_t most = 0;  ///< after one step
  uint64_t sum = 0;   ///< after all but the last
};

Sent bytes_of(const Way& way, shard::Precision reduce) {
  Sent sent;
  toy::with_ranks(4, [&](int rank, ncclComm_t world) {
    LocalGroup group(world, settings_of(way, 1, reduce));
    for (Index step = 0; step + 1 < kStreamed; ++step) {
      ASSERT_TRUE(exchange(group, step).ok());
      const uint64_t bytes = group.outer->take_traffic().bytes;
      if (rank == 0) sent = {std::max(sent.most, bytes), sent.sum + bytes};
    }
    ASSERT_TRUE(exchange(group, kStreamed - 1).ok());
  });
  return sent;
}

TEST(Streaming, FragmentsDivideTheMostBytesOfAStep) {
  using shard::Precision;
  for (const Precision reduce : {Precision::float32, Precision::int8}) {
    const Sent whole = bytes_of({8, 1, 0}, reduce), thirds = bytes_of({8, 3, 1}, reduce);
    EXPECT_EQ(whole.sum, 2 * whole.most) << "two meetings in 16 steps";
    EXPECT_NEAR(static_cast<double>(thirds.sum), static_cast<double>(whole.sum), 16);
    // Fragments of 5020, 5048 and 2049 of the toy's 12117 elements.
    EXPECT_NEAR(static_cast<double>(thirds.most) / static_cast<double>(whole.most), 5048.0 / 12117.0, 0.01);
  }
}

/// The arrays of a checkpoint, by name.
using Kept = std::map<std::string, std::vector<std::vector<float>>>;

std::vector<checkpoint::ShardArray> arrays_of(LocalGroup& group) {
  auto arrays = group.outer->arrays({});
  checkpoint::ShardArray& parameters = arrays.emplace_back();
  parameters.name = "parameters";
  for (int unit = 0; unit < group.units(); ++unit) parameters.units.push_back(group.engine->shard(unit));
  return arrays;
}

Kept save(LocalGroup& group) {
  EXPECT_TRUE(group.outer->settle().ok());
  Kept kept;
  for (const checkpoint::ShardArray& array : arrays_of(group))
    for (const std::span<float> unit : array.units) kept[array.name].emplace_back(unit.begin(), unit.end());
  return kept;
}

void load(const Kept& kept, LocalGroup& group) {
  for (const checkpoint::ShardArray& array : arrays_of(group))
    for (size_t unit = 0; unit < array.units.size(); ++unit)
      std::ranges::copy(kept.at(array.name)[unit], array.units[unit].begin());
}

/// Trains to the end; stops after `stop` steps, if there are as many, and goes on in new objects.
std::vector<float> trained_parameters(ncclComm_t world, const Settings& settings, Index stop, bool averaged) {
  auto group = std::make_unique<LocalGroup>(world, settings);
  for (Index step = 0; step < kStreamed; ++step) {
    group->move(static_cast<int>(step));
    EXPECT_TRUE(exchange(*group, step).ok());
    if (step + 1 != stop) continue;
    const Kept kept = save(*group);
    group = std::make_unique<LocalGroup>(world, settings);
    load(kept, *group);
    EXPECT_TRUE(group->outer->go_on(step, averaged).ok());
  }
  return *toy::whole(*group->engine);
}

TEST(Streaming, GoesOnWithTheSameBitsAfterAnyStep) {
  for (const auto reduce : {shard::Precision::float32, shard::Precision::int8})
    toy::with_ranks(3, [&](int, ncclComm_t world) {
      Settings settings = settings_of({6, 2, 2}, 1, reduce);
      settings.batch = 9;
      const std::vector<float> expected = trained_parameters(world, settings, 0, true);
      for (Index stop = 1; stop < kStreamed; ++stop)
        ASSERT_EQ(trained_parameters(world, settings, stop, true), expected) << "stopped after " << stop;
    });
}

/// As after a loss of ranks: the fragment is sent again, from what its group has learned meanwhile.
TEST(Streaming, WhatWasLostOnItsWayIsSentAgain) {
  std::vector<float> all[3];
  toy::with_ranks(3, [&](int rank, ncclComm_t world) {
    Settings settings = settings_of({6, 2, 2});
    settings.batch = 9;
    const std::vector<float> expected = trained_parameters(world, settings, 0, true);
    // Two steps are between two exchanges, none of which is on its way then.
    EXPECT_EQ(trained_parameters(world, settings, 2, false), expected);
    // One was sent after three steps; the groups have moved on since.
    EXPECT_NE(trained_parameters(world, settings, 4, false), expected);
    all[rank] = trained_parameters(world, settings, 4, false);
  });
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

TEST(Streaming, AnExchangeThatOthersDoNotTakePartInEndsWithAbort) {
  toy::with_ranks(2, [](int rank, ncclComm_t world) {
    LocalGroup group(world, settings_of({5, 1, 2}));
    if (rank == 0) {
      ASSERT_TRUE(group.outer->send(4).ok());
      group.outer->abort();
      EXPECT_FALSE(group.outer->settle().ok());
    } else {
      group.outer->abort();
    }
  });
}

}  // namespace
}  // namespace weir::trainer
