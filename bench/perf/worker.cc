// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/worker.h"

#include <algorithm>

namespace weir::perf {

Worker::Worker(const Shared& shared, int thread, Ranks& ranks, Report* report)
    : collective_(shared.collective),
      options_(shared.options),
      team_(shared.team),
      watchdog_(shared.watchdog),
      thread_(thread),
      ranks_(ranks),
      report_(report),
      limit_(shared.limit),
      net_(ranks.local(), shared.first_on_host && thread == 0) {}

std::vector<size_t> sizes(const PerfOptions& options, int factor, size_t smallest) {
  std::vector<size_t> all;
  for (size_t size = options.min_bytes; size <= options.max_bytes;) {
    all.push_back(size);
    size_t next =
        factor > 1 ? std::max(size * static_cast<size_t>(factor), smallest) : size + options.step_bytes;
    if (next <= size) break;
    size = next;
  }
  return all;
}

Outcome Worker::run() {
  const OpInfo none = all_ops()[0];
  const bool over_ops = collective_.op_column == OpColumn::op;
  const std::vector<OpInfo> ops = over_ops ? options_.ops : std::vector<OpInfo>{none};
  std::vector<int> roots = {collective_.has_root ? options_.root : -1};
  if (collective_.has_root && options_.root == -1) {
    roots.clear();
    for (int root = 0; root < ranks_.size(); ++root) roots.push_back(root);
  }
  for (const TypeInfo& type : options_.types)
    for (const OpInfo& op : ops)
      for (int root : roots) WEIR_TRY(run_sizes(type, op, root));
  return Outcome();
}

Outcome Worker::run_sizes(TypeInfo type, OpInfo op, int root) {
  WEIR_TRY(warm_up(type, op, root));
  for (int cycle = 0; options_.cycles == 0 || cycle < options_.cycles; ++cycle) {
    for (size_t size : sizes(options_, options_.step_factor, type.size)) {
      Job job{type, op, root, collective_.layout(size / type.size, type.size, ranks_.size())};
      WEIR_TRY(run_row(job));
    }
  }
  return Outcome();
}

Outcome Worker::warm_up(TypeInfo type, OpInfo op, int root) {
  for (size_t size : sizes(options_, 2, type.size)) {
    Job job{type, op, root, collective_.layout(size / type.size, type.size, ranks_.size())};
    for (int i = 0; i < options_.warmup; ++i) WEIR_TRY(start(job, false, 0));
    WEIR_TRY(complete());
  }
  return Outcome();
}

Outcome Worker::run_row(const Job& job) {
  if (report_ != nullptr) {
    const char* op = collective_.op_column == OpColumn::op     ? job.op.name
                     : collective_.op_column == OpColumn::none ? "none"
                                                               : "";
    report_->begin_row({job.bytes(), job.layout.count, job.type.name, op, job.root});
  }
  for (bool in_place : {false, true}) {
    Measurement measurement;
    WEIR_TRY(measure(job, in_place, &measurement));
    if (report_ != nullptr) report_->half(measurement, in_place);
  }
  std::optional<NetStats> net;
  WEIR_TRY(sum_net_stats(&net));
  if (report_ != nullptr) report_->end_row(net);
  return Outcome();
}

/// Sum over all ranks; nullopt if the library has no counters. All processes use the same library.
Outcome Worker::sum_net_stats(std::optional<NetStats>* sum) {
  if (!counts_network()) return Outcome();
  std::vector<double> all;
  WEIR_TRY(team_.exchange(thread_, net_.take().counts, &all));
  NetStats& total = sum->emplace();
  for (size_t i = 0; i < all.size(); ++i) total.counts[i % total.counts.size()] += all[i];
  return Outcome();
}

Outcome Worker::measure(const Job& job, bool in_place, Measurement* m) {
  double seconds = 0;
  std::vector<double> iterations;
  WEIR_TRY(time_iterations(job, in_place, &seconds, &iterations));
  WEIR_TRY(team_.reduce(thread_, seconds, options_.average, &seconds));
  Bandwidth reached = bandwidth(collective_, job.layout, job.type.size, ranks_.size(), seconds);
  m->microseconds = seconds * 1e6;
  m->algorithm_bandwidth = reached.algorithm;
  m->bus_bandwidth = reached.bus;
  if (limit_ != nullptr)
    m->limit_us = limit_->seconds(collective_, job.layout, job.type.size, job.root, in_place) * 1e6;
  if (options_.per_iteration) WEIR_TRY(gather_iterations(iterations, &m->iterations.emplace()));
  if (options_.checks > 0) {
    double wrong = 0;
    WEIR_TRY(check(job, in_place, &wrong));
    if (!in_place || collective_.checks_in_place) m->wrong = wrong;
  }
  return Outcome();
}

Outcome Worker::gather_iterations(const std::vector<double>& mine, IterationTimes* times) {
  times->skipped = options_.per_iteration_skip;
  std::vector<double> all;
  WEIR_TRY(team_.exchange(thread_, mine, &all));
  const auto threads = static_cast<size_t>(options_.threads);
  const size_t count = mine.size(), processes = all.size() / (count * threads);
  times->slowest.assign(count, 0);
  times->by_process.assign(processes, std::vector<double>(count, 0));
  for (size_t i = 0; i < all.size(); ++i) {
    double& of_process = times->by_process[i / (count * threads)][i % count];
    of_process = std::max(of_process, all[i]);
    times->slowest[i % count] = std::max(times->slowest[i % count], all[i]);
  }
  return Outcome();
}

}  // namespace weir::perf
