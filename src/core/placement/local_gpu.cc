// SPDX-License-Identifier: Apache-2.0

#include "src/core/placement/local_gpu.h"

#include <fmt/format.h>

namespace weir::core {

Status LocalGpu::check(const StreamPlace& place) const {
  if (!place.on_gpu || device::is_default_stream(place.gpu)) return {};
  device::Gpu* const found = gpus_->of_stream(place.gpu);
  if (found == nullptr)
    return {Code::invalid_usage, "the stream does not belong to a GPU that this process uses"};
  return found == gpu_ ? Status() : foreign("a stream", *found);
}

Status LocalGpu::check(const void* address) const {
  if (address == nullptr || gpus_->kind_of(address) != device::GpuMemory::device) return {};
  device::Gpu* const found = gpus_->of(address);
  return found == nullptr || found == gpu_ ? Status() : foreign("memory", *found);
}

Status LocalGpu::foreign(const char* what, const device::Gpu& other) const {
  return {
      Code::invalid_usage,
      fmt::format("a communicator uses the GPU that was current when it was created: rank {} uses {}, but "
                  "was called with {} of {}; expected {} of its own GPU, or that GPU to be made current "
                  "before the communicator is created",
                  rank_, gpu_->description(), what, other.description(), what)};
}

}  // namespace weir::core
