// SPDX-License-Identifier: Apache-2.0
// build/bench/planners: quality of our trees and time to compute them, compared with other planners' figures.
//
// Ours are measured here: bound, trees and check together, median of five runs, one thread. The others are
// marked: "published" is from the planner's paper or page, "measured" was timed once with the planner's
// public code, "model" follows from the links alone.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/planner/tree_planner.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

constexpr int kRuns = 5;

struct Timed {
  TreePlan plan;
  double milliseconds = 0;
};

std::optional<Timed> timed(const Network& network, Collective collective) {
  std::vector<double> times;
  std::optional<TreePlan> plan;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = plan_trees(network, collective);
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    if (!result.ok()) {
      fmt::print("no plan: {}\n", result.status().message());
      return {};
    }
    plan = std::move(*result);
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return Timed{std::move(*plan), times[kRuns / 2]};
}

double gb_per_s(const TreePlan& plan) { return kCapacityUnit / plan.time.convert_to<double>(); }

/// Seconds for the bound, and for bound and trees together, of ForestColl's Python code; 0: it did not
/// finish.
struct ForestColl {
  const char* name;
  double bound;
  double all;
};
constexpr ForestColl kForestColl[] = {
    {"A100 x1", 0.03, 0.08},          {"A100 x2", 0.23, 4.1},   {"A100 x3", 0.98, 22},
    {"A100 x4", 1.35, 31.8},          {"A100 x8", 3.9, 0},      {"MI250-16 x1", 0.10, 0.42},
    {"MI250-16 x2", 1.3, 25.8},       {"MI250-16 x3", 0.99, 0}, {"MI250-16 x4", 2.6, 357},
    {"MI250 8-of-16 x1", 0.04, 0.03}, {"MI250 8+8", 0.14, 1.5}, {"MI250 8+8+8", 0.18, 3.3},
    {"MI250 8x4", 0.47, 15.1}};

void speed() {
  fmt::print("All-gather: time to plan. ForestColl's Python code: measured, 2-core machine.\n");
  fmt::print("{:<20}{:>6}{:>12}{:>12}{:>12} |{:>12}{:>12}\n", "network", "ranks", "GB/s algbw", "of bound",
             "ms in all", "bound, s", "in all, s");
  const std::vector<AllGatherTruth> truths = all_gather_truths();
  for (const ForestColl& other : kForestColl) {
    const auto truth = std::find_if(truths.begin(), truths.end(),
                                    [&](const AllGatherTruth& each) { return each.name == other.name; });
    const auto ours = timed(truth->network(), Collective::all_gather);
    if (!ours) continue;
    fmt::print("{:<20}{:>6}{:>12.2f}{:>12.4f}{:>12.2f} |{:>12}{:>12}\n", truth->name, truth->ranks,
               gb_per_s(ours->plan), ours->plan.part_of_bound.convert_to<double>(), ours->milliseconds,
               other.bound, other.all > 0 ? fmt::format("{}", other.all) : "-");
  }
  fmt::print("\nOther planners, published:\n");
  for (const auto& [name, figure] :
       {std::pair("TACOS", "all-gather, 512 ranks without switches: 6.09 minutes"),
        std::pair("SyCCL", "512 ranks: tens of minutes"),
        std::pair("PCCL", "all-to-all, 512 ranks: 11.68 minutes"),
        std::pair("TE-CCL", "4 chassis: more than an hour, 256 GB of memory"),
        std::pair("TACCL", "2 to 32 ranks: minutes to hours")}) {
    fmt::print("  {:<8}{}\n", name, figure);
  }
}

void rings() {
  struct Row {
    const char* name;
    Network network;
    double busbw;
  };
  const Row kRows[] = {{"4xMI250 node", part_of(kMi250Node66, 8, 50), 200},
                       {"MI250 8-of-16", mi250_boxes(1, 8), 100},
                       {"MI250-16 x1", mi250_boxes(1, 16), 300},
                       {"DGX-1V", part_of(kDgx1v, 8, 25), 150},
                       {"A100x4 mesh", mesh(4, 100), 300}};
  fmt::print("\nTrees compared with the best possible rings (model), busbw in GB/s\n");
  fmt::print("{:<20}{:>8}{:>12}{:>12}\n", "network", "rings", "all-gather", "all-reduce");
  for (const Row& row : kRows) {
    const auto gather = timed(row.network, Collective::all_gather);
    const auto reduce = timed(row.network, Collective::all_reduce);
    if (!gather || !reduce) continue;
    const double share = 1 - 1.0 / row.network.ranks();
    fmt::print("{:<20}{:>8.1f}{:>12.2f}{:>12.2f}\n", row.name, row.busbw, gb_per_s(gather->plan) * share,
               gb_per_s(reduce->plan) * 2 * share);
  }
}

void free_roots() {
  fmt::print(
      "\nAll-reduce: free roots compared with a reduce-scatter and an all-gather of equal blocks, as in "
      "ForestColl\n");
  fmt::print("(model), algbw in GB/s\n");
  fmt::print("{:<34}{:>6}{:>12}{:>12}{:>12}{:>8}{:>10}\n", "network", "ranks", "equal", "ours", "of bound",
             "trees", "ms");
  for (const AllReduceTruth& truth : all_reduce_truths()) {
    const Network network = truth.network();
    const auto ours = timed(network, Collective::all_reduce);
    if (!ours) continue;
    const TreePlan& plan = ours->plan;
    fmt::print("{:<34}{:>6}{:>12.2f}{:>12.2f}{:>12.4f}{:>8}{:>10.2f}\n", truth.name, network.ranks(),
               static_cast<double>(truth.equal_blocks.numerator) /
                   static_cast<double>(truth.equal_blocks.denominator),
               gb_per_s(plan), plan.part_of_bound.convert_to<double>(), plan.down->packing.trees.size(),
               ours->milliseconds);
  }
}

}  // namespace
}  // namespace weir::algorithms

int main() {
  weir::algorithms::speed();
  weir::algorithms::rings();
  weir::algorithms::free_roots();
  return 0;
}
