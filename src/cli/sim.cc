// SPDX-License-Identifier: Apache-2.0

#include "src/cli/sim.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "algorithms/sim/message_bytes.h"
#include "algorithms/sim/simulate.h"
#include "src/base/text.h"
#include "src/cli/failure.h"
#include "src/cli/link_loads.h"
#include "src/drivers/files.h"
#include "topology/formats/source.h"

namespace weir::cli {
namespace {

constexpr size_t kMostJobBytes = size_t{16} << 20;

/// A sequence of steps and the plans that they use.
struct Job {
  std::deque<ir::Plan> plans;  // owns the plans of `steps`
  std::vector<sim::JobStep> steps;
};

/// Parses the lines "compute 12.5 ms", "all_gather 512M", "all_gather 512M ring".
class JobReader {
 public:
  JobReader(const SimArguments& arguments, const sim::Channels& channels, PlanTask& task)
      : arguments_(arguments), channels_(channels), task_(task) {}

  Result<Job> read() {
    auto text = drivers::read_whole(arguments_.job, kMostJobBytes);
    WEIR_TRY(text.status());
    const topology::Source source{arguments_.job, *text};
    topology::Lines lines(*text);
    double compute = 0;
    for (std::string_view line; lines.next(line);) {
      const auto words = topology::words(line.substr(0, line.find('#')));
      if (words.empty()) continue;
      if (const Status read = step(words, compute); !read.ok())
        return topology::refuse(source, lines.number(), read.message());
    }
    if (compute > 0) job_.steps.push_back({compute, nullptr, 0});
    return std::move(job_);
  }

 private:
  /// Adds one line: computation accumulates in `compute` until the next collective, which becomes a step.
  Status step(const std::vector<std::string_view>& words, double& compute) {
    if (words[0] == "compute") {
      double number = 0;
      if (words.size() != 3 || words[2] != "ms" || !topology::parse_number(words[1], number) || number < 0)
        return {Code::invalid_argument, "expected \"compute NUMBER ms\""};
      compute += number * 1e-3;
      return {};
    }
    if (words.size() < 2 || words.size() > 3)
      return {
          Code::invalid_argument,
          "expected \"compute NUMBER ms\", or a collective, its size in bytes and, optionally, an algorithm"};
    const auto collective = collective_of(std::string(words[0]));
    if (!collective.ok())
      return {Code::invalid_argument,
              fmt::format("\"{}\" is neither \"compute\" nor a collective", words[0])};
    std::string bytes(words[1]);
    try {
      bytes = CLI::AsSizeValue(false)(bytes).empty() ? bytes : "";
    } catch (const CLI::ValidationError&) {
      bytes.clear();
    }
    double number = 0;
    if (!topology::parse_number(bytes, number) || number < 0)
      return {Code::invalid_argument,
              fmt::format("\"{}\" is not a number of bytes; expected a number such as 4096, 512M or 2G",
                          words[1])};
    auto plan = plan_of(*collective, words.size() == 3 ? std::string(words[2]) : "");
    WEIR_TRY(plan.status());
    job_.steps.push_back({compute, *plan, number});
    compute = 0;
    return {};
  }

  Result<const ir::Plan*> plan_of(Collective collective, const std::string& algorithm) {
    const auto [known, is_new] = known_.try_emplace({collective, algorithm}, nullptr);
    if (is_new) {
      task_.collective = collective;
      auto plan = load_schedule({{}, algorithm}, task_, arguments_.task, channels_);
      WEIR_TRY(plan.status());
      known->second = &job_.plans.emplace_back(std::move(*plan));
    }
    return known->second;
  }

