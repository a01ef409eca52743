// SPDX-License-Identifier: Apache-2.0
/// The rings that plans take, from graph files of NCCL (NCCL_GRAPH_FILE) and from how many are asked for.
///
/// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "weir/status.h"

namespace weir::core {

using Devices = std::vector<int64_t>;

/// The devices of each of the file's rings, in order. `name` is the file's, for messages. Errors: of the
/// reader, and invalid_argument for a file without a ring.
Result<std::vector<Devices>> devices_in_rings(std::string_view text, std::string_view name);

/// The ranks of each host, which take devices 0, 1, ... in their order, follow each other as their devices
/// do in the first ring; those whose devices are not in it come after them as they were. All rings become
/// rings of the layout that go through hosts one after the other. `hosts` by rank. REQUIRES: a ring.
void follow_rings(algorithms::Layout& layout, std::span<const topology::Index> hosts,
                  std::span<const Devices> rings);

/// At most `most` rings, and at least `least`: those that there are are repeated. No more than plans can
/// take (algorithms/catalogue/ring_set.h), or than make a plan of a million moves. One ring in order is none.
void limit_rings(algorithms::Layout& layout, size_t least, size_t most);

}  // namespace weir::core
