// SPDX-License-Identifier: Apache-2.0
/// A complete run of one of the programs, from the command line to the exit code.
#pragma once

#include "bench/perf/collective.h"

namespace weir::perf {

/// main() of the program that measures `collective`. Prints its results; may replace the process with a local
/// launch, and may exit if threads are blocked in the library.
int run_program(const Collective& collective, int argc, char** argv);

}  // namespace weir::perf
