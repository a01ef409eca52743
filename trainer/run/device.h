// SPDX-License-Identifier: Apache-2.0
/// The device on which a rank computes: the CPU, or one of its host's GPUs.
#pragma once

#include <memory>

#include "trainer/math/gpu/gpu_ops.h"
#include "trainer/math/ops.h"

namespace weir::trainer {

enum class DeviceChoice { automatic, cpu, gpu };

struct Device {
  std::unique_ptr<gpu::Gpu> gpu;         ///< null: the rank computes on the CPU
  std::unique_ptr<gpu::GpuOps> gpu_ops;  ///< null: the rank computes on the CPU
  std::unique_ptr<CpuOps> cpu_ops;       ///< null: the rank computes on a GPU
  double peak = 0;                       ///< measured FLOP/s

  Ops& ops() { return gpu_ops != nullptr ? static_cast<Ops&>(*gpu_ops) : *cpu_ops; }
};

/// `local_rank` is the rank's number on its host: ranks take its GPUs round-robin, and several may share one.
/// Only the choice `gpu` returns errors: why no GPU can be used.
Result<Device> open_device(DeviceChoice choice, int local_rank, Precision precision);

}  // namespace weir::trainer
