// SPDX-License-Identifier: Apache-2.0
/// scale: growth of a communicator's set-up time and resources with its number of ranks.
///
///     scale --ranks 16,64,256,1000                  threads of one process
///     scale --ranks 16,64,256 --processes 256       one process per rank
///     scale --ranks 1000 --processes 8 --hosts 4    simulates 4 hosts, over TCP
///
/// One row per number of ranks. `order` is the order of growth of a time since the previous row: 1 is linear
/// in the ranks, 2 quadratic; `cpu` is the time of processors of all processes together. `per peer` is the
/// growth of a rank's memory for each additional rank.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/scale/ranks.h"

namespace {

using weir::scale::Outcome;
using weir::scale::Setting;

struct Row {
  Setting setting;
  Outcome outcome;
};

double per_rank(const Row& row) { return static_cast<double>(row.outcome.idle.resident) / row.setting.ranks; }

std::string order(double before, double after, double growth) {
  if (before <= 0 || after <= 0 || growth <= 1) return "";
  return fmt::format("{:.1f}", std::log(after / before) / std::log(growth));
}

void print_head() {
  constexpr const char* kHead =
      "{:>6} {:>9} {:>6} {:>8} {:>6} {:>7} {:>8} {:>6} {:>7} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} "
      "{:>8}\n";
  fmt::print(kHead, "ranks", "processes", "hosts", "init", "order", "cpu", "first", "order", "cpu", "later",
             "end", "memory", "per rank", "per peer", "peak", "files", "maps", "threads");
  fmt::print(kHead, "", "", "", "ms", "", "s", "ms", "", "s", "ms", "ms", "MiB", "KiB", "bytes", "MiB", "",
             "", "");
}

void print_row(const Row& row, const Row* before) {
  constexpr double kMiB = 1 << 20;
  const auto& [times, idle, used, peak] = row.outcome;
  std::string init_order, first_order, per_peer;
  if (before != nullptr && row.setting.ranks > before->setting.ranks) {
    const double growth = static_cast<double>(row.setting.ranks) / before->setting.ranks;
    init_order = order(before->outcome.times.init, times.init, growth);
    first_order = order(before->outcome.times.first, times.first, growth);
    per_peer = fmt::format("{:.0f}",
                           (per_rank(row) - per_rank(*before)) / (row.setting.ranks - before->setting.ranks));
  }
  fmt::print(
      "{:>6} {:>9} {:>6} {:>8.1f} {:>6} {:>7.2f} {:>8.1f} {:>6} {:>7.2f} {:>8.2f} {:>8.1f} {:>9.1f} {:>9.1f} "
      "{:>9} {:>9.1f} {:>7} {:>7} {:>8}\n",
      row.setting.ranks, row.setting.processes, row.setting.hosts, times.init * 1e3, init_order,
      times.init_cpu, times.first * 1e3, first_order, times.first_cpu, times.later * 1e3, times.end * 1e3,
      static_cast<double>(idle.resident) / kMiB, per_rank(row) / 1024, per_peer,
      static_cast<double>(peak) / kMiB, used.descriptors, used.mappings, used.threads);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures how time and resources of setting up a communicator grow with its number of ranks");
  std::vector<int> sizes = {16, 64, 256, 1000};
  Setting wanted;
  app.add_option("--ranks", sizes, "numbers of ranks, one row for each")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--processes", wanted.processes, "number of processes; ranks are their threads")
      ->check(CLI::Range(1, 4096));
  app.add_option("--hosts", wanted.hosts, "number of hosts to simulate")->check(CLI::Range(1, 4096));
  app.add_option("--calls", wanted.calls, "number of all-reduces of 8 bytes after the first")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--limit", wanted.limit_s, "time limit of each row, seconds")->check(CLI::Range(1, 3600));
  CLI11_PARSE(app, argc, argv);

  std::vector<Row> rows;
  print_head();
  for (const int ranks : sizes) {
    Setting setting = wanted;
    setting.ranks = ranks;
    setting.processes = std::min(wanted.processes, ranks);
    setting.hosts = std::min(wanted.hosts, setting.processes);
    const auto outcome = weir::scale::run(setting);
    if (!outcome) return 1;
    rows.push_back({setting, *outcome});
    print_row(rows.back(), rows.size() > 1 ? &rows[rows.size() - 2] : nullptr);
  }
  return 0;
}
