// SPDX-License-Identifier: Apache-2.0

#include "src/cli/binding.h"

#include <algorithm>
#include <climits>

namespace weir::cli {

Result<CoreBinding> CoreBinding::make(BindMode mode, int ranks) {
  CoreBinding binding;
  if (mode == BindMode::none) return binding;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return Status(Code::system_error, "hwloc cannot be initialised");
  binding.topology_.reset(topology);
  // The x86 component binds to every processor in turn, which is slow on a busy machine; Linux reports the
  // same data.
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  if (hwloc_topology_load(topology) != 0)
    return Status(Code::system_error, "hwloc cannot read this machine's topology");
  hwloc_bitmap_t usable = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(topology, usable, HWLOC_CPUBIND_PROCESS) == 0)
    hwloc_topology_restrict(topology, usable, 0);
  hwloc_bitmap_free(usable);

  int cores = std::max(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), 1);
  if (mode == BindMode::automatic && ranks > cores) return CoreBinding();
  std::vector<hwloc_bitmap_t> sets(static_cast<size_t>(std::min(ranks, cores)));
  hwloc_obj_t root = hwloc_get_root_obj(topology);
  if (hwloc_distrib(topology, &root, 1, sets.data(), static_cast<unsigned>(sets.size()), INT_MAX, 0) != 0)
    return Status(Code::system_error,
                  "hwloc cannot distribute the cores of this machine among the ranks; use --bind none");
  for (hwloc_bitmap_t set : sets) binding.sets_.emplace_back(set);
  return binding;
}

const hwloc_bitmap_s* CoreBinding::set_of(int rank) const {
  return sets_.empty() ? nullptr : sets_[static_cast<size_t>(rank) % sets_.size()].get();
}

bool CoreBinding::apply(int rank) const {
  const hwloc_bitmap_s* set = set_of(rank);
  return set == nullptr || hwloc_set_cpubind(topology_.get(), set, HWLOC_CPUBIND_PROCESS) == 0;
}

std::vector<int> CoreBinding::processors(int rank) const {
  std::vector<int> numbers;
  const hwloc_bitmap_s* set = set_of(rank);
  if (set == nullptr) return numbers;
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) numbers.push_back(i);
  return numbers;
}

}  // namespace weir::cli
