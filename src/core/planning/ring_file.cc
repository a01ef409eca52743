// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/ring_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "algorithms/catalogue/ring_set.h"
#include "topology/formats/nccl_graph_xml.h"

namespace weir::core {

namespace {

/// For each rank the position of its device in the ring, or the ring's end for devices that are not in it.
std::vector<std::ptrdiff_t> order_in(const Devices& ring, std::span<const topology::Index> hosts) {
  std::map<topology::Index, int64_t> next;  // for each host the device of its next rank
  std::vector<std::ptrdiff_t> positions;
  for (const topology::Index host : hosts)
    positions.push_back(std::ranges::find(ring, next[host]++) - ring.begin());
  return positions;
}

/// Sorts the ranks of each host, which are contiguous in `order`.
void sort_in_hosts(std::vector<Rank>& order, std::span<const topology::Index> hosts, const Devices& ring) {
  const std::vector<std::ptrdiff_t> positions = order_in(ring, hosts);
  const auto host_of = [&](Rank rank) { return hosts[static_cast<size_t>(rank)]; };
  const auto position_of = [&](Rank rank) { return positions[static_cast<size_t>(rank)]; };
  for (auto first = order.begin(); first != order.end();) {
    const auto end =
        std::find_if(first, order.end(), [&](Rank rank) { return host_of(rank) != host_of(*first); });
    std::stable_sort(first, end, [&](Rank a, Rank b) { return position_of(a) < position_of(b); });
    first = end;
  }
}

}  // namespace

Result<std::vector<Devices>> devices_in_rings(std::string_view text, std::string_view name) {
  constexpr int kRing = 0;
  topology::Notes notes;
  const auto graphs = topology::read_nccl_graph_xml({std::string(name), text}, &notes);
  WEIR_TRY(graphs.status());
  for (const topology::ChannelGraph& graph : *graphs) {
    if (graph.id != kRing || graph.channels.empty()) continue;
    std::vector<Devices> rings;
    for (const std::vector<topology::ChannelStop>& channel : graph.channels) {
      Devices& devices = rings.emplace_back();
      for (const topology::ChannelStop& stop : channel)
        if (!stop.is_net) devices.push_back(stop.device);
    }
    return rings;
  }
  return Status(Code::invalid_argument,
                fmt::format("{}: there is no ring; expected a <graph> with id 0", name));
}

void follow_rings(algorithms::Layout& layout, std::span<const topology::Index> hosts,
                  std::span<const Devices> rings) {
  std::vector<Rank> order = layout.order;
  sort_in_hosts(layout.order, hosts, rings[0]);
  std::vector<Rank> place_of(order.size());
  for (size_t place = 0; place < order.size(); ++place)
    place_of[static_cast<size_t>(layout.order[place])] = static_cast<Rank>(place);
  for (const Devices& devices : rings) {
    std::vector<Rank> ranks = order;  // the order of ranks that the ring does not contain
    sort_in_hosts(ranks, hosts, devices);
    algorithms::Ring& ring = layout.rings.emplace_back();
    for (const Rank rank : ranks) ring.push_back(place_of[static_cast<size_t>(rank)]);
  }
}

void limit_rings(algorithms::Layout& layout, size_t least, size_t most) {
  constexpr size_t kMostMoves = size_t{1} << 20;
  const size_t places = layout.order.size();
  const size_t moves = std::max<size_t>(2 * places * places, 1);  // moves of an all-reduce over one ring
  const size_t allowed = std::clamp<size_t>(kMostMoves / moves, 1, algorithms::kMostRings);
  algorithms::Rings& rings = layout.rings;
  if (rings.empty()) rings.push_back(algorithms::ring_in_order(static_cast<int>(places)));
  rings.resize(std::min({rings.size(), most, allowed}));
  for (size_t next = 0; rings.size() < std::min(least, allowed); ++next) rings.push_back(rings[next]);
  // A graph file's first ring is the layout's order already.
  if (rings.size() == 1) rings.clear();
}

}  // namespace weir::core
