// SPDX-License-Identifier: Apache-2.0

#include "src/core/placement/job_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "src/base/log.h"
#include "src/base/printable.h"
#include "topology/formats/nccl_xml.h"
#include "topology/formats/source.h"
#include "topology/model/check.h"
#include "topology/model/derive.h"
#include "topology/model/lost_cables.h"
#include "topology/model/merge.h"
#include "topology/model/wire.h"

namespace weir::core {
namespace {

using topology::Graph;
using topology::HostFacts;
using topology::Index;
using topology::NodeKind;

bool on_several_hosts(const std::vector<PeerAddress>& peers) {
  return std::any_of(peers.begin(), peers.end(),
                     [&](const PeerAddress& peer) { return peer.host != peers[0].host; });
}

void put(ByteWriter& out, const Result<const Graph*>& found) {
  out.put(static_cast<int32_t>(found.status().code()));
  if (found.ok())
    topology::put_graph(out, **found);
  else
    out.put_string(found.status().message());
}

void put(ByteWriter& out, const std::vector<std::string>& names) {
  out.put(static_cast<uint32_t>(names.size()));
  for (const std::string& name : names) out.put_string(name);
}

std::set<std::string> get_names(ByteReader& in) {
  std::set<std::string> names;
  for (size_t left = in.count<uint32_t>(sizeof(uint32_t)); left > 0; --left) names.insert(in.get_string());
  return names;
}

bool is_error(Code code) { return code > Code::success && code < Code::in_progress; }

Result<Graph> get(ByteReader& in) {
  const auto code = static_cast<Code>(in.get<int32_t>());
  if (code == Code::success) return topology::get_graph(in);
  return Status(is_error(code) ? code : Code::remote_error, printable(in.get_string()));
}

/// Appends a rank's number to the names of different hosts with the same name.
void tell_apart(std::vector<Graph>& hosts, const std::vector<Rank>& ranks) {
  std::unordered_map<std::string, int> uses;
  for (const Graph& host : hosts) ++uses[host[0].name];
  for (size_t i = 0; i < hosts.size(); ++i) {
    std::string& name = hosts[i][0].name;
    if (uses[name] > 1) name += fmt::format(" (rank {})", ranks[i]);
  }
}

/// The graph without hosts that have no rank.
Graph with_ranks(const Graph& graph, const std::unordered_set<uint64_t>& identities) {
  const std::vector<Index> hosts = topology::hosts_of(graph);
  return topology::subgraph(graph, [&](Index node) {
    const Index host = hosts[static_cast<size_t>(node)];
    return host == topology::kNone || identities.contains(graph.get<HostFacts>(host)->identity);
  });
}

/// Hosts without their cables.
std::vector<Graph> bare(const std::vector<Graph>& hosts) {
  std::vector<Graph> without;
  for (const Graph& host : hosts) {
    const std::vector<Index> holders = topology::hosts_of(host);
    without.push_back(topology::subgraph(
        host, [&](Index node) { return holders[static_cast<size_t>(node)] != topology::kNone; }));
  }
  return without;
}

/// Merges hosts and network. Contradictions between the hosts' views must not keep a job from starting: they
/// are ignored with a warning. Contradictions to a file are errors.
Result<Graph> put_together(std::vector<Graph> hosts, std::optional<Graph> network) {
  Result<Graph> graph = topology::merge(hosts);
  Status sound = graph.ok() ? topology::check(*graph) : graph.status();
  if (!sound.ok()) {
    WEIR_WARN("ignoring the detected network topology: {}", sound.message());
    graph = topology::merge(bare(hosts));
    WEIR_TRY(graph.status());
  }
  if (!network || network->size() == 0) return graph;
  const Graph both[] = {std::move(*graph), std::move(*network)};
  graph = topology::merge(both);
  WEIR_TRY(graph.status());
  WEIR_TRY(topology::check(*graph));
  return graph;
}

}  // namespace

bool is_lowest_on_host(const std::vector<PeerAddress>& peers, Rank self) {
  const auto own = peers.begin() + self;
  return std::none_of(peers.begin(), own, [&](const PeerAddress& peer) { return peer.host == own->host; });
}

Bytes JobTopology::contribution(LocalHost& own, const std::vector<PeerAddress>& peers, Rank self) {
  ByteWriter out;
  if (!is_lowest_on_host(peers, self)) return out.take();
  put(out, own.host());
  if (!on_several_hosts(peers)) return out.take();
  put(out, own.ports_without_link());
  if (self == 0) put(out, own.network());
  return out.take();
}

Result<JobTopology> JobTopology::assemble(const std::vector<Bytes>& contributions,
                                          const std::vector<PeerAddress>& peers) {
  std::vector<Graph> hosts;
  std::vector<Rank> ranks;
  std::optional<Graph> network;
  topology::PortNames without;
  for (Rank rank = 0; rank < static_cast<Rank>(peers.size()); ++rank) {
    ByteReader in(contributions[static_cast<size_t>(rank)]);
    const auto read = [&] {
      Result<Graph> graph = get(in);
      if (graph.ok()) return graph;
      return Result<Graph>(
          Status(graph.status().code(), fmt::format("{} (reported by {})", graph.status().message(),
                                                    peers[static_cast<size_t>(rank)].describe(rank))));
    };
    if (in.remaining() == 0) continue;
    Result<Graph> host = read();
    WEIR_TRY(host.status());
    if (host->all(NodeKind::host).empty()) {
      return Status(Code::remote_error, fmt::format("{} has sent a topology without a host; expected its own",
                                                    peers[static_cast<size_t>(rank)].describe(rank)));
    }
    hosts.push_back(std::move(*host));
    ranks.push_back(rank);
    if (in.remaining() == 0) continue;
    without[peers[static_cast<size_t>(rank)].host] = get_names(in);
    if (in.remaining() == 0) continue;
    Result<Graph> between = read();
    WEIR_TRY(between.status());
    network = std::move(*between);
  }
  tell_apart(hosts, ranks);
  auto whole = put_together(std::move(hosts), std::move(network));
  WEIR_TRY(whole.status());
  std::unordered_set<uint64_t> identities;
  for (const PeerAddress& peer : peers) identities.insert(peer.host);
  JobTopology cluster;
  cluster.graph = with_ranks(*whole, identities);
  cluster.lost = topology::remove_lost_cables(cluster.graph, without);
  std::unordered_map<uint64_t, Index> by_identity;
  for (const Index host : cluster.graph.all(NodeKind::host))
    by_identity[cluster.graph.get<HostFacts>(host)->identity] = host;
  for (Rank rank = 0; rank < static_cast<Rank>(peers.size()); ++rank) {
    const auto host = by_identity.find(peers[static_cast<size_t>(rank)].host);
    if (host == by_identity.end()) {
      return Status(Code::internal_error, fmt::format("no rank has sent the topology of the host of {}",
                                                      peers[static_cast<size_t>(rank)].describe(rank)));
    }
    cluster.hosts.push_back(host->second);
  }
  return cluster;
}

Status JobTopology::dump(Rank rank, const std::string& file) const {
  const std::vector<Index> holders = topology::hosts_of(graph);
  const Graph host = topology::subgraph(graph, [&](Index node) {
    return holders[static_cast<size_t>(node)] == hosts[static_cast<size_t>(rank)];
  });
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << topology::write_nccl_xml({topology::dialect_of(host), host});
  stream.close();
  if (stream) return {};
  return {Code::system_error, fmt::format("the topology could not be written to {}", file)};
}

std::vector<Index> JobTopology::gpus_of(std::span<const std::string> addresses) const {
  const std::vector<Index> holders = topology::hosts_of(graph);
  std::map<std::pair<Index, std::string>, Index> by_address;  // key: host and PCI address
  for (const Index gpu : graph.all(NodeKind::gpu))
    by_address.try_emplace(
        {holders[static_cast<size_t>(gpu)], graph.get<topology::GpuFacts>(gpu)->pci.address}, gpu);
  std::vector<Index> gpus;
  for (size_t rank = 0; rank < addresses.size(); ++rank) {
    std::string address;
    if (!topology::parse_pci_address(addresses[rank], address)) return {};
    const auto found = by_address.find({hosts[rank], address});
    if (found == by_address.end() || std::ranges::find(gpus, found->second) != gpus.end()) return {};
    gpus.push_back(found->second);
  }
  return gpus;
}

std::vector<RankPlace> JobTopology::places() const {
  const std::vector<int> leaf = topology::groups_by_leaf(topology::leaves(graph), hosts);
  std::unordered_map<Index, int> numbers;
  std::vector<RankPlace> places;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const int host = numbers.try_emplace(hosts[rank], static_cast<int>(numbers.size())).first->second;
    places.push_back({host, leaf[rank]});
  }
  return places;
}

}  // namespace weir::core
