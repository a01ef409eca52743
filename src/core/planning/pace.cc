// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/pace.h"

#include <algorithm>

#include "algorithms/sim/paces.h"

namespace weir::core {
namespace {

/// What bytes between two positions pass: the links between them, or, if these are not known, both hosts'
/// networks; and other borders.
class Ways {
 public:
  explicit Ways(const cost::Environment& around) : around_(around) {
    const double beta = around.rates.between.beta;
    if (around.links != nullptr) {
      for (size_t edge = 0; edge < around.links->edges(); ++edge)
        add(around.links->of_edge(static_cast<int32_t>(edge)));
    }
    for (const cost::Border& border : around.borders) {
      first_.push_back(bytes_per_s_.size());
      const int groups = std::ranges::max(border.group_of) + 1;
      for (int side = 0; side < 2 * groups; ++side) add(border.beta > 0 ? border.beta : beta);
    }
  }

  const std::vector<double>& bytes_per_s() const { return bytes_per_s_; }

  bool inside(Rank src, Rank dst) const { return of(around_.host_of, src) == of(around_.host_of, dst); }

  void passed(Rank src, Rank dst, std::vector<size_t>& numbers) const {
    if (inside(src, dst)) return;
    if (around_.links != nullptr) {
      for (const int32_t edge : around_.links->route(src, dst)) numbers.push_back(static_cast<size_t>(edge));
    }
    for (size_t b = 0; b < around_.borders.size(); ++b) {
      // The rate of hosts is that of the slowest one for all; links give the rate of each.
      if (around_.links != nullptr && around_.borders[b].beta == 0) continue;
      const std::vector<int>& groups = around_.borders[b].group_of;
      if (of(groups, src) == of(groups, dst)) continue;
      numbers.push_back(first_[b] + 2 * static_cast<size_t>(of(groups, src)));
      numbers.push_back(first_[b] + 2 * static_cast<size_t>(of(groups, dst)) + 1);
    }
  }

 private:
  static int of(const std::vector<int>& by_place, Rank place) { return by_place[static_cast<size_t>(place)]; }
  void add(double seconds_per_byte) { bytes_per_s_.push_back(1 / std::max(seconds_per_byte, 1e-15)); }

  const cost::Environment& around_;
  std::vector<double> bytes_per_s_;
  std::vector<size_t> first_;  // first index of each border
};

}  // namespace

std::vector<double> paces_of(const ir::Plan& plan, const exec::Program& program, double share,
                             std::span<const Rank> order, const cost::Environment& around) {
  std::vector<Rank> place_of(order.size());
  for (size_t place = 0; place < order.size(); ++place)
    place_of[static_cast<size_t>(order[place])] = static_cast<Rank>(place);
  const Ways ways(around);
  const auto at = [&](Rank rank) { return place_of[static_cast<size_t>(rank)]; };
  const sim::Paces paces(plan, ways.bytes_per_s(), [&](Rank src, Rank dst, std::vector<size_t>& numbers) {
    ways.passed(at(src), at(dst), numbers);
  });
  std::vector<double> by_channel;
  for (const exec::Channel& channel : program.channels) {
    const bool sends = channel.outgoing && channel.chunks > 0;
    const auto [src_lane, dst_lane] = exec::lanes_of(channel.number);
    by_channel.push_back(sends ? share * paces.of(program.rank, src_lane, channel.peer, dst_lane) : 0);
  }
  return by_channel;
}

}  // namespace weir::core
