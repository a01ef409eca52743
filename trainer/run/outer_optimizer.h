// SPDX-License-Identifier: Apache-2.0
/// Local steps: groups of ranks train copies of a model by themselves, each with its own optimizer, and meet
/// every so many steps. Then the difference between the parameters that they began with and those that they
/// have reached is averaged over groups, and taken as a gradient by an outer optimizer, SGD with Nesterov
/// momentum: DiLoCo (Douillard et al., "DiLoCo: distributed low-communication training of language models",
/// 2023). Between groups only these differences travel.
///
/// They do so by fragments of the model (fragments.h), of which one may be on its way while the groups train:
/// Streaming DiLoCo (Douillard et al., "Streaming DiLoCo with overlapping communication", 2025). Where the
/// average arrives later than it was sent, a group goes on from the mean of its own parameters and the outer
/// ones, weighted by Settings::outer_mix.
///
/// The outer parameters are the model: they are evaluated, exported and, as "parameters", saved. Every group
/// keeps them and computes the same outer step.
/// Tests: tests/trainer/local_steps_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/checkpoint/engine_state.h"
#include "trainer/run/array.h"
#include "trainer/run/fragments.h"
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

/// What exchanges between groups took.
struct OuterTraffic {
  uint64_t bytes = 0;  ///< sent by this rank
  double busy_ms = 0;  ///< while they were in flight
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
  /// Whether fragments are merged after step `step` (from 0).
  bool meets_after(Index step) const { return !fragments_.merged_after(step).empty(); }
  /// Begins the exchange of the fragment that is sent after `step` and merged later, if there is one.
  /// Collective over all groups, as the following ones; returns at once.
  Status send(Index step);
  /// Waits for the averages of the fragments that are merged after `step`, and exchanges those that are not
  /// on their way yet. Parameters stay as they are.
  Status receive(Index step);
  /// Makes the outer step from the averages that are merged after `step`, and lets the engine continue with
  /// its result. Not collective.
  void apply(Index step);
  /// Waits until the exchange on its way, if there is one, has ended; it is merged when it would be anyway.
  Status settle();
  /// Goes on after `step` with loaded state. `averaged`: that has the average of the fragment on its way;
  /// else the fragment is sent again.
  Status go_on(Index step, bool averaged);
  /// Swaps the engine's parameters with the outer ones; another call undoes it.
  void swap_parameters();
  /// Adds the sums of the other groups. Collective over all groups.
  Status combine(GroupSums& sums);

  /// The arrays beside "parameters" that a checkpoint needs, while parameters are swapped and after
  /// settle(); `own` are those of the group's optimizer. The first group writes what all groups have.
  std::vector<checkpoint::ShardArray> arrays(const std::vector<checkpoint::ShardArray>& own);
  /// The momentum and the outer parameters of a unit's shard, for digests.
  std::vector<const float*> state(size_t unit);

  /// Since the last call: of exchanges that have begun, and of those whose end was waited for.
  OuterTraffic take_traffic() { return std::exchange(traffic_, {}); }
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
  /// What is queued is in the background: it ends before what it uses.
  struct Queue {
    shard::Communicator across;  ///< as OuterOptimizer::across_, so that sums of steps can pass exchanges
    shard::Event begin, end;     ///< of what is queued
    shard::Stream stream;
  };

  explicit OuterOptimizer(const Settings& settings) : settings_(settings), fragments_(settings) {}
  Status make_queue(ncclComm_t world, const shard::Place& place);
  bool was_sent(size_t fragment) const { return std::ranges::find(sent_, fragment) != sent_.end(); }
  Status exchange_fragment(size_t fragment, Index step);
  Status queue_sum(float* difference, size_t count, Index step);

  const Settings settings_;
  const Fragments fragments_;
  int group_ = 0;
  int groups_ = 1;
  shard::Communicator ranks_;
  shard::Communicator across_;  ///< ranks with the same shards in all groups
  shard::ShardEngine* engine_ = nullptr;
  std::vector<Arrays> units_;
  std::vector<size_t> sent_;    ///< fragments whose exchange has begun and that are not merged
  std::vector<size_t> queued_;  ///< those among them whose sums may still be on their way
  OuterTraffic traffic_;
  std::optional<Queue> queue_;
};

/// While it lives, the engine has the outer parameters instead of those of the group, if there are such.
class OuterParameters {
 public:
  explicit OuterParameters(OuterOptimizer* outer) : outer_(outer) {
    if (outer_ != nullptr) outer_->swap_parameters();
  }
  ~OuterParameters() {
    if (outer_ != nullptr) outer_->swap_parameters();
  }
  OuterParameters(const OuterParameters&) = delete;
  OuterParameters& operator=(const OuterParameters&) = delete;

 private:
  OuterOptimizer* const outer_;
};

/// Bytes of the arrays for units whose shards have these numbers of elements.
size_t outer_bytes(const std::vector<size_t>& elements);

}  // namespace weir::trainer
