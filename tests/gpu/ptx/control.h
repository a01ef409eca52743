// SPDX-License-Identifier: Apache-2.0
/// How a test controls a library of translated kernels, and what it learns from it. The library exports
/// weir_ptx_set, weir_ptx_take and weir_ptx_coverage with these types.
///
/// Thread-safe.
/// Tests: tests/gpu/ptx/lanes_test.cc
#pragma once

#include <cstdint>

namespace weir::ptx {

/// REQUIRES: no kernel runs while they are set.
struct Settings {
  uint32_t threads = 32;  ///< threads of a block
  uint32_t chance = 8;    ///< after one of so many accesses another thread goes on
  uint64_t seed = 1;
  uint32_t together = 1;  ///< blocks that are there before the first one begins
  bool ends = false;      ///< the first race ends the process, with kRaceExit
};
inline constexpr int kRaceExit = 3;

struct Counts {
  uint64_t instructions = 0;
  uint64_t loads = 0;   ///< of global memory
  uint64_t stores = 0;  ///< to global memory
  uint64_t acquires = 0;
  uint64_t releases = 0;
  uint64_t fences = 0;
  uint64_t barriers = 0;
};

/// What happened since the last report.
struct Report {
  uint64_t races = 0;
  char first[160] = {};  ///< the first race in words
  Counts leaders;        ///< all first threads of blocks together
  Counts others;         ///< all other threads together
};

/// How much of a kernel's code any thread has executed since the library was loaded.
struct Coverage {
  const char* name = nullptr;
  uint32_t instructions = 0;
  uint32_t executed = 0;
};

}  // namespace weir::ptx

extern "C" {
/// Fills up to `most` entries; returns the number of kernels in the library.
uint32_t weir_ptx_coverage(weir::ptx::Coverage* list, uint32_t most);
void weir_ptx_set(const weir::ptx::Settings* settings);
void weir_ptx_take(weir::ptx::Report* report);
}
