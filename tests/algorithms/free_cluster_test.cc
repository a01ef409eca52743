#include <gtest/gtest.h>
#include <cstdio>
#include <chrono>
#include "algorithms/bound/bound.h"
#include "algorithms/cluster/cluster_planner.h"
#include "algorithms/proof/cluster_proof.h"
#include "algorithms/planner/planner.h"
#include "tests/algorithms/cluster_networks.h"
#include "algorithms/cluster/hosts.h"
#include "topology/formats/synthetic.h"
namespace weir::algorithms {
TEST(Free, Uneven) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Network network = uneven_cluster(seed);
    const auto far = far_switches(network);
    const auto plans = plan_free_roots(network, far);
    if (!plans.ok()) { printf("%u: %s\n", seed, plans.status().message().c_str()); continue; }
    const auto loads = check_both(network, plans->up, plans->down);
    const auto bound = lower_bound(network, Collective::all_reduce);
    auto equal = [&]() -> double {
      std::vector<int32_t> blocks(network.rank_nodes.size(), 1);
      double best = 1e30;
      for (int skip = 0; skip < 3; ++skip) {
      auto d = plan_cluster(network, far, blocks, skip);
      auto u = plan_cluster(reversed(network), far, blocks, skip);
      if (!d.ok() || !u.ok()) return 0;
      best=std::min(best, check_cluster(network, *d, blocks)->time.value() + check_cluster(reversed(network), *u, blocks)->time.value());
      }
      return best;
    }();
    if (!loads.ok()) { printf("%u: BAD %s\n", seed, loads.status().message().c_str()); continue; }
    printf("%u: H %zu free %.4f equal %.4f blocks %ld transfers %zu\n", seed, plans->down.hosts.size(), bound->time.value() / loads->time.convert_to<double>(), bound->time.value()/equal, plans->down.first_block.back(), plans->down.transfers.size());
  }
}
TEST(Free, Lines) {
  for (const char* text : {
    "12 x (8 gpu nvswitch 300, 8 nic 25) + 12 x (4 gpu nvswitch 300, 4 nic 25) leaf",
    "12 x (8 gpu nvswitch 300, 8 nic 25) + 1 x (4 gpu nvswitch 300, 4 nic 25) leaf",
    "16 x (8 gpu nvswitch 300, 8 nic 25) + 1 x (1 gpu, 1 nic 25) leaf",
    "12 x (8 gpu nvswitch 300, 4 nic 25) + 12 x (8 gpu nvswitch 300, 2 nic 25) leaf",
    "12 x (8 gpu nvswitch 300, 4 nic 25) + 12 x (8 gpu nvswitch 300, 1 nic 25) leaf",
    "22 x (8 gpu nvswitch 300, 4 nic 25) + 2 x (8 gpu nvswitch 300, 3 nic 25) leaf",
    "12 x (8 gpu nvswitch 300, 4 nic 25) + 12 x (8 gpu nvswitch 300, 2 nic 25) leaf by 4 4:1",
    "10 x (8 gpu nvswitch 300, 4 nic 25) + 14 x (8 gpu nvswitch 300, 2 nic 25) leaf by 4 4:1",
    "12 x (8 gpu nvswitch 300, 8 nic 25) + 12 x (4 gpu nvswitch 300, 4 nic 25) leaf by 4 4:1",
    "12 x (8 gpu nvswitch 300, 8 nic 25) + 12 x (4 gpu nvswitch 300, 4 nic 25) rail leaf by 4 4:1 spine 2",
    "12 x (8 gpu nvswitch 300, 8 nic 25) + 12 x (8 gpu nvswitch 300, 7 nic 25) rail leaf by 6 2:1",
    "40 x (8 gpu mi250 50, 2 nic 25) + 40 x (8 gpu mi250 50, 1 nic 25) leaf by 20 4:1",
    "20 x (16 gpu mi250 50, 16 nic 16) + 20 x (8 gpu mi250 50, 8 nic 16) leaf",
    "20 x (8 gpu mi250 50, 8 nic 25) leaf",
    "300 x (8 gpu nvswitch 300, 8 nic 25) + 100 x (4 gpu nvswitch 300, 4 nic 25) leaf by 20 4:1",
    "6000 x (8 gpu nvswitch 300, 8 nic 25) + 6000 x (8 gpu nvswitch 300, 4 nic 25) rail leaf by 20 4:1",
    "600 x (8 gpu nvswitch 300, 8 nic 25) + 600 x (8 gpu nvswitch 300, 4 nic 25) rail leaf by 20 4:1",
    "6000 x (8 gpu nvswitch 300, 8 nic 25) + 6000 x (8 gpu nvswitch 300, 6 nic 25) leaf by 20 4:1",
    "600 x (8 gpu nvswitch 300, 8 nic 25) + 600 x (8 gpu nvswitch 300, 6 nic 25) leaf by 20 4:1",
    "2 x (8 gpu nvswitch 300, 8 nic 25) + 1 x (4 gpu nvswitch 300, 4 nic 25) leaf",
    }) {
    auto graph = topology::graph_of(*topology::read_synthetic({"line", text}));
    auto network = *network_of(graph, graph.all(topology::NodeKind::gpu));
    auto far = switches_between_hosts(network, graph);
    const auto bound = lower_bound(network, Collective::all_reduce);
    auto now = [] { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
    double t0 = now();
    const auto plans = plan_free_roots(network, far);
    double t1 = now();
    if (!plans.ok()) { printf("%s: %s\n", text, plans.status().message().c_str()); continue; }
    const auto loads = check_both(network, plans->up, plans->down);
    double t2 = now();
    if (!loads.ok()) { printf("%s: BAD %s\n", text, loads.status().message().c_str()); continue; }
    double best = 1e30;
    std::vector<int32_t> blocks(network.rank_nodes.size(), 1);
    for (int skip = 0; skip < 2; ++skip) {
      auto d = plan_cluster(network, far, blocks, skip);
      auto u = plan_cluster(reversed(network), far, blocks, skip);
      best=std::min(best, check_cluster(network, *d, blocks)->time.value() + check_cluster(reversed(network), *u, blocks)->time.value());
    }
    double t3 = now();
    printf("%s:\n   bound %.3f free %.3f equal %.3f ratio %.4f %.4f  B %ld transfers %zu levels %d; %.0f + %.0f ms, equal %.0f ms\n", text, 1e-6/bound->time.value(), 1e-6/loads->time.convert_to<double>(), 1e-6/best,
      bound->time.value() / loads->time.convert_to<double>(), bound->time.value()/best, plans->down.first_block.back(), plans->down.transfers.size(), plans->down.levels, t1-t0, t2-t1, t3-t2);
  }
}
}
