// SPDX-License-Identifier: Apache-2.0
/// Binding: which cores each local rank runs on.
#pragma once

#include <hwloc.h>

#include <memory>
#include <vector>

#include "weir/status.h"

namespace weir::cli {

enum class BindMode : int {
  none,       ///< wherever the system puts it
  core,       ///< each rank on cores of its own; with more ranks than cores they take turns in sharing one
  automatic,  ///< as core if there are enough cores, else none
};

/// Cores of this machine (those that this process may use), dealt out so that each rank has about as
/// many as the next one, close together.
class Binding {
 public:
  static Result<Binding> make(BindMode mode, int ranks);

  /// Moves the calling process to the cores of the rank. Returns whether it could.
  bool apply(int rank) const;
  /// Numbers of the processors of the rank; empty if it is not bound.
  std::vector<int> processors(int rank) const;

 private:
  struct Deleter {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
    void operator()(hwloc_bitmap_s* set) const { hwloc_bitmap_free(set); }
  };
  const hwloc_bitmap_s* set_of(int rank) const;

  std::unique_ptr<hwloc_topology, Deleter> topology_;
  std::vector<std::unique_ptr<hwloc_bitmap_s, Deleter>> sets_;  ///< rank r has number r modulo the size
};

}  // namespace weir::cli
