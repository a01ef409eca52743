#include "topology/views/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "topology/model/derive.h"
#include "topology/model/paths.h"
#include "topology/views/words.h"

namespace weir::topology {
namespace {

struct Device {
  Index node;
  std::string name;
};

std::vector<Device> devices_of(const Graph& graph, Index host) {
  const std::vector<Index> hosts = hosts_of(graph);
  std::vector<Device> gpus, nics;
  for (Index node = 0; node < graph.size(); ++node) {
    if (hosts[static_cast<size_t>(node)] != host) continue;
    if (const auto* gpu = graph.get<GpuFacts>(node))
      gpus.push_back(
          {node, fmt::format("GPU{}", gpu->device >= 0 ? gpu->device : static_cast<int>(gpus.size()))});
    if (graph[node].kind() == NodeKind::port) nics.push_back({node, graph[node].name});
    if (graph[node].kind() == NodeKind::nic) {
      const bool has_ports = node + 1 < graph.size() && graph[node + 1].parent == node;
      if (!has_ports) nics.push_back({node, graph[node].name});
    }
  }
  gpus.insert(gpus.end(), nics.begin(), nics.end());
  return gpus;
}

/// What one cell of each table says.
struct Cell {
  std::string path_class;
  std::string gb_per_s;
};

Cell cell_of(const Graph& graph, const Adjacency& adjacency, const Path& path, Index from, Index to) {
  if (from == to) return {"X", "X"};
  if (path.path_class == PathClass::dis) return {"-", "-"};
  const GpuLinks links = gpu_links(graph, adjacency, from, to);
  if (links.count == 0) return {name(path.path_class), bandwidth_figure(path.gb_per_s)};
  const bool xgmi = graph.links()[path.links[0]].kind == LinkKind::xgmi;
  return {fmt::format("{}{}", xgmi ? "XG" : "NV", links.count), bandwidth_figure(links.gb_per_s)};
}

}  // namespace

std::string matrix_of(const Graph& graph, Index host) {
  const std::vector<Device> devices = devices_of(graph, host);
  const Adjacency adjacency(graph);
  std::vector<std::vector<Cell>> cells;
  size_t width = 4;
  for (const Device& from : devices) {
    const Paths paths(graph, adjacency, from.node);
    std::vector<Cell>& row = cells.emplace_back();
    for (const Device& to : devices)
      row.push_back(cell_of(graph, adjacency, paths.to(to.node), from.node, to.node));
    width = std::max(width, from.name.size());
  }
  std::string text;
  const auto table = [&](const char* title, std::string Cell::*figure) {
    text += fmt::format("{:<{}}", title, width);
    for (const Device& device : devices)
      text += fmt::format("  {:>{}}", device.name, std::max<size_t>(4, device.name.size()));
    for (size_t i = 0; i < devices.size(); ++i) {
      text += fmt::format("\n{:<{}}", devices[i].name, width);
      for (size_t j = 0; j < devices.size(); ++j)
        text += fmt::format("  {:>{}}", cells[i][j].*figure, std::max<size_t>(4, devices[j].name.size()));
    }
    text += '\n';
  };
  table("", &Cell::path_class);
  text += '\n';
  table("GB/s", &Cell::gb_per_s);
  return text;
}

}  // namespace weir::topology
