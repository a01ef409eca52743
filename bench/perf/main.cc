// One program per collective; the build says which.
#include <cstdio>

#include "bench/perf/run.h"

int main(int argc, char** argv) {
  return weir::perf::run_program(*weir::perf::find_collective(WEIR_PERF_PROGRAM), argc, argv);
}
