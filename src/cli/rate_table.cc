// SPDX-License-Identifier: Apache-2.0

#include "src/cli/rate_table.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/failure.h"
#include "src/cli/plan_report.h"
#include "src/cli/published_rates.h"

namespace weir::cli {
namespace {

/// Whether the plan for one is the plan for the other.
bool share_plan(const PublishedRate& a, const PublishedRate& b) {
  return a.line == std::string_view(b.line) && a.collective == b.collective && a.bus == b.bus;
}

Result<RateRow> row_of(const PublishedRate& figure) {
  PlanArguments arguments;
  arguments.task.sources.files = {figure.line};
  arguments.task.sources.missing_rates = MissingRates::assume;
  arguments.task.collective = name(figure.collective);
  const auto report = plan_report(arguments);
  WEIR_TRY(report.status());
  const double factor = figure.bus ? sim::bus_factor(figure.collective, report->ranks()) : 1;
  return RateRow{figure, report->bound_gb_per_s() * factor, report->predicted_gb_per_s() * factor,
                 report->simulated()};
}

}  // namespace

int print_comparison(bool json) {
  std::vector<RateRow> rows;
  // All machines take many seconds: each row of the table appears when it is known.
  const auto print = [](const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  };
  if (!json) print(rates_title());
  for (const PublishedRate& figure : published_rates()) {
    if (!rows.empty() && share_plan(rows.back().figure, figure)) {
      rows.push_back(rows.back());
      rows.back().figure = figure;
    } else {
      auto row = row_of(figure);
      if (!row.ok()) return report_failure("plan", row.status(), kExitUsage);
      rows.push_back(*row);
    }
    if (!json) print(rates_line(rows.back()));
  }
  print(json ? rates_json(rows) : rates_notes());
  return 0;
}

}  // namespace weir::cli
