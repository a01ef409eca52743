// SPDX-License-Identifier: Apache-2.0
/// Converts errors of GPU drivers to a Status. CUDA and HIP use the same error numbers.
/// Tests: tests/device/gpu_test.cc
#pragma once

#include <fmt/format.h>

#include "src/base/status.h"

namespace weir::device {

/// True for errors after which all further calls on the GPU (or in its context) fail: memory faults of
/// kernels, failed launches, uncorrectable memory errors, a destroyed context.
inline bool breaks_gpu(int code) {
  switch (code) {
    case 46:   // device unavailable
    case 214:  // ECC
    case 220:  // NVLink
    case 226:  // contained
    case 700:  // illegal address
    case 702:  // launch timeout
    case 709:  // context is destroyed
    case 710:  // assert
    case 714:  // hardware stack, instruction, alignment, address space, program counter, launch failed
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
    case 721:  // tensor memory
    case 911:  // external device
      return true;
    default: return false;
  }
}

/// Success for 0, else "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
inline Status driver_status(const char* call, int code, const char* name, const char* words) {
  if (code == 0) return {};
  return Status(breaks_gpu(code) ? Code::device_error : Code::system_error,
                fmt::format("{} failed: {} ({})", call,
                            name != nullptr ? std::string(name) : fmt::format("error {}", code),
                            words != nullptr ? words : "no description"));
}

}  // namespace weir::device
