// SPDX-License-Identifier: Apache-2.0

#include "src/cli/trace.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/base/output_file.h"
#include "src/base/text.h"
#include "src/cli/failure.h"

namespace weir::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json named(const char* what, int process, int thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

/// The trace format counts in microseconds.
double microseconds(int64_t ns) { return static_cast<double>(ns) / 1e3; }

/// Begin of the earliest operation. Viewers store times as doubles, which would resolve times since 1970 only
/// to a quarter of a microsecond.
int64_t begin_of(const std::vector<core::ProcessReport>& reports) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  for (const core::ProcessReport& report : reports) {
    for (const core::CommunicatorReport& one : report.communicators) {
      for (const core::OperationReport& operation : one.recent) {
        if (operation.begun_ns != 0) begin = std::min(begin, operation.begun_ns);
      }
    }
  }
  return begin == std::numeric_limits<int64_t>::max() ? 0 : begin;
}

ordered_json event_of(const core::OperationReport& one, int64_t begin_ns, int process, int thread) {
  ordered_json out = {{"name", core::describe(one.operation)},
                      {"cat", "weir"},
                      {"pid", process},
                      {"tid", thread},
                      {"ts", microseconds(one.begun_ns - begin_ns)}};
  out["ph"] = one.took_ns > 0 ? "X" : "i";
  if (one.took_ns > 0) out["dur"] = microseconds(one.took_ns);
  if (one.took_ns == 0) out["s"] = "t";
  out["args"] = {{"number", one.number},
                 {"call", one.call},
                 {"plan", one.plan},
                 {"exact", one.exact},
                 {"ended", one.ended}};
  return out;
}

/// Adds one report, or all reports in the output of weir ps.
Status add_reports(const std::string& path, std::vector<core::ProcessReport>& reports) {
  const auto text = file_text(path);
  if (!text) return {Code::system_error, fmt::format("{} cannot be read", path)};
  std::vector<std::string> texts;
  try {
    const json whole = json::parse(*text);
    if (whole.is_object() && whole.contains("processes")) {
      for (const json& process : whole["processes"]) {
        if (process.contains("report")) texts.push_back(process["report"].dump());
      }
    } else {
      texts.push_back(*text);
    }
  } catch (const json::exception& error) {  // nlohmann reports parse errors only by exceptions
    return {Code::invalid_argument, fmt::format("{}: {}", path, error.what())};
  }
  for (const std::string& one : texts) {
    auto report = core::read_report(one);
    if (!report.ok()) return {Code::invalid_argument, fmt::format("{}: {}", path, report.status().message())};
    reports.push_back(std::move(*report));
  }
  return {};
}

}  // namespace

std::string trace_of(const std::vector<core::ProcessReport>& reports) {
  const int64_t begin_ns = begin_of(reports);
  ordered_json events = ordered_json::array();
  for (size_t i = 0; i < reports.size(); ++i) {
    const core::ProcessReport& report = reports[i];
    const auto process = static_cast<int>(i + 1);  // pids of two hosts may be equal
    events.push_back(named("process_name", process, 0,
                           fmt::format("{} {} {}", report.hostname, report.pid, report.program)));
    int thread = 0;
    for (const core::CommunicatorReport& one : report.communicators) {
      ++thread;
      events.push_back(named("thread_name", process, thread,
                             fmt::format("rank {} of {}", one.rank, one.name.empty() ? one.id : one.name)));
      for (const core::OperationReport& operation : one.recent) {
        if (operation.begun_ns != 0) events.push_back(event_of(operation, begin_ns, process, thread));
      }
    }
  }
  return ordered_json{
      {"displayTimeUnit", "ns"}, {"otherData", {{"begin_ns", begin_ns}}}, {"traceEvents", std::move(events)}}
      .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

void add_trace(CLI::App& app, TraceArguments& arguments) {
  CLI::App* trace = app.add_subcommand(
      "trace", "Convert dumps of processes to a trace for chrome://tracing or ui.perfetto.dev");
  trace->add_option("FILE", arguments.files, "Dumps (WEIR_DUMP_FILE), or output of weir ps --json")
      ->required();
  trace->add_option("-o,--out", arguments.out, "Write the trace to this file; default: standard output");
}

int run_trace(const TraceArguments& arguments) {
  if (!arguments.out.empty()) {
    if (const Status possible = try_output_file(arguments.out); !possible.ok())
      return report_failure("trace", possible, 1);
  }
  std::vector<core::ProcessReport> reports;
  for (const std::string& path : arguments.files) {
    if (const Status added = add_reports(path, reports); !added.ok())
      return report_failure("trace", added, 1);
  }
  const std::string trace = trace_of(reports);
  if (arguments.out.empty()) {
    fmt::print("{}\n", trace);
    return 0;
  }
  const Status written = write_output_file(arguments.out, trace + '\n');
  return written.ok() ? 0 : report_failure("trace", written, 1);
}

}  // namespace weir::cli
