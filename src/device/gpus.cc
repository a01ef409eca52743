// SPDX-License-Identifier: Apache-2.0

#include "src/device/gpus.h"

namespace weir::device {
namespace {

/// The GPUs of the vendor that the process uses.
class AnyGpus final : public Gpus {
 public:
  GpuMemory kind_of(const void* address) override {
    const GpuMemory kind = cuda_->kind_of(address);
    return kind != GpuMemory::host ? kind : hip_->kind_of(address);
  }
  Gpu* of(const void* address) override {
    Gpu* const found = cuda_->of(address);
    return found != nullptr ? found : hip_->of(address);
  }
  Gpu* of_stream(GpuStream stream) override {
    // One vendor's driver must not get a stream of the other.
    return cuda_->of(nullptr) != nullptr ? cuda_->of_stream(stream) : hip_->of_stream(stream);
  }
  Result<Gpu*> at(int index) override {
    if (cuda_->of(nullptr) != nullptr) return cuda_->at(index);
    if (hip_->of(nullptr) != nullptr) return hip_->at(index);
    Result<Gpu*> of_cuda = cuda_->at(index);
    if (of_cuda.ok()) return of_cuda;
    Result<Gpu*> of_hip = hip_->at(index);
    return of_hip.ok() ? of_hip
                       : Status(of_cuda.status().code(),
                                of_cuda.status().message() + "; " + of_hip.status().message());
  }

 private:
  const std::unique_ptr<Gpus> cuda_ = make_cuda_gpus();
  const std::unique_ptr<Gpus> hip_ = make_hip_gpus();
};

}  // namespace

Gpus& gpus() {
  static Gpus* const all = new AnyGpus;  // never destroyed: threads may use it while the process ends
  return *all;
}

}  // namespace weir::device
