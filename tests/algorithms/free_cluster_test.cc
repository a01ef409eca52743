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
  for (const char* text : {"x"}) (void)text;
}
}
