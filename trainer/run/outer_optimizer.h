// SPDX-License-Identifier: Apache-2.0
/// Local steps: groups of ranks train copies of a model by themselves, each with its own optimizer, and meet
/// every so many steps. Then the difference between the parameters that they began with and those that they
/// have reached is averaged over groups, and taken as a gradient by an outer optimizer, SGD with Nesterov
/// momentum: DiLoCo (Douillard et al., "DiLoCo: distributed low-communication training of language models",
/// 2023). Between groups only these differences travel.
///
/// The outer parameters are the model: they are evaluated, exported and, as "parameters", saved. Every group
/// keeps them and computes the same outer step.
/// Tests: tests/trainer/local_steps_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/checkpoint/engine_state.h"
#include "trainer/run/array.h"
#include "trainer/run/settings.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/engine.h"

namespace weir::trainer {

/// Sums of a step over the ranks of a group; combine() makes them those of all groups.
struct GroupSums {
  uint64_t tokens = 0;
  uint64_t votes = 0;
  double loss = 0;
  double gradient_norm = 0;  ///< combined: the root of the mean square over groups
};

/// Used by one thread at a time. Host memory only.
class OuterOptimizer {
 public:
  /// Collective over `world`: divides it into groups of `Settings::sharding.shard_ranks` consecutive ranks,
  /// or 0: those of one host. invalid_argument if they would differ in size, or do not divide the batch.
  static Result<std::unique_ptr<OuterOptimizer>> join(ncclComm_t world, const Settings& settings);

  int group() const { return group_; }
  int groups() const { return groups_; }
  /// The ranks of this rank's group, which train together.
  ncclComm_t ranks() const { return ranks_.handle(); }

  /// Allocates the arrays for the shards of `engine`, whose world is ranks() and which outlives this.
  Status make_arrays(shard::ShardEngine& engine);
  /// The engine's parameters become the outer ones, and the momentum 0; the same ones in all groups.
  void begin();
  /// Whether the groups meet after step `step` (from 0).
  bool meets_after(Index step) const;
  /// Averages the differences after step `step`. Parameters stay as they are. Collective over all groups.
  Status average(Index step);
  /// Makes the outer step from the averages, and lets the engine continue with its result.
  void apply();
  /// Exchanges the engine's parameters with the outer ones; another call undoes it.
  void exchange();
  /// Adds the sums of the other groups. Collective over all groups.
  Status combine(GroupSums& sums);

  /// The arrays beside "parameters" that a checkpoint needs, while parameters are exchanged; `own` are those
  /// of the group's optimizer. The first group writes what all groups have.
  std::vector<checkpoint::ShardArray> arrays(const std::vector<checkpoint::ShardArray>& own);
  /// The momentum and the outer parameters of a unit's shard, for digests.
  std::vector<const float*> state(size_t unit);

  /// Bytes that this rank sent to other groups in the last average().
  uint64_t bytes() const { return bytes_; }
  /// Memory of its arrays.
  size_t memory() const;
  /// Ends calls in flight with an error, here and soon on other ranks.
  void abort();

 private:
  struct Arrays {
    Array outer;       ///< outer parameters
    Array momentum;    ///< of the outer optimizer
    Array difference;  ///< between the outer parameters and those of the group; averaged
  };

  explicit OuterOptimizer(const Settings& settings) : settings_(settings) {}
  Status average_one(float* difference, size_t count, Index step);

  const Settings settings_;
  int group_ = 0;
  int groups_ = 1;
  shard::Communicator ranks_;
  shard::Communicator across_;  ///< ranks with the same shards in all groups
  shard::ShardEngine* engine_ = nullptr;
  std::vector<Arrays> units_;
  uint64_t bytes_ = 0;
};

/// While it lives, the engine has the outer parameters instead of those of the group, if there are such.
class OuterParameters {
 public:
  explicit OuterParameters(OuterOptimizer* outer) : outer_(outer) {
    if (outer_ != nullptr) outer_->exchange();
  }
  ~OuterParameters() {
    if (outer_ != nullptr) outer_->exchange();
  }
  OuterParameters(const OuterParameters&) = delete;
  OuterParameters& operator=(const OuterParameters&) = delete;

 private:
  OuterOptimizer* const outer_;
};

/// Bytes of the arrays for units whose shards have these numbers of elements.
size_t outer_bytes(const std::vector<size_t>& elements);

}  // namespace weir::trainer
