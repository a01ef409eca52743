// SPDX-License-Identifier: Apache-2.0

#include "src/cli/pretended_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "src/base/text.h"
#include "src/cli/library.h"
#include "src/core/placement/pretended_cluster.h"

namespace weir::cli {
namespace {

/// The number of devices of each host, in the order of the devices.
std::vector<int> devices_by_host(const core::PretendedCluster& cluster) {
  std::vector<int> counts;
  topology::Index last = topology::kNone;
  for (const topology::Index device : cluster.devices()) {
    const topology::Index host = cluster.graph().holder(device, topology::NodeKind::host);
    if (counts.empty() || host != last) counts.push_back(0);
    ++counts.back();
    last = host;
  }
  return counts;
}

}  // namespace

Status pretend(const std::string& source, LaunchRequest& request) {
  std::string absolute = source;  // ranks may change their folder
  std::error_code error;
  if (source.find('(') == std::string::npos) absolute = std::filesystem::absolute(source, error).string();
  const auto cluster = core::PretendedCluster::read(absolute);
  WEIR_TRY(cluster.status());
  const auto devices = static_cast<int>(cluster->devices().size());
  if (request.ranks > devices)
    return {Code::invalid_usage,
            fmt::format("-n is {}, but the cluster of --pretend has {}; expected at most one rank for each",
                        request.ranks, plural(devices, cluster->has_gpus() ? "GPU" : "host"))};
  const std::vector<int> by_host = devices_by_host(*cluster);
  for (int left = request.ranks; const int count : by_host) {
    if (left > 0) request.host_ranks.push_back(std::min(left, count));
    left -= count;
  }
  const int visible = request.ranks == 1 ? devices : *std::ranges::max_element(by_host);
  request.environment.emplace_back("WEIR_PRETEND", absolute);
  request.environment.emplace_back("WEIR_FAKE_GPUS", std::to_string(visible));
  if (request.preload.empty()) {
    auto library = find_nccl_library();
    WEIR_TRY(library.status());
    request.preload = std::move(*library);
  }
  auto stand_ins = find_stand_ins();
  WEIR_TRY(stand_ins.status());
  request.stand_ins = std::move(*stand_ins);
  return {};
}

}  // namespace weir::cli
