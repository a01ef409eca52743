// SPDX-License-Identifier: Apache-2.0
// Prints for each leaf switch of a topology its hosts, how fast an all-reduce over their GPUs can be, and how
// near to that the best plan comes: planner FILE...
#include <weir/plan.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

int complain(const std::string& sentence) {
  std::fprintf(stderr, "planner: %s\n", sentence.c_str());
  return 1;
}

/// Numbers in topology.devices().
std::vector<int> devices_below(const weir::Topology& topology, const weir::Leaf& leaf) {
  std::vector<int> devices;
  for (size_t i = 0; i < topology.devices().size(); ++i) {
    const int host = topology.node(topology.devices()[i]).host;
    if (std::ranges::find(leaf.hosts, host) != leaf.hosts.end()) devices.push_back(static_cast<int>(i));
  }
  return devices;
}

}  // namespace

int main(int count, char** arguments) {
  const auto topology = weir::read_topology({arguments + 1, arguments + count});
  if (!topology) return complain(topology.error());
  for (const weir::Leaf& leaf : topology->leaves()) {
    std::printf("%s:", topology->node(leaf.node).name);
    for (const int host : leaf.hosts) std::printf(" %s", topology->node(host).name);
    const std::vector<int> devices = devices_below(*topology, leaf);
    const auto plan = weir::plan_collective(*topology, weir::Collective::all_reduce, 0, devices);
    if (!plan) return complain(plan.error());
    std::printf("\n  all-reduce over %zu devices: at most %.4g GB/s, as %s\n", devices.size(),
                plan->bound().gb_per_s(), plan->bound().sentence());
    std::printf("  best plan: %s, %.4g GB/s, %.2f %% over the least time\n", plan->words(), plan->gb_per_s(),
                100 * plan->gap());
  }
}
