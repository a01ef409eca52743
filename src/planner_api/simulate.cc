// SPDX-License-Identifier: Apache-2.0
/// The C function of weir/simulate.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/network/link_latencies.h"
#include "algorithms/sim/rounds.h"
#include "src/base/index.h"
#include "src/planner_api/bound_object.h"

#pragma GCC visibility push(default)
#include "weir/simulate.h"
#pragma GCC visibility pop

namespace weir::planner_api {
namespace {

using topology::Index;

/// Consecutive ranks of one host.
struct HostRanks {
  Rank first = 0;
  int count = 0;
};

/// Ranks [first, first + count), host by host.
std::vector<HostRanks> hosts_of(const topology::Graph& graph, const algorithms::Network& network, Rank first,
                                int count) {
  std::vector<HostRanks> hosts;
  Index last = topology::kNone;
  for (Rank rank = first; rank < first + count; ++rank) {
    const Index device = network.origin[at(network.rank_nodes[at(rank)])];
    const Index holder = graph.holder(device, topology::NodeKind::host);
    const Index host = holder == topology::kNone ? device : holder;
    if (hosts.empty() || host != last) hosts.push_back({rank, 0});
    ++hosts.back().count;
    last = host;
  }
  return hosts;
}

/// A ring per rank of the largest host, and its reverse. Every other host is passed backwards, so that the
/// ring leaves it at the place at which it has entered the host before.
std::vector<std::vector<Rank>> rings_over(const std::vector<HostRanks>& hosts) {
  int rings = 0;
  for (const HostRanks& host : hosts) rings = std::max(rings, host.count);
  std::vector<std::vector<Rank>> orders;
  for (int ring = 0; ring < rings; ++ring) {
    std::vector<Rank> order;
    for (size_t number = 0; number < hosts.size(); ++number) {
      const auto [first, count] = hosts[number];
      for (int step = 0; step < count; ++step) {
        const int place = number % 2 == 0 ? step : count - 1 - step;
        order.push_back(first + (ring + place) % count);
      }
    }
    orders.push_back(order);
    std::ranges::reverse(order);
    orders.push_back(std::move(order));
  }
  return orders;
}

/// What a call asks for.
struct RingRequest {
  const weirTopology* topology = nullptr;
  Collective collective = Collective::all_gather;
  double bytes = 0;
  std::span<const int> devices;
  size_t group = 0;
  std::string_view latencies;
};

Status check(const RingRequest& asked) {
  const auto refuse = [](std::string what) { return Status(Code::invalid_argument, std::move(what)); };
  if (asked.collective != Collective::all_reduce && asked.collective != Collective::all_gather &&
      asked.collective != Collective::reduce_scatter)
    return refuse(
        "rings are simulated for other collectives; expected all_reduce, all_gather or reduce_scatter");
  if (!sim::is_sound(asked.bytes))
    return refuse(fmt::format("a collective of {} bytes; expected a finite number, at least 0", asked.bytes));
  if (!asked.devices.empty() && (asked.group == 0 || asked.devices.size() % asked.group != 0))
    return refuse(fmt::format("{} devices in groups of {}; expected a number that divides them",
                              asked.devices.size(), asked.group));
  return {};
}

Result<double> simulate_rings(const RingRequest& asked) {
  WEIR_TRY(check(asked));
  auto request = request_of(asked.topology, asked.collective, asked.devices);
  WEIR_TRY(request.status());
  const auto latencies = topology::parse_latencies(asked.latencies);
  WEIR_TRY(latencies.status());
  algorithms::Network& network = request->network;
  const topology::Graph& graph = request->topology->graph();
  algorithms::set_latencies(network, graph, *latencies);
  const int ranks = network.ranks();
  const int group = asked.devices.empty() ? ranks : static_cast<int>(asked.group);
  if (group < 2) return 0.0;
  sim::Round all;
  for (Rank first = 0; first < ranks; first += group) {
    const auto orders = rings_over(hosts_of(graph, network, first, group));
    sim::Round own = sim::ring_rounds(asked.collective, orders, asked.bytes).front();
    all.times = own.times;
    std::ranges::move(own.transfers, std::back_inserter(all.transfers));
  }
  sim::FlowRoutes routes(network);
  const sim::Channels channels{.alpha = latencies->message * 1e-6};
  const auto run = sim::simulate(std::span(&all, 1), asked.bytes, network, routes, channels);
  WEIR_TRY(run.status());
  return run->seconds;
}

}  // namespace
}  // namespace weir::planner_api

double weirRingsSimulate(const weirTopology* topology, weir::Collective collective, double bytes,
                         const int* devices, size_t count, size_t group, const char* latencies,
                         weirTextSink error, void* keeper) {
  const auto seconds = weir::planner_api::simulate_rings({topology,
                                                          collective,
                                                          bytes,
                                                          {devices, devices == nullptr ? 0 : count},
                                                          group,
                                                          latencies == nullptr ? "" : latencies});
  if (seconds.ok()) return *seconds;
  weir::planner_api::give(error, keeper, seconds.status().message());
  return -1;
}
