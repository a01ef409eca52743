// SPDX-License-Identifier: Apache-2.0
/// A whole run of one of the programs, from the command line to the exit code.
#pragma once

#include "bench/perf/collective.h"

namespace weir::perf {

/// main() of the program that measures `collective`. Prints; may replace the process by a local launch, and
/// may end it where threads are stuck in the library.
int run_program(const Collective& collective, int argc, char** argv);

}  // namespace weir::perf
