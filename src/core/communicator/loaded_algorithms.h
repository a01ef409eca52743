// SPDX-License-Identifier: Apache-2.0
/// Plans that a program loads from files itself and runs by handle: mscclLoadAlgo, mscclRunAlgo.
///
/// Thread-safe.
/// Tests: tests/api/msccl_test.cc
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "src/base/status.h"
#include "src/core/call/operation.h"

namespace weir::core {

/// Whether a program loaded the plan from a file; false: it was made for a call (SelectedPlans).
bool was_loaded(const ir::LoadedPlan& plan);

class LoadedAlgorithms {
 public:
  /// Those of this process; never destroyed.
  static LoadedAlgorithms& of_process();

  /// Reads and proves the plan of a file. Returns a handle, which is never 0. Errors: as read_plan_files().
  Result<int> load(const std::string& file);
  /// Makes the handle invalid. Its plan stays in memory, as calls that use it may be queued; loading an equal
  /// plan again takes no more memory.
  Status unload(int handle);
  /// Keeps a proven plan in memory, once for equal ones, and returns it.
  const ir::LoadedPlan* keep(ir::LoadedPlan plan);
  /// A collective of this plan, without buffers. Errors: invalid_argument if there is no such handle, or if
  /// its plan is for another number of ranks or another root.
  Result<CollectiveOp> call_of(int handle, int ranks, Rank root) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const ir::LoadedPlan>> plans_;  ///< proven plans by key
  std::map<int, const ir::LoadedPlan*> handles_;
  int next_ = 1;
};

}  // namespace weir::core
