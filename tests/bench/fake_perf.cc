// SPDX-License-Identifier: Apache-2.0
// Any *_perf program on the fake libnccl: fake_perf PROGRAM [options].
#include <cstdio>

#include "bench/perf/run.h"

int main(int argc, char** argv) {
  const weir::perf::Collective* collective = argc > 1 ? weir::perf::find_collective(argv[1]) : nullptr;
  if (collective == nullptr) {
    fprintf(stderr, "fake_perf: expected the name of a program, such as all_reduce_perf\n");
    return 64;
  }
  return weir::perf::run_program(*collective, argc - 1, argv + 1);
}
