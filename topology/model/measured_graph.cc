// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topology/model/measured.h"

namespace weir::topology {
namespace {

/// Rounds to two digits of Gbit/s, the precision of the measurement.
double rounded(double gb_per_s) {
  if (gb_per_s <= 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(gb_per_s * 8)) - 1);
  return std::round(gb_per_s * 8 / unit) * unit / 8;
}

double usual_speed(std::vector<double> speeds) {
  if (speeds.empty()) return 0;
  const auto middle = speeds.begin() + static_cast<ptrdiff_t>(speeds.size() / 2);
  std::nth_element(speeds.begin(), middle, speeds.end());
  return *middle;
}

}  // namespace

Graph graph_of(const Measured& measured, const MeasuredLeaves& found) {
  Graph graph;
  std::vector<Index> switches;
  const bool has_spine = found.leaves.size() > 1;
  const Index spine = has_spine ? graph.add("spine", kNone, FabricSwitchFacts{2, 0, 0}) : kNone;
  for (size_t leaf = 0; leaf < found.leaves.size(); ++leaf)
    switches.push_back(graph.add(fmt::format("leaf{}", leaf), kNone, FabricSwitchFacts{1, 0, 0}));
  std::vector<Index> hosts;
  for (const std::string& name : measured.hosts) hosts.push_back(graph.add(name, kNone, HostFacts()));
  const double usual = usual_speed(found.gb_per_s);
  for (size_t leaf = 0; leaf < found.leaves.size(); ++leaf) {
    const MeasuredLeaf& one = found.leaves[leaf];
    if (has_spine)
      graph.connect({switches[leaf], spine, LinkKind::cable, 1, rounded(one.up_gb_per_s), 0, -1});
    for (const size_t host : one.hosts) {
      const double own = found.gb_per_s[host];
      const bool alike = own * 1.25 >= usual && own <= usual * 1.25;
      graph.connect({hosts[host], switches[leaf], LinkKind::cable, 1, rounded(alike ? usual : own), 0, -1});
    }
  }
  return graph;
}

}  // namespace weir::topology
