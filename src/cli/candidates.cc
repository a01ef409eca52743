// SPDX-License-Identifier: Apache-2.0

#include "src/cli/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/best_plan/catalogue_plan.h"
#include "algorithms/catalogue/catalogue.h"
#include "algorithms/sim/simulate.h"
#include "src/base/text.h"

namespace weir::cli {

Result<std::vector<Candidate>> candidates_for(const PlanTask& task, const algorithms::BestPlan& best,
                                              Rank root) {
  std::vector<Candidate> candidates;
  auto first = algorithms::schedule(best, task.network);
  WEIR_TRY(first.status());
  const bool trees = best.trees() != nullptr;
  const std::string own = trees ? "planned" : best.algorithm();
  candidates.push_back(
      {own, std::move(*first), trees ? algorithms::kCapacityUnit / best.time.convert_to<double>() : 0});
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    if (entry.kind != task.collective || entry.pulls || entry.algorithm == own) continue;
    auto plan = algorithms::plan_by(entry.algorithm, task.request(root));
    if (plan.ok()) candidates.push_back({std::string(entry.algorithm), std::move(*plan), 0});
  }
  return candidates;
}

Result<std::vector<Simulated>> race(const PlanTask& task, const std::vector<Candidate>& candidates,
                                    double bytes, const sim::Channels& channels) {
  std::vector<Simulated> found;
  for (const Candidate& candidate : candidates) {
    const bool proved = candidate.gb_per_s > 0;
    auto run = sim::simulate(candidate.plan, proved ? 0 : bytes, task.network, channels);
    WEIR_TRY(run.status());
    const double more = proved ? bytes / candidate.gb_per_s / 1e9 : 0;
    found.push_back({candidate.name, run->seconds + more, std::move(run->edge_bytes)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Simulated& a, const Simulated& b) { return a.seconds < b.seconds; });
  return found;
}

Result<std::string> table_of(const PlanTask& task, const std::vector<Candidate>& candidates,
                             const sim::Channels& channels) {
  std::string text = fmt::format("{:>10}  {:<18}{:>10}{:>12}{:>12}  {}\n", "bytes", "plan", "time",
                                 "algbw GB/s", "busbw GB/s", "second fastest");
  const double factor = sim::bus_factor(task.collective, task.network.ranks());
  for (double bytes = 1 << 10; bytes <= 4.0 * (1 << 30); bytes *= 4) {
    const auto found = race(task, candidates, bytes, channels);
    WEIR_TRY(found.status());
    const Simulated& first = found->front();
    const double bandwidth = first.seconds > 0 ? bytes / first.seconds / 1e9 : 0;
    text += fmt::format("{:>10}  {:<18}{:>10}{:>12.4g}{:>12.4g}", bytes_words(bytes), first.name,
                        seconds_words(first.seconds), bandwidth, bandwidth * factor);
    if (found->size() > 1)
      text +=
          fmt::format("  {}, {:.2f} times as long", (*found)[1].name, (*found)[1].seconds / first.seconds);
    text += "\n";
  }
  return text;
}

}  // namespace weir::cli
