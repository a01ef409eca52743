// SPDX-License-Identifier: Apache-2.0
/// The network ports of a host that are nearest to one of its GPUs.
/// Tests: tests/core/near_ports_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::core {

/// The names of the active ports that the GPU at this PCI address ("0000:3b:00.0") reaches by the nearest
/// class of path (topology/model/paths.h). Empty if all ports are equally near, or if the host has no such
/// GPU. Pure; thread-safe.
std::vector<std::string> near_ports(const topology::Graph& host, std::string_view gpu);

/// Success if the ports of an adapter ("mlx5_0") are near enough to that GPU for GPUDirect RDMA, by `level`,
/// the value of NCCL_NET_GDR_LEVEL (src/base/options.cc); otherwise invalid_usage with their distance, if
/// known. invalid_argument if `level` is not a level. Pure; thread-safe.
Status is_near_enough(const topology::Graph& host, std::string_view gpu, std::string_view adapter,
                      const std::string& level);

}  // namespace weir::core
