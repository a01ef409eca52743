#include "src/core/ring_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/formats/nccl_graph_xml.h"

namespace weir::core {

Result<std::vector<int64_t>> devices_in_ring(std::string_view text, std::string_view name) {
  constexpr int kRing = 0;
  topology::Notes notes;
  const auto graphs = topology::read_nccl_graph_xml({std::string(name), text}, &notes);
  WEIR_TRY(graphs.status());
  for (const topology::ChannelGraph& graph : *graphs) {
    if (graph.id != kRing || graph.channels.empty()) continue;
    std::vector<int64_t> devices;
    for (const topology::ChannelStop& stop : graph.channels[0])
      if (!stop.is_net) devices.push_back(stop.device);
    return devices;
  }
  return Status(Code::invalid_argument,
                fmt::format("{}: there is no ring; expected a <graph> with id 0", name));
}

void follow_ring(algorithms::Layout& layout, std::span<const topology::Index> hosts,
                 std::span<const int64_t> devices) {
  std::map<topology::Index, int64_t> next;  // by host: the device of its next rank
  std::vector<std::ptrdiff_t> turn;         // by rank: the place of its device in the ring
  for (const topology::Index host : hosts)
    turn.push_back(std::ranges::find(devices, next[host]++) - devices.begin());
  const auto host_at = [&](std::vector<Rank>::iterator at) { return hosts[static_cast<size_t>(*at)]; };
  std::vector<Rank>& order = layout.order;
  for (auto first = order.begin(); first != order.end();) {  // ranks of one host follow each other
    const auto end = std::find_if(
        first, order.end(), [&](Rank rank) { return hosts[static_cast<size_t>(rank)] != host_at(first); });
    std::stable_sort(first, end, [&](Rank a, Rank b) {
      return turn[static_cast<size_t>(a)] < turn[static_cast<size_t>(b)];
    });
    first = end;
  }
}

}  // namespace weir::core
