// SPDX-License-Identifier: Apache-2.0
/// --ranks: the local launch, by `weir run`, which is found beside the program.
#pragma once

#include "bench/perf/options.h"
#include "bench/perf/outcome.h"

namespace weir::perf {

/// Whether this process was started by launch(). Asks once: what this process starts was not.
bool was_launched();

/// Replaces this process by `weir run`, which starts the program again, with the same arguments, as so many
/// processes as --ranks says. Returns only if it cannot.
Outcome launch(const Options& options, int argc, char** argv);

}  // namespace weir::perf