  const SimArguments& arguments_;
  const sim::Channels& channels_;
  PlanTask& task_;
  Job job_;
  std::map<std::pair<Collective, std::string>, const ir::Plan*> known_;
};

std::string busiest(const PlanTask& task, const std::vector<double>& edge_bytes, double seconds) {
  const std::vector<LinkGroup> groups = group_links(task, edge_bytes);
  if (groups.empty() || seconds <= 0) return "";
  return fmt::format("busiest      {} {}, busy {:.3g}% of the time, for example {}\n", groups[0].count,
                     groups[0].words, groups[0].seconds / seconds * 100, groups[0].example);
}

Result<std::string> simulate_job(const SimArguments& arguments, const SimulatedChannels& assumed,
                                 PlanTask& task) {
  const auto job = JobReader(arguments, assumed.channels, task).read();
  WEIR_TRY(job.status());
  const auto run = sim::simulate(job->steps, task.network, assumed.channels);
  WEIR_TRY(run.status());
  const double communicating = run->seconds - run->computing;
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"seconds", run->seconds},
                                         {"computing", run->computing},
                                         {"communicating", communicating},
                                         {"steps", run->ends.size()},
                                         {"ends", run->ends},
                                         {"latency_us", latencies_as_json(assumed.latencies)}};
    return json.dump(2) + "\n";
  }
  return fmt::format("{} over {}\n", plural(static_cast<int64_t>(run->ends.size()), "step"),
                     plural(task.network.ranks(), "rank")) +
         fmt::format("time         {}: {} computing, {} communicating\n", seconds_words(run->seconds),
                     seconds_words(run->computing), seconds_words(communicating)) +
         latency_line(assumed) + busiest(task, run->edge_bytes, communicating);
}

Result<std::string> simulate_one(const SimArguments& arguments, SimulatedChannels assumed,
                                 const PlanTask& task) {
  const auto plan =
      load_schedule(arguments.schedule, task, arguments.task, assumed.channels, assumed.messages);
  WEIR_TRY(plan.status());
  const double bytes = task.bytes;
  const auto begin = std::chrono::steady_clock::now();
  Result<sim::Prediction> run = sim::Prediction{};
  if (assumed.messages == algorithms::Messages::fastest) {
    auto sized = sim::simulate_fastest(*plan, bytes, task.network, assumed.channels);
    WEIR_TRY(sized.status());
    assumed.channels.slot_bytes = sized->slot_bytes;
    run = std::move(sized->prediction);
  } else {
    run = sim::simulate(*plan, bytes, task.network, assumed.channels);
    WEIR_TRY(run.status());
  }
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"collective", name(plan->shape.kind)},
                                         {"algorithm", plan->algorithm},
                                         {"bytes", arguments.task.bytes},
                                         {"ranks", plan->shape.ranks},
                                         {"seconds", run->seconds},
                                         {"algbw_GBps", run->algbw},
                                         {"busbw_GBps", run->busbw},
                                         {"slot_bytes", assumed.channels.slot_bytes},
                                         {"slots", assumed.channels.slots},
                                         {"latency_us", latencies_as_json(assumed.latencies)},
                                         {"flows", run->flows},
                                         {"extrapolated", run->extrapolated()},
                                         {"sim_ms", milliseconds}};
    return json.dump(2) + "\n";
  }
  return fmt::format("{} of {} over {} by {}\n", name(plan->shape.kind), bytes_words(bytes),
                     plural(plan->shape.ranks, "rank"), plan->algorithm) +
         fmt::format("time         {}\n", seconds_words(run->seconds)) +
         fmt::format("bandwidth    {:.4g} GB/s (algbw), {:.4g} GB/s (busbw), with {}\n", run->algbw,
                     run->busbw, assumed.slots_words()) +
         latency_line(assumed) + busiest(task, run->edge_bytes, run->seconds) +
         fmt::format("{} simulated in {:.3g} ms{}\n", plural(run->flows, "flow"), milliseconds,
                     passes_words(*run));
}

Result<std::string> simulated(const SimArguments& arguments) {
  auto task = load_plan_task(arguments.task);
  WEIR_TRY(task.status());
  auto assumed = channels_of(arguments.channels, *task);
  WEIR_TRY(assumed.status());
  return arguments.job.empty() ? simulate_one(arguments, std::move(*assumed), *task)
                               : simulate_job(arguments, *assumed, *task);
}

}  // namespace

void add_sim(CLI::App& app, SimArguments& arguments) {
  CLI::App* command =
      app.add_subcommand("sim", "Simulate a collective, or a sequence of collectives, on a topology");
  add_plan_task(command, arguments.task);
  add_schedule(command, arguments.schedule);
  add_channels(command, arguments.channels);
  command->add_option(
      "--job", arguments.job,
      "File with one step per line: \"compute 12.5 ms\", \"allgather 512M\", \"allreduce 64M ring\"");
  command->add_flag("--json", arguments.json, "Print as JSON");
}

int run_sim(const SimArguments& arguments) {
  const auto text = simulated(arguments);
  if (!text.ok()) return report_failure("sim", text.status(), kExitUsage);
  fmt::print("{}", *text);
  return 0;
}

}  // namespace weir::cli
