// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/paces.h"

#include <algorithm>

#include "algorithms/sim/flow_routes.h"
#include "algorithms/sim/rounds.h"

namespace weir::sim {

Paces::Paces(const ir::Plan& plan, std::span<const double> bytes_per_s, const Passes& passes) {
  std::map<int32_t, std::map<Channel, double>> rounds;  // chunks
  const std::vector<int32_t> numbers = round_numbers(plan);
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const ir::Move& move = plan.moves[m];
    if (move.src != move.dst)
      rounds[numbers[m]][{move.src, move.src_lane, move.dst, move.dst_lane}] += move.chunks;
  }
  std::vector<size_t> passed;
  const auto each_passed = [&](const Channel& channel, const auto& visit) {
    passed.clear();
    passes(std::get<0>(channel), std::get<2>(channel), passed);
    for (const size_t what : passed) visit(what);
  };
  std::vector<double> carried(bytes_per_s.size());
  for (const auto& [number, sent] : rounds) {
    std::ranges::fill(carried, 0);
    for (const auto& [channel, chunks] : sent)
      each_passed(channel, [&, chunks = chunks](size_t what) { carried[what] += chunks; });
    for (const auto& [channel, chunks] : sent) {
      each_passed(channel, [&, channel = channel, chunks = chunks](size_t what) {
        const double share = bytes_per_s[what] * chunks / carried[what];
        const auto [known, fresh] = by_channel_.try_emplace(channel, share);
        if (!fresh) known->second = std::min(known->second, share);
      });
    }
  }
}

Result<Paces> Paces::over(const ir::Plan& plan, const algorithms::Network& network) {
  std::vector<double> bytes_per_s;
  for (const algorithms::Edge& edge : network.edges)
    bytes_per_s.push_back(static_cast<double>(edge.capacity) * algorithms::kCapacityUnit * 1e9);
  FlowRoutes routes(network);
  Status trouble;
  Paces paces(plan, bytes_per_s, [&](Rank src, Rank dst, std::vector<size_t>& numbers) {
    const auto route = routes.route(src, dst);
    if (!route.ok()) trouble = route.status();
    if (route.ok()) numbers.assign(route->begin(), route->end());
  });
  WEIR_TRY(trouble);
  return paces;
}

double Paces::of(Rank src, uint8_t src_lane, Rank dst, uint8_t dst_lane) const {
  const auto known = by_channel_.find({src, src_lane, dst, dst_lane});
  return known == by_channel_.end() ? 0 : known->second;
}

}  // namespace weir::sim
