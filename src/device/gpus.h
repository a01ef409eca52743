// SPDX-License-Identifier: Apache-2.0
/// The GPUs of this process, found through the drivers that it has loaded.
///
/// Thread-safe.
/// Tests: tests/device/gpu_test.cc
#pragma once

#include <memory>

#include "src/device/gpu.h"

namespace weir::device {

/// CUDA's GPUs if the process uses CUDA, else HIP's. Lives as long as the process.
Gpus& gpus();

/// The GPUs of one vendor's driver.
std::unique_ptr<Gpus> make_cuda_gpus();
std::unique_ptr<Gpus> make_hip_gpus();

}  // namespace weir::device
