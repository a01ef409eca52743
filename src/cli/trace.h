// SPDX-License-Identifier: Apache-2.0
/// weir trace: converts reports of processes to a trace for viewers (chrome://tracing, ui.perfetto.dev), or
/// to flight records for PyTorch's analyzer (flight_records.h).
/// Tests: tests/cli/ps_test.cc, tests/cli/flight_records_test.py
#pragma once

#include <string>
#include <vector>

#include "src/core/diagnosis/process_report.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct TraceArguments {
  std::vector<std::string> files;  ///< dumps, or output of `weir ps --json`
  std::string out;                 ///< path of the output file; empty: standard output
  std::string records;             ///< folder for flight records; empty: none
};

/// The trace has a process for each process, a thread for each communicator's rank, and an event for each
/// operation whose times are known. Times are relative to the first event; `otherData` has its time in ns
/// since 1970.
std::string trace_of(const std::vector<core::ProcessReport>& reports);

void add_trace(CLI::App& app, TraceArguments& arguments);
/// Returns the exit code.
int run_trace(const TraceArguments& arguments);

}  // namespace weir::cli
