// SPDX-License-Identifier: Apache-2.0
// build/bench/schedules [--quick] [--only TEXT] [--latency TEXT] [BYTES]: whether emitted plans take the time
// that is predicted for them, and no more than the library's other algorithms.
//
// Each job is planned as by weir plan for 1 GiB, or BYTES, with its 4 slots of at most 256 KiB per channel,
// its choice of the size of messages and its latencies (--latency: others, 0: none). The plan is written as
// text with the ways of its moves, read again and simulated with these channels. So are ring, hierarchical
// and ring_set, each with the size of messages that suits it. A row is marked, and the exit code is 1, if
// less than 0.98 of the prediction is reached, or if one of the three is faster by more than the 0.05 %
// within which plans count as equally fast. The columns for 8 slots of 64 KiB show what a plan loses in
// channels for which it was not chosen. The processor time is that of the planning, with its own simulations.
// --quick leaves out the jobs that take more than a second, --only those whose line does not contain the
// text.
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
#include "algorithms/network/link_latencies.h"
#include "algorithms/sim/message_bytes.h"
#include "algorithms/sim/simulate.h"
#include "algorithms/sim/ways.h"
#include "bench/planner/jobs.h"
#include "bench/planner/processor_clock.h"
#include "topology/formats/any.h"

namespace weir::algorithms {
namespace {

constexpr double kUsualBytes = 1 << 30;
constexpr sim::Channels kChannels{.slot_bytes = 256 << 10, .slots = 4};
constexpr sim::Channels kSmallSlots{.slot_bytes = 64 << 10, .slots = 8};
constexpr double kLeastOfPrediction = 0.98;
constexpr double kEqual = 5e-4;  // as in best_plan/ranking.cc

/// Rates in GB/s (algbw) with slots of 256 KiB, whose messages may be smaller, and with those of 64 KiB.
struct Rates {
  double large = 0;
  double small = 0;
};

/// What a row shows.
struct Figures {
  double bound = 0;
  double predicted = 0;
  double slot_bytes = 0;
  Rates simulated;
  Rates rival;         ///< the fastest with each kind of slots
  double seconds = 0;  ///< processor time of the planning, with its own simulations
  std::string plan;
  std::string rival_name = "-";
};

sim::Channels with_work(sim::Channels channels, const topology::Latencies& latencies) {
  channels.alpha = latencies.message * 1e-6;
  return channels;
}

Result<Rates> rates_of(const ir::Plan& plan, const PlanRequest& request,
                       const topology::Latencies& latencies) {
  const sim::Channels channels = with_work(kChannels, latencies);
  auto whole = sim::simulate(plan, request.bytes, request.network, channels);
  WEIR_TRY(whole.status());
  const auto in_large =
      sim::fastest_messages(plan, request.bytes, request.network, channels, std::move(*whole));
  WEIR_TRY(in_large.status());
  const auto in_small =
      sim::simulate(plan, request.bytes, request.network, with_work(kSmallSlots, latencies));
  WEIR_TRY(in_small.status());
  return Rates{in_large->prediction.algbw, in_small->algbw};
}

/// The rates of a plan that was written and read again.
Result<Rates> rates_of_text(ir::Plan plan, const PlanRequest& request, const topology::Latencies& latencies) {
  WEIR_TRY(sim::name_ways(plan, request.network));
  const auto read = ir::read_text(ir::write_text(plan));
  WEIR_TRY(read.status());
  WEIR_TRY(ir::verify(*read));
  return rates_of(*read, request, latencies);
}

Result<Figures> figures_of(const PlanRequest& request, const topology::Latencies& latencies) {
  Figures figures;
  const double begin = processor_seconds();
  auto best = best_plan(request);
  WEIR_TRY(best.status());
  auto ranked = ranked_plans(request, *best, with_work(kChannels, latencies), Messages::fastest);
  WEIR_TRY(ranked.status());
  figures.seconds = processor_seconds() - begin;
  Schedule& first = ranked->front().schedule;
  figures.bound = kCapacityUnit / best->bound.time.value();
  figures.predicted = first.prediction.algbw;
  figures.slot_bytes = ranked->front().slot_bytes;
  figures.plan = ranked->front().name;
  const auto rates = rates_of_text(std::move(first.plan), request, latencies);
  WEIR_TRY(rates.status());
  figures.simulated = *rates;
  for (const char* algorithm : {"ring", "hierarchical", "ring_set"}) {
    const auto other = plan_by(algorithm, request);
    if (!other.ok()) continue;  // there are no groups, or no rings
    const auto run = rates_of(*other, request, latencies);
    WEIR_TRY(run.status());
    figures.rival.small = std::max(figures.rival.small, run->small);
    if (run->large <= figures.rival.large) continue;
    figures.rival.large = run->large;
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

/// Prints a row; false: it is marked.
bool print(const std::string& job, Collective collective, const Figures& figures) {
  const double kept = figures.simulated.large / figures.predicted;
  const double gain = figures.simulated.large / std::max(figures.rival.large, 1e-9);
  const double small_gain = figures.simulated.small / std::max(figures.rival.small, 1e-9);
  const bool late = kept < kLeastOfPrediction;
  const bool slow = gain < 1 - kEqual;
  fmt::print(
      "{:<86}{:<15}{:<18}{:>8.4g}{:>10.4g}{:>5.4g}{:>9.3f}{:>9.3f}{:>9.3f}  "
      "{:<13}{:>7.3f}{:>7.3f}{:>7.2f}{}{}\n",
      job, name(collective), figures.plan, figures.bound, figures.predicted, figures.slot_bytes / 1024, kept,
      figures.simulated.small / figures.predicted, figures.predicted / figures.bound, figures.rival_name,
      figures.rival.large > 0 ? gain : 0, figures.rival.small > 0 ? small_gain : 0, figures.seconds,
      late ? "  slower than predicted" : "", slow ? "  slower than that" : "");
  std::fflush(stdout);
  return !late && !slow;
}

/// Prints the rows of a job; false: one is marked.
bool run(const Job& job, double bytes, const topology::Latencies& latencies) {
  const auto graph = topology::read_any({job.line, job.line}, nullptr);
  if (!graph.ok()) return fmt::print("{}: {}\n", job.line, graph.status().message()), false;
  auto network = network_of(*graph, gpus_of(*graph, job));
  if (!network.ok()) return fmt::print("{}: {}\n", job.line, network.status().message()), false;
  set_latencies(*network, *graph, latencies);
  const std::vector<char> between = switches_between_hosts(*network, *graph);
  bool good = true;
  for (const Collective collective :
       {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
    const auto figures = figures_of({*graph, *network, between, collective, 0, bytes}, latencies);
    if (!figures.ok()) {
      fmt::print("{}, {}: no plan: {}\n", name_of(job), name(collective), figures.status().message());
      good = false;
      continue;
    }
    good = print(name_of(job), collective, *figures) && good;
  }
  return good;
}

}  // namespace
}  // namespace weir::algorithms

int main(int argc, char** argv) {
  using weir::algorithms::kOtherJobs, weir::algorithms::kRegularJobs;
  bool quick = false;
  double bytes = weir::algorithms::kUsualBytes;
  std::string_view only, latency;
  for (int i = 1; i < argc; ++i) {
    char* end = nullptr;
    if (std::strcmp(argv[i], "--quick") == 0)
      quick = true;
    else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else if (std::strcmp(argv[i], "--latency") == 0 && i + 1 < argc)
      latency = argv[++i];
    else if ((bytes = std::strtod(argv[i], &end)) < 1 || *end != '\0')
      return fmt::print(stderr,
                        "schedules: argument {}: expected --quick, --only TEXT, --latency TEXT or a number "
                        "of bytes\n",
                        argv[i]),
             2;
  }
  const auto latencies = weir::topology::parse_latencies(latency);
  if (!latencies.ok()) return fmt::print(stderr, "schedules: {}\n", latencies.status().message()), 2;
  fmt::print("{:<86}{:<15}{:<18}{:>8}{:>10}{:>5}{:>9}{:>9}{:>9}  {:<13}{:>7}{:>7}{:>7}\n", "job",
             "collective", "plan", "bound", "predicted", "KiB", "sim/pre", "64K/pre", "of bound",
             "best other", "gain", "64 KiB", "CPU s");
  bool good = true;
  for (const auto* jobs : {&kRegularJobs, &kOtherJobs}) {
    for (const auto& job : *jobs) {
      if (std::string_view(job.line).find(only) == std::string_view::npos) continue;
      if (job.quick || !quick) good = weir::algorithms::run(job, bytes, *latencies) && good;
    }
  }
  return good ? 0 : 1;
}
