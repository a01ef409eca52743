// SPDX-License-Identifier: Apache-2.0
/// weir trace: reports of processes as a trace that browsers draw (chrome://tracing, ui.perfetto.dev).
#pragma once

#include <string>
#include <vector>

#include "src/core/diagnosis/process_report.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct TraceArguments {
  std::vector<std::string> files;  ///< dumps, or what `weir ps --json` printed
  std::string out;                 ///< file; empty: standard output
};

/// The trace: a process for each process, a thread for each communicator's rank, an event for each operation
/// whose times are known; times count from the first of them, which `otherData` tells in ns since 1970.
std::string trace_of(const std::vector<core::ProcessReport>& reports);

/// The subcommand trace.
void add_trace(CLI::App& app, TraceArguments& arguments);
/// The exit code.
int run_trace(const TraceArguments& arguments);

}  // namespace weir::cli
