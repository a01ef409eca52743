// SPDX-License-Identifier: Apache-2.0
/// The GPUs of this process, by the drivers that it has loaded.
///
/// Thread-safe.
#pragma once

#include <memory>

#include "src/device/gpu.h"

namespace weir::device {

/// CUDA's where the process uses CUDA, else HIP's. Lives as long as the process.
Gpus& gpus();

/// Of one vendor's driver.
std::unique_ptr<Gpus> make_cuda_gpus();
std::unique_ptr<Gpus> make_hip_gpus();

}  // namespace weir::device
