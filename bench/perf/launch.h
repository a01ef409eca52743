// SPDX-License-Identifier: Apache-2.0
/// --ranks: starts local processes with `weir run`, which is found beside the program.
#pragma once

#include "bench/perf/options.h"
#include "bench/perf/outcome.h"

namespace weir::perf {

/// Whether launch() started this process. Removes the mark, so that child processes do not inherit it.
bool was_launched();

/// Replaces this process with `weir run`, which starts the program again with the same arguments as --ranks
/// processes. Returns only on failure.
Outcome launch(const PerfOptions& options, int argc, char** argv);

}  // namespace weir::perf
