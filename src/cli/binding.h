// SPDX-License-Identifier: Apache-2.0
/// CoreBinding: the cores on which each local rank runs.
/// Tests: tests/cli/launcher_test.cc
#pragma once

#include <hwloc.h>

#include <memory>
#include <vector>

#include "src/base/status.h"

namespace weir::cli {

enum class BindMode : int {
  none,       ///< the operating system chooses the cores
  core,       ///< each rank has its own cores; if there are more ranks than cores, several ranks share one
  automatic,  ///< `core` if there are enough cores, else `none`
};

/// Distributes the cores that this process may use among the local ranks: about the same number for each
/// rank, close together.
class CoreBinding {
 public:
  static Result<CoreBinding> make(BindMode mode, int ranks);

  /// Binds the calling process to the cores of the rank. Returns whether that succeeded.
  bool apply(int rank) const;
  /// Numbers of the rank's processors (PUs); empty if the rank is not bound.
  std::vector<int> processors(int rank) const;

 private:
  struct Deleter {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
    void operator()(hwloc_bitmap_s* set) const { hwloc_bitmap_free(set); }
  };
  const hwloc_bitmap_s* set_of(int rank) const;

  std::unique_ptr<hwloc_topology, Deleter> topology_;
  std::vector<std::unique_ptr<hwloc_bitmap_s, Deleter>> sets_;  ///< rank r has entry r modulo the size
};

}  // namespace weir::cli
