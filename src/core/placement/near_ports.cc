// SPDX-License-Identifier: Apache-2.0

#include "src/core/placement/near_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "topology/formats/source.h"
#include "topology/model/paths.h"

namespace weir::core {

using topology::Index;
using topology::NodeKind;
using topology::PathClass;

namespace {

std::optional<Index> find_gpu(const topology::Graph& host, std::string_view gpu) {
  std::string address;
  if (!topology::parse_pci_address(gpu, address)) return std::nullopt;
  for (const Index node : host.all(NodeKind::gpu))
    if (host.get<topology::GpuFacts>(node)->pci.address == address) return node;
  return std::nullopt;
}

/// Parses NCCL's names of levels, or its older numbers.
std::optional<PathClass> level_of(const std::string& text) {
  constexpr std::pair<std::string_view, PathClass> kLevels[] = {{"LOC", PathClass::loc},
                                                                {"PIX", PathClass::pix},
                                                                {"PXB", PathClass::pxb},
                                                                {"PHB", PathClass::phb},
                                                                {"SYS", PathClass::sys}};
  if (text.empty()) return PathClass::pxb;
  for (size_t i = 0; i < std::size(kLevels); ++i)
    if (text == kLevels[i].first || text == std::to_string(i)) return kLevels[i].second;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> near_ports(const topology::Graph& host, std::string_view gpu) {
  const std::optional<Index> own = find_gpu(host, gpu);
  if (!own) return {};
  const topology::Adjacency adjacency(host);
  const topology::Paths paths(host, adjacency, *own);
  auto nearest = PathClass::dis, farthest = PathClass::loc;
  std::vector<Index> ports;
  for (const Index port : host.all(NodeKind::port)) {
    if (!host.get<topology::PortFacts>(port)->active) continue;
    ports.push_back(port);
    nearest = std::min(nearest, paths.path_class(port));
    farthest = std::max(farthest, paths.path_class(port));
  }
  std::vector<std::string> names;
  if (nearest == farthest) return names;
  for (const Index port : ports)
    if (paths.path_class(port) == nearest) names.push_back(host[port].name);
  return names;
}

Status is_near_enough(const topology::Graph& host, std::string_view gpu, std::string_view adapter,
                      const std::string& level) {
  const std::optional<PathClass> farthest = level_of(level);
  if (!farthest)
    return {Code::invalid_argument,
            fmt::format("NCCL_NET_GDR_LEVEL={}: expected LOC, PIX, PXB, PHB or SYS, or 0 to 4", level)};
  const std::optional<Index> own = find_gpu(host, gpu);
  auto found = PathClass::dis;
  if (own) {
    const topology::Adjacency adjacency(host);
    const topology::Paths paths(host, adjacency, *own);
    for (const Index port : host.all(NodeKind::port)) {
      const std::string_view name = host[port].name;
      if (name == adapter || (name.starts_with(adapter) && name.substr(adapter.size()).starts_with(':')))
        found = std::min(found, paths.path_class(port));
    }
  }
  if (found == PathClass::dis)
    return {Code::invalid_usage, fmt::format("the distance between {} and GPU {} is unknown", adapter, gpu)};
  if (found <= *farthest) return {};
  return {Code::invalid_usage, fmt::format("{} is at distance {} from GPU {}, but NCCL_NET_GDR_LEVEL is {}",
                                           adapter, topology::name(found), gpu, topology::name(*farthest))};
}

}  // namespace weir::core
