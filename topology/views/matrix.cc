// SPDX-License-Identifier: Apache-2.0

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
  int number;  ///< the library's number of the device; -1: unknown
};

/// Sorts by number, as other tools do; devices without a number keep their order, at the end.
void by_number(std::vector<Device>& devices) {
  std::stable_sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
    return static_cast<unsigned>(a.number) < static_cast<unsigned>(b.number);
  });
}

std::vector<Device> devices_of(const Graph& graph, Index host) {
  const std::vector<Index> hosts = hosts_of(graph);
  std::vector<Device> gpus, nics;
  for (Index node = 0; node < graph.size(); ++node) {
    if (hosts[static_cast<size_t>(node)] != host) continue;
    if (const auto* gpu = graph.get<GpuFacts>(node)) {
      const int place = static_cast<int>(gpus.size());
      gpus.push_back({node, fmt::format("GPU{}", gpu->device >= 0 ? gpu->device : place), gpu->device});
    }
    if (const auto* port = graph.get<PortFacts>(node)) nics.push_back({node, graph[node].name, port->device});
    if (graph[node].kind() == NodeKind::nic) {
      const bool has_ports = node + 1 < graph.size() && graph[node + 1].parent == node;
      if (!has_ports) nics.push_back({node, graph[node].name, -1});
    }
  }
  by_number(gpus);
  by_number(nics);
  gpus.insert(gpus.end(), nics.begin(), nics.end());
  return gpus;
}

/// The contents of one cell of each table.
struct Cell {
  std::string path_class;
  std::string gb_per_s;
  bool known = false;  ///< whether the speed is known
};

Cell cell_of(const Graph& graph, const Adjacency& adjacency, const Path& path, Index from, Index to) {
  if (from == to) return {"X", "X", false};
  if (path.path_class == PathClass::dis) return {"-", "-", false};
  const GpuLinks links = gpu_links(graph, adjacency, from, to);
  const double gb_per_s = links.count == 0 ? path.gb_per_s : links.gb_per_s;
  Cell cell{name(path.path_class), bandwidth_figure(gb_per_s), gb_per_s > 0};
  if (links.count > 0) {
    const bool xgmi = graph.links()[path.links[0]].kind == LinkKind::xgmi;
    cell.path_class = fmt::format("{}{}", xgmi ? "XG" : "NV", links.count);
  }
  return cell;
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
  const bool known = std::any_of(cells.begin(), cells.end(), [](const std::vector<Cell>& row) {
    return std::any_of(row.begin(), row.end(), [](const Cell& cell) { return cell.known; });
  });
  if (!known) return text += "\nNo speeds are known.\n";
  text += '\n';
  table("GB/s", &Cell::gb_per_s);
  return text;
}

}  // namespace weir::topology
