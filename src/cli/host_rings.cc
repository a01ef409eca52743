// SPDX-License-Identifier: Apache-2.0

#include "src/cli/host_rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "algorithms/network/network.h"
#include "algorithms/rings/pack_rings.h"
#include "topology/model/merge.h"
#include "topology/model/paths.h"

namespace weir::cli {
namespace {

using topology::ChannelGraph;
using topology::Graph;
using topology::Index;
using topology::NodeKind;
using topology::Path;
using topology::PathClass;

/// One port of a NIC, as the host's GPUs see it.
struct NetPort {
  int64_t device = 0;
  double gb_per_s = 0;
  std::vector<Path> from;  // index: GPU; the path from it
};

/// The host alone: rings inside it do not pass the network. Nodes keep their order.
Graph alone(const Graph& graph, Index host, std::vector<Index>& gpus) {
  const auto is_inside = [&](Index node) { return graph.holder(node, NodeKind::host) == host; };
  for (Index& gpu : gpus) {
    Index position = 0;
    for (Index node = 0; node < gpu; ++node) position += is_inside(node) ? 1 : 0;
    gpu = position;
  }
  return topology::subgraph(graph, is_inside);
}

std::vector<NetPort> ports_of(const Graph& host, const std::vector<Index>& gpus) {
  const topology::Adjacency adjacency(host);
  std::vector<topology::Paths> paths;
  for (const Index gpu : gpus) paths.emplace_back(host, adjacency, gpu);
  std::vector<NetPort> ports;
  for (const Index node : host.all(NodeKind::port)) {
    const auto* facts = host.get<topology::PortFacts>(node);
    NetPort port{facts->device >= 0 ? facts->device : static_cast<int64_t>(ports.size()),
                 facts->mbit_per_s / 8000,
                 {}};
    for (const topology::Paths& own : paths) port.from.push_back(own.to(node));
    const auto reached = [](const Path& path) { return path.path_class < PathClass::net; };
    if (facts->active && std::all_of(port.from.begin(), port.from.end(), reached))
      ports.push_back(std::move(port));
  }
  return ports;
}

/// The ring cut open: its first and last rank have the nearest paths to the port.
algorithms::Ring cut_open(algorithms::Ring ring, const NetPort& port) {
  const auto far = [&](size_t first) {
    const Path& in = port.from[static_cast<size_t>(ring[first])];
    const Path& out = port.from[static_cast<size_t>(ring[(first + ring.size() - 1) % ring.size()])];
    return std::tuple(std::max(in.path_class, out.path_class), in.path_class, in.hops + out.hops, in.hops);
  };
  size_t best = 0;
  for (size_t first = 1; first < ring.size(); ++first)
    if (far(first) < far(best)) best = first;
  std::rotate(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(best), ring.end());
  return ring;
}

}  // namespace

std::vector<int64_t> device_numbers(const Graph& graph, const std::vector<Index>& gpus) {
  std::vector<int64_t> numbers;
  for (const Index gpu : gpus) numbers.push_back(graph.get<topology::GpuFacts>(gpu)->device);
  if (std::ranges::min(numbers) < 0)
    for (size_t position = 0; position < numbers.size(); ++position)
      numbers[position] = static_cast<int64_t>(position);
  return numbers;
}

Result<ChannelGraph> rings_between_nics(const Graph& graph, Index host, const std::vector<Index>& all) {
  std::vector<Index> gpus = all;
  const Graph own = alone(graph, host, gpus);
  const std::vector<NetPort> ports = ports_of(own, gpus);
  if (ports.empty())
    return Status(Code::invalid_argument,
                  fmt::format("host {} has no NIC to which paths from all of its GPUs lead; expected one, "
                              "because the rings leave the host by it",
                              graph[host].name));
  algorithms::Rings rings = {{0}};
  double inside = 0;  // of each ring
  if (gpus.size() > 1) {
    const auto network = algorithms::network_of(own, gpus);
    WEIR_TRY(network.status());
    const auto packing = algorithms::pack_rings(*network);
    WEIR_TRY(packing.status());
    rings = algorithms::spelled_out(*packing);
    inside = packing->bandwidth.value() * algorithms::kCapacityUnit;
  }
  const size_t each = (rings.size() + ports.size() - 1) / ports.size();  // channels of a NIC
  const size_t channels = each * ports.size();
  const size_t most_copies = (channels + rings.size() - 1) / rings.size();
  const std::vector<int64_t> devices = device_numbers(own, gpus);
  ChannelGraph result;
  result.speed_inter = std::ranges::min(ports, {}, &NetPort::gb_per_s).gb_per_s / static_cast<double>(each);
  result.speed_intra = gpus.size() > 1 ? inside / static_cast<double>(most_copies) : result.speed_inter;
  result.type_intra = PathClass::sys;  // widest class that NCCL searches
  for (size_t c = 0; c < channels; ++c) {
    const NetPort& port = ports[c % ports.size()];
    const algorithms::Ring ring = cut_open(rings[c % rings.size()], port);
    std::vector<topology::ChannelStop>& stops = result.channels.emplace_back();
    stops.push_back({.is_net = true, .device = port.device});
    for (const Rank rank : ring) stops.push_back({.device = devices[static_cast<size_t>(rank)]});
    stops.push_back({.is_net = true, .device = port.device});
    for (const Rank end : {ring.front(), ring.back()})
      result.type_inter = std::max(result.type_inter, port.from[static_cast<size_t>(end)].path_class);
  }
  return result;
}

}  // namespace weir::cli
