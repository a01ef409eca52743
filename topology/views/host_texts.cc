// SPDX-License-Identifier: Apache-2.0

#include "topology/views/host_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/base/text.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

/// "H100" of "NVIDIA H100 80GB HBM3": a name short enough for a box.
std::string short_model(std::string_view name) {
  for (const std::string_view maker : {"NVIDIA ", "AMD ", "Tesla ", "Instinct ", "GeForce ", "RTX "}) {
    if (name.starts_with(maker)) name.remove_prefix(maker.size());
  }
  return std::string(name.substr(0, name.find_first_of(" -")));
}

std::vector<Pen::Line> gpu_lines(const Graph& graph, const Children& children, Index node) {
  const auto& gpu = *graph.get<GpuFacts>(node);
  int64_t partitions = 0;
  for (const Index child : children[static_cast<size_t>(node)])
    partitions += graph[child].kind() == NodeKind::partition ? 1 : 0;
  const std::string what = gpu.model_name.empty() ? gpu.arch : short_model(gpu.model_name);
  return {{gpu.device >= 0 ? label_of(graph, node) : "GPU", TextStyle::strong, 12},
          {what, TextStyle::plain, 10.5},
          {partitions > 0 ? plural(partitions, "part") : address_of(graph, node), TextStyle::muted, 10}};
}

std::vector<Pen::Line> nic_lines(const Graph& graph, const Children& children,
                                 const std::vector<Index>& nics) {
  std::vector<Index> ports;
  double sum = 0;
  for (const Index nic : nics) {
    const std::vector<Index> own = ports_of(children, graph, nic);
    ports.insert(ports.end(), own.begin(), own.end());
    sum += speed_of(graph, children, nic);
  }
  const std::string speed = sum > 0 ? rate(sum) : "";
  const std::string address = address_of(graph, nics[0]);
  const auto count = static_cast<int64_t>(ports.size());
  if (count == 0) return {{"NIC", TextStyle::strong, 11}, {address, TextStyle::muted, 10}};
  const std::string first = label_of(graph, ports[0]);
  if (count == 1)
    return {{first, TextStyle::strong, 11}, {speed, TextStyle::plain, 10.5}, {address, TextStyle::muted, 10}};
  if (count == 2)
    return {{first, TextStyle::strong, 11},
            {label_of(graph, ports[1]), TextStyle::strong, 11},
            {speed, TextStyle::plain, 10.5}};
  return {{first, TextStyle::strong, 11},
          {plural(count, "port"), TextStyle::plain, 10.5},
          {speed, TextStyle::plain, 10.5}};
}

}  // namespace

std::string address_of(const Graph& graph, Index node) {
  const PciFacts* pci = pci_of(graph[node]);
  return pci == nullptr ? "" : short_address(pci->address);
}

std::vector<Pen::Line> lines_of(const Graph& graph, const Children& children,
                                const std::vector<Index>& devices) {
  const NodeKind kind = graph[devices[0]].kind();
  std::vector<Pen::Line> lines = {{"PCIe", TextStyle::plain, 11},
                                  {address_of(graph, devices[0]), TextStyle::muted, 10}};
  if (kind == NodeKind::gpu) lines = gpu_lines(graph, children, devices[0]);
  if (kind == NodeKind::nic) lines = nic_lines(graph, children, devices);
  if (devices.size() == 1) return lines;
  lines[0].text = kind == NodeKind::bridge ? fmt::format("{} \xc3\x97 PCIe", devices.size())
                                           : plural(static_cast<int64_t>(devices.size()), name(kind));
  if (kind != NodeKind::nic) {
    lines.resize(1);
  } else if (lines.size() == 3) {
    lines.erase(lines.begin() + 1);
  }
  return lines;
}

double speed_of(const Graph& graph, const Children& children, Index nic) {
  double sum = 0;
  for (const Index port : ports_of(children, graph, nic)) {
    const auto& facts = *graph.get<PortFacts>(port);
    sum += facts.active ? speed_of(facts) : 0;
  }
  return sum;
}

std::string network_facts(const Graph& graph, const Children& children, const std::vector<Index>& nics) {
  std::string text = "to the network";
  size_t lines = 0;
  for (const Index nic : nics) {
    for (const Index port : ports_of(children, graph, nic)) {
      if (++lines <= kMostFactLines)
        text += fmt::format("\n{}: {}", label_of(graph, port), rate(speed_of(*graph.get<PortFacts>(port))));
    }
  }
  return lines > kMostFactLines ? text + fmt::format("\nand {} more", lines - kMostFactLines) : text;
}

}  // namespace weir::topology
