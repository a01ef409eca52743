// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/device.h"

namespace weir::trainer {
namespace {

Result<Device> open_gpu(int local_rank, Precision precision) {
  const Result<int> count = gpu::Gpu::count();
  WEIR_TRY(count.status());
  if (*count == 0) return Status(Code::system_error, "the driver reports no GPU");
  Device device;
  auto gpu = gpu::Gpu::open(local_rank % *count);
  WEIR_TRY(gpu.status());
  device.gpu = std::move(*gpu);
  auto ops = gpu::GpuOps::open(*device.gpu, precision);
  WEIR_TRY(ops.status());
  device.gpu_ops = std::move(*ops);
  device.peak = device.gpu_ops->measured_peak();
  WEIR_TRY(device.gpu_ops->status());
  return device;
}

}  // namespace

Result<Device> open_device(DeviceChoice choice, int local_rank, Precision precision) {
  if (choice != DeviceChoice::cpu) {
    Result<Device> device = open_gpu(local_rank, precision);
    if (device.ok() || choice == DeviceChoice::gpu) return device;
  }
  Device device;
  device.cpu_ops = std::make_unique<CpuOps>(precision);
  device.peak = measured_peak(device.cpu_ops->products());
  return device;
}

}  // namespace weir::trainer
