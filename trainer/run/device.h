// SPDX-License-Identifier: Apache-2.0
/// What a rank computes on: the CPU, or one of the GPUs of its host.
#pragma once

#include <memory>

#include "trainer/math/gpu/gpu_ops.h"
#include "trainer/math/ops.h"

namespace weir::trainer {

enum class DeviceChoice { automatic, cpu, gpu };

struct Device {
  std::unique_ptr<gpu::Gpu> gpu;         ///< null: the CPU
  std::unique_ptr<gpu::GpuOps> gpu_ops;  ///< null: the CPU
  std::unique_ptr<CpuOps> cpu_ops;       ///< null: a GPU
  double peak = 0;                       ///< measured floating-point operations per second

  Ops& ops() { return gpu_ops != nullptr ? static_cast<Ops&>(*gpu_ops) : *cpu_ops; }
};

/// `local_rank` is the rank's number on its host: ranks take its GPUs in turn, several may share one.
/// Errors, for the choice `gpu` alone: why there is no GPU to be used.
Result<Device> open_device(DeviceChoice choice, int local_rank, Precision precision);

}  // namespace weir::trainer
