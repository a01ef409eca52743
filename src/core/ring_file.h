/// Rings from graph files of NCCL (NCCL_GRAPH_FILE), as the order in which plans take the ranks of a host.
///
/// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/layout.h"
#include "weir/status.h"

namespace weir::core {

/// The devices of the file's first ring, in order. `name` is the file's, for messages. Errors: of the reader,
/// and invalid_argument for a file without a ring.
Result<std::vector<int64_t>> devices_in_ring(std::string_view text, std::string_view name);

/// The ranks of each host, which take devices 0, 1, ... in their order, follow each other as their devices
/// do; those whose devices are not in the ring come after them as they were. `hosts` by rank.
void follow_ring(algorithms::Layout& layout, std::span<const topology::Index> hosts,
                 std::span<const int64_t> devices);

}  // namespace weir::core
