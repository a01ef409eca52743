// SPDX-License-Identifier: Apache-2.0
// build/bench/schedules [--quick] [--only TEXT] [BYTES]: whether emitted plans take the time that is
// predicted for them, and no more than the library's other algorithms.
//
// Each job is planned as by weir plan for 1 GiB, or BYTES, and 4 slots of 256 KiB per channel. The plan is
// written as text with the ways of its moves, read again and simulated twice: with these channels and with 8
// slots of 64 KiB. The smaller rate counts. ring, hierarchical and ring_set are simulated as well, with 4
// slots of 256 KiB. A row is marked, and the exit code is 1, if less than 0.98 of the prediction is reached,
// or if one of the three is faster by more than the 0.05 % within which plans count as equally fast.
// The processor time is that of the planning, with its own simulations. --quick leaves out the jobs that take
// more than a second, --only those whose line does not contain the text.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/best_plan/catalogue_plan.h"
#include "algorithms/best_plan/ranking.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/ir/text.h"
#include "algorithms/ir/verify.h"
#include "algorithms/sim/simulate.h"
#include "algorithms/sim/ways.h"
#include "bench/planner/jobs.h"
#include "bench/planner/processor_clock.h"
#include "topology/formats/any.h"

namespace weir::algorithms {
namespace {

constexpr double kUsualBytes = 1 << 30;
constexpr sim::Channels kChannels{.slot_bytes = 256 << 10, .slots = 4};
constexpr sim::Channels kSmallMessages{.slot_bytes = 64 << 10, .slots = 8};
constexpr double kLeastOfPrediction = 0.98;
constexpr double kEqual = 5e-4;  // as in best_plan/ranking.cc

/// What a row shows, in GB/s (algbw).
struct Figures {
  double bound = 0;
  double predicted = 0;
  double simulated = 0;
  double rival = 0;
  double seconds = 0;  ///< processor time of the planning, with its own simulations
  std::string plan;
  std::string rival_name = "-";
};

/// The rate of a plan that was written and read again.
Result<double> rate_of_text(ir::Plan plan, double bytes, const Network& network) {
  WEIR_TRY(sim::name_ways(plan, network));
  const auto read = ir::read_text(ir::write_text(plan));
  WEIR_TRY(read.status());
  WEIR_TRY(ir::verify(*read));
  const auto large = sim::simulate(*read, bytes, network, kChannels);
  WEIR_TRY(large.status());
  const auto small = sim::simulate(*read, bytes, network, kSmallMessages);
  WEIR_TRY(small.status());
  return std::min(large->algbw, small->algbw);
}

Result<Figures> figures_of(const PlanRequest& request) {
  Figures figures;
  const double begin = processor_seconds();
  auto best = best_plan(request);
  WEIR_TRY(best.status());
  auto ranked = ranked_plans(request, *best, kChannels);
  WEIR_TRY(ranked.status());
  figures.seconds = processor_seconds() - begin;
  Schedule& first = ranked->front().schedule;
  figures.bound = kCapacityUnit / best->bound.time.value();
  figures.predicted = first.prediction.algbw;
  figures.plan = ranked->front().name;
  const auto rate = rate_of_text(std::move(first.plan), request.bytes, request.network);
  WEIR_TRY(rate.status());
  figures.simulated = *rate;
  for (const char* algorithm : {"ring", "hierarchical", "ring_set"}) {
    const auto other = plan_by(algorithm, request);
    if (!other.ok()) continue;  // there are no groups, or no rings
    const auto run = sim::simulate(*other, request.bytes, request.network, kChannels);
    WEIR_TRY(run.status());
    if (run->algbw <= figures.rival) continue;
    figures.rival = run->algbw;
    figures.rival_name = algorithm;
  }
  return figures;
}

std::vector<topology::Index> gpus_of(const topology::Graph& graph, const Job& job) {
  const std::vector<topology::Index> all = graph.all(topology::NodeKind::gpu);
  if (job.gpus.empty()) return all;
  std::vector<topology::Index> some;
  for (const auto& [first, last] : job.gpus) {
    for (int gpu = first; gpu <= last; ++gpu) some.push_back(all[static_cast<size_t>(gpu)]);
  }
  return some;
}

std::string name_of(const Job& job) {
  std::string name = job.line;
  for (const auto& [first, last] : job.gpus)
    name += fmt::format("{}{}-{}", &job.gpus[0].first == &first ? ", GPUs " : ",", first, last);
  return name;
}

/// Prints the rows of a job; false: one is marked.
bool run(const Job& job, double bytes) {
  const auto graph = topology::read_any({job.line, job.line}, nullptr);
  if (!graph.ok()) return fmt::print("{}: {}\n", job.line, graph.status().message()), false;
  const auto network = network_of(*graph, gpus_of(*graph, job));
  if (!network.ok()) return fmt::print("{}: {}\n", job.line, network.status().message()), false;
  const std::vector<char> between = switches_between_hosts(*network, *graph);
  bool good = true;
  for (const Collective collective :
       {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
    const auto figures = figures_of({*graph, *network, between, collective, 0, bytes});
    if (!figures.ok()) {
      fmt::print("{}, {}: no plan: {}\n", name_of(job), name(collective), figures.status().message());
      good = false;
      continue;
    }
    const double kept = figures->simulated / figures->predicted;
    const double gain = figures->predicted / std::max(figures->rival, 1e-9);
    const bool late = kept < kLeastOfPrediction, slow = gain < 1 - kEqual;
    fmt::print("{:<86}{:<15}{:<18}{:>8.4g}{:>10.4g}{:>10.4g}{:>8.3f}{:>9.3f}  {:<13}{:>7.3f}{:>7.2f}{}{}\n",
               name_of(job), name(collective), figures->plan, figures->bound, figures->predicted,
               figures->simulated, kept, figures->predicted / figures->bound, figures->rival_name,
               figures->rival > 0 ? gain : 0, figures->seconds, late ? "  slower than predicted" : "",
               slow ? "  slower than that" : "");
    std::fflush(stdout);
    good = good && !late && !slow;
  }
  return good;
}

}  // namespace
}  // namespace weir::algorithms

int main(int argc, char** argv) {
  using weir::algorithms::kOtherJobs, weir::algorithms::kRegularJobs;
  bool quick = false;
  double bytes = weir::algorithms::kUsualBytes;
  std::string_view only;
  for (int i = 1; i < argc; ++i) {
    char* end = nullptr;
    if (std::strcmp(argv[i], "--quick") == 0)
      quick = true;
    else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else if ((bytes = std::strtod(argv[i], &end)) < 1 || *end != '\0')
      return fmt::print(stderr,
                        "schedules: argument {}: expected --quick, --only TEXT or a number of bytes\n",
                        argv[i]),
             2;
  }
  fmt::print("{:<86}{:<15}{:<18}{:>8}{:>10}{:>10}{:>8}{:>9}  {:<13}{:>7}{:>7}\n", "job", "collective", "plan",
             "bound", "predicted", "simulated", "sim/pre", "of bound", "best other", "gain", "CPU s");
  bool good = true;
  for (const auto* jobs : {&kRegularJobs, &kOtherJobs}) {
    for (const auto& job : *jobs) {
      if (std::string_view(job.line).find(only) == std::string_view::npos) continue;
      if (job.quick || !quick) good = weir::algorithms::run(job, bytes) && good;
    }
  }
  return good ? 0 : 1;
}
