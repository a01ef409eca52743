// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/cluster_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/base/text.h"

namespace weir::algorithms {
namespace {

size_t rails_of(const ClusterPlan& plan) {
  size_t most = 0;
  for (const HostShape& shape : plan.shapes) {
    std::set<int> uplinks;
    for (const Gate& gate : shape.gates) uplinks.insert(gate.uplink);
    most = std::max(most, uplinks.size());
  }
  return most;
}

}  // namespace

size_t trees_in_hosts(const ClusterPlan& plan) {
  size_t most = 0;
  for (const HostShape& shape : plan.shapes) most = std::max(most, shape.foreign.trees.size());
  return most;
}

int height_in_hosts(const ClusterPlan& plan) {
  int most = 0;
  for (const HostShape& shape : plan.shapes)
    most = std::max({most, height(shape.foreign), height(shape.own)});
  return most;
}

std::string words_of(const ClusterPlan& plan) {
  std::string words;
  if (height_in_hosts(plan) > 0) {
    words = fmt::format("in hosts {}{}, ", plan.shapes.size() > 1 ? "up to " : "",
                        plural(trees_in_hosts(plan), "tree"));
  }
  words += fmt::format("between hosts {} over {}", plan.free_roots ? "trees with free roots" : "rings",
                       plural(rails_of(plan), "rail"));
  if (plan.direct_parts > 0)
    words += fmt::format(", {:.3g}% of the data to every rank directly",
                         100.0 * static_cast<double>(plan.direct_parts) / static_cast<double>(plan.parts));
  if (plan.levels == 1) words += ", leaf by leaf";
  if (plan.levels > 1) words += fmt::format(", group by group on {} levels", plan.levels);
  return words;
}

}  // namespace weir::algorithms
