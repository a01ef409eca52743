// SPDX-License-Identifier: Apache-2.0
// build/bench/large_clusters [--quick]: processor time and quality of plans for large and unlike clusters,
// for NICs behind narrow PCIe, and for jobs on some of the GPUs where the others forward.
//
// For each cluster: the seconds of processor time for everything from its line to the proven plan, the bound,
// what the loads of the links allow, and the ratio of both. A row is marked, and the exit code is 1, if it
// takes more than twice its goal, or if it misses the bound by more than twice what its goal allows.
// --quick leaves out the rows that take more than a second.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/network/relays.h"
#include "bench/planner/processor_clock.h"
#include "topology/formats/any.h"

namespace weir::algorithms {
namespace {

struct Row {
  const char* words;
  const char* line;
  Collective collective;
  double seconds;  ///< goal of the processor time
  double ratio;    ///< goal of the quality
  bool quick = true;
  /// The GPUs that take part, if the others only forward: `first` of each `of` of them.
  int first = 0;
  int of = 0;
};

constexpr Row kRows[] = {
    {"8 NVLink domains of 72", "8 x (72 gpu nvswitch 900, 72 nic 50) leaf", Collective::all_gather, 0.3,
     0.98},
    {"8 NVLink domains of 72", "8 x (72 gpu nvswitch 900, 72 nic 50) leaf", Collective::all_reduce, 0.3,
     0.98},
    {"16 NVLink domains of 72", "16 x (72 gpu nvswitch 900, 72 nic 50) leaf", Collective::all_gather, 0.3,
     0.98},
    {"16 NVLink domains of 72", "16 x (72 gpu nvswitch 900, 72 nic 50) leaf", Collective::all_reduce, 0.3,
     0.98},
    {"4 NVLink domains of 32", "4 x (32 gpu nvswitch 450, 32 nic 50) leaf", Collective::all_gather, 0.3,
     0.98},
    {"4 NVLink domains of 32", "4 x (32 gpu nvswitch 450, 32 nic 50) leaf", Collective::all_reduce, 0.3,
     0.98},
    {"60 + 60 unlike hosts",
     "60 x (8 gpu nvswitch 300, 8 nic 25) + 60 x (4 gpu nvswitch 300, 4 nic 25) leaf by 20 4:1",
     Collective::all_reduce, 0.3, 1},
    {"65 + 65 unlike hosts, a mixed leaf",
     "65 x (8 gpu nvswitch 300, 8 nic 25) + 65 x (4 gpu nvswitch 300, 4 nic 25) leaf by 20 4:1",
     Collective::all_reduce, 0.3, 1},
    {"6250 + 6250 unlike hosts",
     "6250 x (8 gpu nvswitch 300, 8 nic 25) + 6250 x (4 gpu nvswitch 300, 4 nic 25) leaf by 20 4:1",
     Collective::all_reduce, 10, 0.98, false},
    {"20 hosts on rails", "20 x (8 gpu nvswitch 300, 8 nic 25) rail leaf by 10 2:1", Collective::all_reduce,
     0.3, 1},
    {"9 hosts with PCIe of 32", "9 x (8 gpu nvswitch 450 pcie 32, 8 nic 50) leaf", Collective::all_reduce,
     0.3, 1},
    {"128 hosts with PCIe of 32", "128 x (8 gpu nvswitch 450 pcie 32, 8 nic 50) leaf", Collective::all_reduce,
     0.3, 1},
    {"64 hosts, PCIe of 16, 4 NICs", "64 x (8 gpu nvswitch 450 pcie 16, 4 nic 50) leaf",
     Collective::all_gather, 0.3, 1},
    {"8 of 16 dies of MI250, relays", "(16 gpu mi250 50)", Collective::all_reduce, 0.3, 1, true, 4, 8},
    {"4 of 8 GPUs of DGX-1V, relays", "(8 gpu cube 25)", Collective::all_gather, 0.3, 1, true, 2, 4},
    {"8 hosts, half of the GPUs, relays", "8 x (8 gpu nvswitch 300, 8 nic 25) rail leaf",
     Collective::all_gather, 0.5, 0.98, true, 4, 8},
    {"64 hosts, half of the GPUs, relays", "64 x (8 gpu nvswitch 300, 8 nic 25) rail leaf by 16 2:1",
     Collective::all_reduce, 0.5, 0.98, true, 4, 8},
    {"8 hosts, half of the GPUs, relays", "8 x (8 gpu nvswitch 300, 8 nic 25) rail leaf",
     Collective::all_to_all, 0.5, 0.98, true, 4, 8},
    {"16 hosts, 5 of 8 GPUs, relays", "16 x (8 gpu nvswitch 300, 8 nic 25) leaf by 8 2:1",
     Collective::all_to_all, 1, 0.98, true, 5, 8},
    {"256 hosts, half of the GPUs, relays", "256 x (8 gpu nvswitch 300, 8 nic 25) rail leaf by 32 2:1",
     Collective::all_to_all, 0.5, 0.98, true, 4, 8},
    {"8 of 16 dies of MI250, relays", "(16 gpu mi250 50)", Collective::all_to_all, 0.3, 0.96, true, 4, 8},
    {"8 dies of MI250", "(8 gpu mi250 50)", Collective::all_to_all, 0.3, 0.9},
    {"16 dies of MI250", "(16 gpu mi250 50)", Collective::all_to_all, 0.5, 0.98},
    {"2 hosts of 16 dies on rails", "2 x (16 gpu mi250 50, 8 nic 25) rail leaf", Collective::all_to_all, 1,
     0.9},
    {"40 hosts", "40 x (8 gpu nvswitch 450, 8 nic 50) leaf by 20 2:1", Collective::all_to_all, 2, 0.98},
    {"64 hosts", "64 x (8 gpu nvswitch 450, 8 nic 50) leaf by 16 2:1", Collective::all_to_all, 5, 0.98,
     false},
    {"128 hosts", "128 x (8 gpu nvswitch 450, 8 nic 50) leaf by 16 2:1", Collective::all_to_all, 0.3, 0.9},
    {"128 hosts on rails", "128 x (8 gpu nvswitch 450, 8 nic 50) rail leaf by 32 2:1", Collective::all_to_all,
     0.3, 0.9},
    {"64 hosts of 16 dies on rails", "64 x (16 gpu mi250 50, 8 nic 25) rail leaf by 16 2:1",
     Collective::all_to_all, 0.5, 0.9},
    {"1250 hosts", "1250 x (8 gpu nvswitch 450, 8 nic 50) leaf by 50 2:1", Collective::all_to_all, 1, 0.9},
};

Result<BestPlan> plan_of(const Row& row) {
  auto graph = topology::read_any({row.words, row.line}, nullptr);
  WEIR_TRY(graph.status());
  std::vector<topology::Index> gpus = graph->all(topology::NodeKind::gpu);
  if (row.of > 0) {
    int number = 0;
    std::erase_if(gpus, [&](topology::Index) { return number++ % row.of >= row.first; });
  }
  const auto network = row.of > 0 ? network_with_relays(*graph, gpus) : network_of(*graph, gpus);
  WEIR_TRY(network.status());
  const std::vector<char> between = switches_between_hosts(*network, *graph);
  auto plan = best_plan({*graph, *network, between, row.collective, 0, 1e9});
  WEIR_TRY(plan.status());
  explain(plan->bound, *network, *graph);  // as for every plan that is printed
  return plan;
}

bool run(const Row& row) {
  const double begin = processor_seconds();
  const auto plan = plan_of(row);
  const double seconds = processor_seconds() - begin;
  if (!plan.ok()) {
    fmt::print("{:<36}{:<16}no plan: {}\n", row.words, name(row.collective), plan.status().message());
    return false;
  }
  const double ratio = plan->part_of_bound.convert_to<double>();
  const bool late = seconds > 2 * row.seconds;
  const bool slow = 1 - ratio > 2 * (1 - row.ratio) + 1e-9;
  fmt::print("{:<36}{:<16}{:>9.3f}{:>9.4g}{:>10.4g}{:>10.4g}{:>9.4f}{:>8.4g}{}{}\n", row.words,
             name(row.collective), seconds, row.seconds, kCapacityUnit / plan->bound.time.value(),
             kCapacityUnit / plan->time.convert_to<double>(), ratio, row.ratio, late ? "  too much time" : "",
             slow ? "  too slow" : "");
  return !late && !slow;
}

}  // namespace
}  // namespace weir::algorithms

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) {
    fmt::print(stderr, "large_clusters: unknown argument {}: expected --quick or nothing\n", argv[1]);
    return 2;
  }
  fmt::print("{:<36}{:<16}{:>9}{:>9}{:>10}{:>10}{:>9}{:>8}\n", "cluster", "collective", "CPU s", "goal",
             "bound", "predicted", "ratio", "goal");
  bool good = true;
  for (const auto& row : weir::algorithms::kRows) {
    if (row.quick || !quick) good = weir::algorithms::run(row) && good;
  }
  return good ? 0 : 1;
}
