// SPDX-License-Identifier: Apache-2.0

#include "src/cli/trace.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "src/base/output_file.h"
#include "src/base/text.h"
#include "src/cli/failure.h"
#include "src/cli/flight_records.h"
#include "src/cli/pickle.h"

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

constexpr std::string_view kRecordName = "rank_";

/// The rank whose record has this name; nullopt: it is none.
std::optional<int> rank_of_record(std::string_view name) {
  if (!name.starts_with(kRecordName)) return std::nullopt;
  int rank = 0;
  const char* const begin = name.data() + kRecordName.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), rank);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(rank) : std::nullopt;
}

/// The analyzer takes all files of a folder for one job: those of another one, with more ranks, must not
/// stay.
Status check_folder(const std::string& folder, const FlightRecords& records) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return {Code::system_error, fmt::format("{} cannot be made: {}", folder, failed.message())};
  for (const auto& file : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = file.path().filename();
    const std::optional<int> rank = rank_of_record(name);
    if (rank && !records.by_rank.contains(*rank))
      return {Code::invalid_argument,
              fmt::format("{} has the record {} of a rank that these reports do not have; expected a folder "
                          "without records of other jobs",
                          folder, name)};
  }
  if (failed) return {Code::system_error, fmt::format("{} cannot be read: {}", folder, failed.message())};
  return {};
}

Status write_records(const std::vector<core::ProcessReport>& reports, const std::string& folder) {
  const FlightRecords records = flight_records_of(reports);
  for (const std::string& sentence : records.left_out) fmt::print(stderr, "weir trace: {}\n", sentence);
  if (records.by_rank.empty())
    return {Code::invalid_argument, "no communicator whose ranks know each other is in these reports"};
  WEIR_TRY(check_folder(folder, records));
  for (const auto& [number, record] : records.by_rank)
    WEIR_TRY(write_output_file(fmt::format("{}/{}{}", folder, kRecordName, number), pickle_of(record)));
  fmt::print("wrote the records of {} ranks; to compare them: torchfrtrace {}{}\n", records.by_rank.size(),
             folder, records.complete ? "" : " --allow-incomplete-ranks");
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
  trace->add_option("--flight-records", arguments.records,
                    "Write flight records for PyTorch's analyzer (torchfrtrace) to this folder: rank_0, "
                    "rank_1, ...; then the trace is written only with -o");
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
  if (!arguments.records.empty()) {
    if (const Status written = write_records(reports, arguments.records); !written.ok())
      return report_failure("trace", written, 1);
    if (arguments.out.empty()) return 0;
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
