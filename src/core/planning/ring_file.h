// SPDX-License-Identifier: Apache-2.0
/// The rings for plans: from NCCL's graph files (NCCL_GRAPH_FILE), and within the requested numbers of rings.
///
/// Pure and thread-safe.
/// Tests: tests/core/ring_file_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "src/base/status.h"

namespace weir::core {

using Devices = std::vector<int64_t>;

/// The devices of each of the file's rings, in order. `name`: the file's name, for messages. Errors: those of
/// the reader, and invalid_argument for a file without a ring.
Result<std::vector<Devices>> devices_in_rings(std::string_view text, std::string_view name);

/// Orders the ranks of each host, which use devices 0, 1, ... in their order, as the first ring orders their
/// devices; ranks whose devices are not in it follow in their old order. All rings become rings of the layout
/// that pass one host after the other. `hosts`: by rank. REQUIRES: a ring.
void follow_rings(algorithms::Layout& layout, std::span<const topology::Index> hosts,
                  std::span<const Devices> rings);

/// Limits the layout's rings to `most`, and duplicates existing ones to reach `least`; never more than plans
/// support (algorithms/catalogue/ring_set.h), or than would make a plan of a million moves. A single ring in
/// the layout's order is removed, as it is the default.
void limit_rings(algorithms::Layout& layout, size_t least, size_t most);

}  // namespace weir::core
