// SPDX-License-Identifier: Apache-2.0
/// Processor time of this program: other programs on the machine do not change it.
#pragma once

#include <ctime>

namespace weir::algorithms {

inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace weir::algorithms
