// SPDX-License-Identifier: Apache-2.0
/// Which network ports of a host are nearest to one of its GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/model/graph.h"
#include "weir/status.h"

namespace weir::core {

/// The names of the ports that the GPU at this address of the PCI bus ("0000:3b:00.0") reaches by the nearest
/// class of path (topology/model/paths.h), those that are down left out. Empty where all are as near, or the
/// host's description has no such GPU. Pure; thread-safe.
std::vector<std::string> near_ports(const topology::Graph& host, std::string_view gpu);

/// Whether the ports of an adapter ("mlx5_0") are near enough to that GPU to come to its memory, as
/// NCCL_NET_GDR_LEVEL says (src/base/options.cc); else how far they are, or that nobody knows. Errors:
/// invalid_argument for what is no level. Pure; thread-safe.
Status is_near_enough(const topology::Graph& host, std::string_view gpu, std::string_view adapter,
                      const std::string& level);

}  // namespace weir::core
