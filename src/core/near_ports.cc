#include "src/core/near_ports.h"

#include <algorithm>

#include "topology/formats/source.h"
#include "topology/model/paths.h"

namespace weir::core {

using topology::Index;
using topology::NodeKind;

std::vector<std::string> near_ports(const topology::Graph& host, std::string_view gpu) {
  std::string address;
  if (!topology::parse_pci_address(gpu, address)) return {};
  const std::vector<Index> gpus = host.all(NodeKind::gpu);
  const auto own = std::find_if(gpus.begin(), gpus.end(), [&](Index node) {
    return host.get<topology::GpuFacts>(node)->pci.address == address;
  });
  if (own == gpus.end()) return {};
  const topology::Adjacency adjacency(host);
  const topology::Paths paths(host, adjacency, *own);
  auto nearest = topology::PathClass::dis, farthest = topology::PathClass::loc;
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

}  // namespace weir::core
