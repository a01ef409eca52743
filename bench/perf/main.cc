// SPDX-License-Identifier: Apache-2.0
// The main function of all programs; each defines its name (CMakeLists.txt).
#include <cstdio>

#include "bench/perf/run.h"

extern "C" const char weir_perf_program[];

int main(int argc, char** argv) {
  return weir::perf::run_program(*weir::perf::find_collective(weir_perf_program), argc, argv);
}
