// SPDX-License-Identifier: Apache-2.0

#include "src/core/placement/local_host.h"

#include <fmt/format.h>

#include <string_view>

#include "src/base/host.h"
#include "src/base/log.h"
#include "src/drivers/files.h"
#include "src/drivers/machine.h"
#include "topology/detect/detect.h"
#include "topology/formats/any.h"
#include "topology/views/summary.h"

namespace weir::core {
namespace {

using topology::Detected;
using topology::Finding;
using topology::Graph;
using topology::NodeKind;

/// The file in which cloud providers describe a topology that virtual machines hide; NCCL reads it, too.
constexpr const char* kVirtualTopology = "/var/run/nvidia-topologyd/virtualTopology.xml";

void log_findings(const Detected& detected) {
  for (const Finding& finding : detected.findings) {
    const char* const mark = finding.kind == Finding::Kind::found    ? ""
                             : finding.kind == Finding::Kind::absent ? "no "
                                                                     : "note: ";
    WEIR_INFO(graph, "Topology: {}{}: {}", mark, finding.probe, finding.sentence);
  }
}

/// Reads a graph from a file; logs the parts that the reader ignored. `what`: the option that names the file,
/// for errors.
Result<Graph> read(std::string_view what, const std::string& file) {
  const auto text = drivers::read_whole(file, topology::kMostBytes);
  topology::Notes notes;
  Result<Graph> graph = text.ok() ? topology::read_any({file, text.value()}, &notes) : text.status();
  for (const std::string& note : notes) WEIR_INFO(graph, "Topology: {}", note);
  if (graph.ok()) return graph;
  return Status(graph.status().code(), fmt::format("{}: {}", what, graph.status().message()));
}

Result<const Graph*> as_pointer(const Result<Graph>& graph) {
  if (!graph.ok()) return graph.status();
  return &graph.value();
}

}  // namespace

Result<const Graph*> LocalHost::host() {
  std::lock_guard lock(mutex_);
  if (!host_) host_ = look();
  return as_pointer(*host_);
}

std::string LocalHost::name() const { return options_.host_id.empty() ? short_hostname() : options_.host_id; }

std::vector<std::string> LocalHost::ports_without_link() const {
  return topology::ports_without_link(drivers::this_machine()->files());
}

std::string LocalHost::describe() {
  const auto graph = host();
  return graph.ok() ? topology::host_summary(**graph, 0) : graph.status().message();
}

Result<const Graph*> LocalHost::network() {
  std::lock_guard lock(mutex_);
  if (!network_) network_ = look_at_network();
  return as_pointer(*network_);
}

Result<std::optional<Graph>> LocalHost::from_file() const {
  const bool asked = !options_.topology_file.empty();
  const std::string file = asked ? options_.topology_file : kVirtualTopology;
  if (!drivers::files_below("/")->real_path(file)) {
    if (asked) WEIR_WARN("NCCL_TOPO_FILE: there is no file {}; detecting the topology instead", file);
    return std::optional<Graph>();
  }
  Result<Graph> graph = read(asked ? "NCCL_TOPO_FILE" : "the topology of this machine", file);
  WEIR_TRY(graph.status());
  const size_t hosts = graph->all(NodeKind::host).size();
  if (hosts != 1 || (*graph)[0].kind() != NodeKind::host) {
    return Status(
        Code::invalid_usage,
        fmt::format(
            "NCCL_TOPO_FILE: {} describes {} hosts; expected only the host on which the process runs (use "
            "WEIR_FABRIC_FILE for a network)",
            file, hosts));
  }
  for (const topology::Index gpu : graph->all(NodeKind::gpu))
    graph->get<topology::GpuFacts>(gpu)->rank = -1;  // ranks in the file belong to another communicator
  WEIR_INFO(graph, "Topology: read the host from {}", file);
  return std::optional<Graph>(std::move(*graph));
}

Result<Graph> LocalHost::look() const {
  topology::DetectOptions options;
  options.subnet = topology::DetectOptions::Subnet::never;
  auto file = from_file();
  WEIR_TRY(file.status());
  options.host = std::move(*file);
  const auto machine = drivers::this_machine();
  Detected detected = topology::detect(*machine, options);
  log_findings(detected);
  topology::Node& host = detected.graph[0];
  host.name = name();
  std::get<topology::HostFacts>(host.facts).identity = identity_;
  return std::move(detected.graph);
}

Result<Graph> LocalHost::look_at_network() const {
  if (!options_.fabric_file.empty()) return read("WEIR_FABRIC_FILE", options_.fabric_file);
  if (!options_.subnet) return Graph();
  const auto machine = drivers::this_machine();
  Detected detected = topology::detect_subnet(*machine);
  log_findings(detected);
  return std::move(detected.graph);
}

}  // namespace weir::core
