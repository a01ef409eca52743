// SPDX-License-Identifier: Apache-2.0
/// Plans of a communicator for calls that say how they are to be carried out (ncclCollConfig_t).
///
/// Belongs to the thread that makes the calls.
/// Tests: tests/api/coll_config_test.cc
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>

#include "src/base/status.h"
#include "src/core/call/operation.h"

namespace weir::core {

class Communicator;

/// What a call asks for.
struct CallOptions {
  std::string algorithms;  ///< as cost::selected_algorithms() reads them; empty: any
  bool required = true;    ///< false: if none of them can be used, the library chooses
  size_t least_rings = 0;  ///< limits of parallel rings; 0: none
  size_t most_rings = 0;

  bool operator==(const CallOptions&) const = default;
};

class SelectedPlans {
 public:
  /// The plan for a call, made and proven when it is asked for the first time; null: the library chooses. It
  /// stays in memory, as calls that use it may be queued. All ranks get the same for the same arguments.
  /// Errors: invalid_argument for unknown words, and if no algorithm that is asked for can be used.
  Result<const ir::LoadedPlan*> find(const Communicator& communicator, Collective kind, Rank root,
                                     size_t bytes, const CallOptions& options);

 private:
  Result<const ir::LoadedPlan*> make(const Communicator& communicator, Collective kind, Rank root,
                                     size_t bytes, const CallOptions& options) const;

  using Key = std::tuple<Collective, Rank, int, std::string, bool, size_t, size_t>;
  std::map<Key, const ir::LoadedPlan*> known_;
};

}  // namespace weir::core
