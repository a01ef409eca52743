// SPDX-License-Identifier: Apache-2.0
/// Training on while ranks are lost and others join: what a process keeps of the state from one set of ranks
/// to the next, and the change of the set.
/// Tests: tests/trainer/elastic_test.py, tests/trainer/chaos_test.py
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/base/status.h"
#include "trainer/checkpoint/live_state.h"
#include "trainer/run/commits.h"
#include "trainer/run/sharded.h"
#include "trainer/run/world.h"

namespace weir::trainer {

/// Used by one thread at a time.
class CarriedState {
 public:
  /// Keeps the part of the state that `engine` has; at the end of a step that did not fail.
  Status take(Sharded& engine);
  /// After ranks were lost: lets those that are left make the commit that some have made (commits.h), and
  /// keeps the part of that state which this rank has. `engine`: that of the failed step, or null. Collective
  /// over the ranks that are left.
  Status agree(const World& world, Sharded* engine);
  /// Lets a new engine go on from what the ranks of the world have; false: they do not have all of it, or
  /// nothing. Collective. Nothing is kept afterwards.
  Result<bool> give(const World& world, Sharded& engine);

 private:
  Standing standing_;  ///< of live_
  std::optional<checkpoint::LiveState> live_;
};

/// Changes the ranks of the world. `failure`: of the last step, so that ranks are lost or newcomers have to
/// go; or success, if processes wait to join. Destroys the engine when `carried` has its state. Returns what
/// happened, for the user. Errors: those of World, after which this process cannot go on.
Result<std::string> change_ranks(World& world, const Status& failure, const Settings& settings,
                                 std::unique_ptr<Sharded>& engine, CarriedState& carried);

}  // namespace weir::trainer
