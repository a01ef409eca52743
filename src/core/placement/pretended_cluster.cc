// SPDX-License-Identifier: Apache-2.0

#include "src/core/placement/pretended_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "src/base/bytes.h"
#include "src/base/host.h"
#include "src/base/text.h"
#include "topology/detect/read_files.h"
#include "topology/formats/source.h"
#include "topology/model/assumed_rates.h"
#include "topology/model/derive.h"
#include "topology/model/merge.h"
#include "topology/model/wire.h"
#include "weir/launched.h"

namespace weir::core {
namespace {

using topology::Graph;
using topology::HostFacts;
using topology::Index;
using topology::NodeKind;

uint64_t digest_of(const Graph& graph) {
  ByteWriter out;
  topology::put_graph(out, graph);
  const Bytes bytes = out.take();
  return hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

Result<PretendedCluster> PretendedCluster::read(const std::string& text) {
  const size_t at = text.rfind('@');
  const std::string source = text.substr(0, at);
  double scale = 1;
  if (at != std::string::npos && (!topology::parse_number(text.substr(at + 1), scale) || scale < 0))
    return Status(
        Code::invalid_argument,
        fmt::format("WEIR_PRETEND: the scale is \"{}\"; expected a number of at least 0 behind the @",
                    text.substr(at + 1)));
  const std::string files[] = {source};
  topology::Notes notes;
  Result<Graph> graph = topology::read_files(files, &notes);
  if (!graph.ok()) return Status(graph.status().code(), "WEIR_PRETEND: " + graph.status().message());
  PretendedCluster cluster;
  cluster.source_ = source;
  cluster.scale_ = scale;
  cluster.graph_ = std::move(*graph);
  cluster.assumed_ = topology::assume_rates(cluster.graph_);
  cluster.devices_ = cluster.graph_.all(NodeKind::gpu);
  const std::vector<Index> hosts = cluster.graph_.all(NodeKind::host);
  if (cluster.devices_.empty()) cluster.devices_ = hosts;
  if (cluster.devices_.empty())
    return Status(
        Code::invalid_argument,
        fmt::format("WEIR_PRETEND: {} has neither GPUs nor hosts; expected devices for ranks", source));
  for (const Index device : cluster.devices_)
    if (cluster.graph_.holder(device, NodeKind::host) == topology::kNone)
      return Status(Code::invalid_argument, fmt::format("WEIR_PRETEND: {} is in no host of {}",
                                                        cluster.graph_.describe(device), source));
  // Ranks and identities in the file belong to others.
  for (const Index gpu : cluster.graph_.all(NodeKind::gpu))
    cluster.graph_.get<topology::GpuFacts>(gpu)->rank = -1;
  for (size_t i = 0; i < hosts.size(); ++i) {
    cluster.graph_.get<HostFacts>(hosts[i])->identity = i + 1;
    if (cluster.graph_[hosts[i]].name.empty()) cluster.graph_[hosts[i]].name = fmt::format("host{}", i);
  }
  cluster.digest_ = digest_of(cluster.graph_);
  return cluster;
}

Result<std::vector<int>> PretendedCluster::places(std::span<const int> told) const {
  const auto count = static_cast<int64_t>(devices_.size());
  const std::string has =
      fmt::format("{} (WEIR_PRETEND) has {}", source_, plural(count, has_gpus() ? "GPU" : "host"));
  if (told.size() > devices_.size())
    return Status(
        Code::invalid_usage,
        fmt::format("the communicator has {}, but {}; expected a cluster with a device for each rank",
                    plural(static_cast<int64_t>(told.size()), "rank"), has));
  const std::set<int> different(told.begin(), told.end());
  std::vector<int> places(told.begin(), told.end());
  if (different.size() < told.size() || *different.begin() < 0) {
    for (size_t rank = 0; rank < places.size(); ++rank) places[rank] = static_cast<int>(rank);
    return places;
  }
  if (*different.rbegin() >= count)
    return Status(
        Code::invalid_usage,
        fmt::format("process {} of the job (counted from 0) is in the communicator, but {}; expected a "
                    "cluster with a device for each process",
                    *different.rbegin(), has));
  return places;
}

JobTopology PretendedCluster::topology_of(std::span<const int> places) const {
  const std::vector<Index> holders = topology::hosts_of(graph_);
  std::vector<uint64_t> identities;
  for (const int place : places) {
    const Index host = holders[static_cast<size_t>(devices_[static_cast<size_t>(place)])];
    identities.push_back(graph_.get<HostFacts>(host)->identity);
  }
  const std::unordered_set<uint64_t> used(identities.begin(), identities.end());
  JobTopology topology;
  topology.graph = topology::subgraph(graph_, [&](Index node) {
    const Index host = holders[static_cast<size_t>(node)];
    return host == topology::kNone || used.contains(graph_.get<HostFacts>(host)->identity);
  });
  std::unordered_map<uint64_t, Index> hosts;
  for (const Index host : topology.graph.all(NodeKind::host))
    hosts[topology.graph.get<HostFacts>(host)->identity] = host;
  for (const uint64_t identity : identities) topology.hosts.push_back(hosts.at(identity));
  return topology;
}

std::string PretendedCluster::describe(int place) const {
  const Index device = devices_[static_cast<size_t>(place)];
  const Index host = graph_.holder(device, NodeKind::host);
  if (host == device) return "host " + graph_[device].name;
  const auto first = std::ranges::find_if(
      devices_, [&](Index other) { return graph_.holder(other, NodeKind::host) == host; });
  return fmt::format("GPU {} of {}", place - (first - devices_.begin()), graph_[host].name);
}

int told_place(int ranks) {
  const auto launched = find_launched([](const char* name) { return std::getenv(name); });
  return launched && launched->wrong.empty() && ranks <= launched->size ? launched->rank : -1;
}

}  // namespace weir::core
