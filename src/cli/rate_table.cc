// SPDX-License-Identifier: Apache-2.0

#include "src/cli/rate_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/failure.h"
#include "src/cli/plan_report.h"
#include "src/cli/published_rates.h"

namespace weir::cli {
namespace {

/// A published figure and ours, in the same measure.
struct Row {
  PublishedRate figure;
  double bound = 0;
  double predicted = 0;
  bool simulated = false;

  /// Whether ours are those for another figure as well.
  bool is_of(const PublishedRate& other) const {
    return figure.line == std::string_view(other.line) && figure.collective == other.collective &&
           figure.bus == other.bus;
  }
  bool known() const { return figure.kind != RateKind::none; }
  double ratio() const { return predicted / figure.gb_per_s; }
  const char* measure() const { return figure.bus ? "busbw" : "algbw"; }
};

Result<Row> row_of(const PublishedRate& figure) {
  PlanArguments arguments;
  arguments.task.sources.files = {figure.line};
  arguments.task.sources.missing_rates = MissingRates::assume;
  arguments.task.collective = name(figure.collective);
  const auto report = plan_report(arguments);
  WEIR_TRY(report.status());
  const double factor = figure.bus ? sim::bus_factor(figure.collective, report->ranks()) : 1;
  return Row{figure, report->bound_gb_per_s() * factor, report->predicted_gb_per_s() * factor,
             report->simulated()};
}

std::string json_of(const std::vector<Row>& rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json json = {{"machine", row.figure.machine},
                                   {"line", row.figure.line},
                                   {"collective", name(row.figure.collective)},
                                   {"measure", row.measure()},
                                   {"published_GBps", nullptr},
                                   {"kind", name(row.figure.kind)},
                                   {"source", row.figure.source},
                                   {"bound_GBps", row.bound},
                                   {"predicted_GBps", row.predicted},
                                   {"simulated", row.simulated},
                                   {"ratio", nullptr}};
    if (row.known()) {
      json["published_GBps"] = row.figure.gb_per_s;
      json["ratio"] = row.ratio();
    }
    all.push_back(std::move(json));
  }
  return all.dump(2) + "\n";
}

std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::string_view> sources;  // in the order of their first rows
  std::string text =
      fmt::format("{:<41}{:<12}{:<7}{:>10}  {:<10}{:>8}{:>11}{:>8}  {}\n", "machine", "collective", "GB/s of",
                  "published", "which is", "bound", "predicted", "ratio", "source");
  for (const Row& row : rows) {
    auto source = std::ranges::find(sources, row.figure.source);
    if (source == sources.end()) source = sources.insert(source, row.figure.source);
    text += fmt::format("{:<41}{:<12}{:<7}{:>10}  {:<10}{:>8.4g}{:>11.4g}{:>8}  [{}]\n", row.figure.machine,
                        name(row.figure.collective), row.measure(),
                        row.known() ? fmt::format("{:.5g}", row.figure.gb_per_s) : "-",
                        row.known() ? name(row.figure.kind) : "-", row.bound, row.predicted,
                        row.known() ? fmt::format("{:.2f}", row.ratio()) : "-", source - sources.begin() + 1);
  }
  text += "\nThe bound and the prediction are those of weir plan LINE --collective C:\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i].figure.line == std::string_view(rows[i - 1].figure.line)) continue;
    text += fmt::format("  {:<41}{}\n", rows[i].figure.machine, rows[i].figure.line);
  }
  text += "\nSources:\n";
  for (size_t i = 0; i < sources.size(); ++i) text += fmt::format("  [{}] {}\n", i + 1, sources[i]);
  text += "ratio = predicted / published. Predictions assume that GPUs and NICs keep up with the links.\n";
  return text;
}

}  // namespace

int print_comparison(bool json) {
  std::vector<Row> rows;
  for (const PublishedRate& figure : published_rates()) {
    if (!rows.empty() && rows.back().is_of(figure)) {
      rows.push_back(rows.back());
      rows.back().figure = figure;
      continue;
    }
    auto row = row_of(figure);
    if (!row.ok()) return report_failure("plan", row.status(), kExitUsage);
    rows.push_back(*row);
  }
  fmt::print("{}", json ? json_of(rows) : table_of(rows));
  return 0;
}

}  // namespace weir::cli
