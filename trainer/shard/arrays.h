// SPDX-License-Identifier: Apache-2.0
/// The engine's own operations on arrays in host memory or in a GPU's memory. All are complete on return. On
/// a GPU the Ops keep errors: check status().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/status.h"

namespace weir::trainer::gpu {
class GpuOps;
}  // namespace weir::trainer::gpu

namespace weir::shard {

class Arrays {
 public:
  /// `gpu` outlives this; null: host memory.
  explicit Arrays(trainer::gpu::GpuOps* gpu) : gpu_(gpu) {}
  trainer::gpu::GpuOps* gpu() const { return gpu_; }

  void clear(float* array, size_t count) const;
  void add(const float* addend, size_t count, float* sum) const;
  void scale(float factor, size_t count, float* values) const;
  void to_halves(const float* from, size_t count, uint16_t* to) const;
  void from_halves(const uint16_t* from, size_t count, float* to) const;
  void add_halves(const uint16_t* from, size_t count, float* sum) const;
  /// As square_blocks() in norm.h; the sums are in host memory.
  void square_blocks(std::span<const float> values, float* sums) const;
  /// Copies between the arrays' memory and host memory, in either direction.
  void copy(const void* from, size_t bytes, void* to) const;
  Status status() const;

 private:
  trainer::gpu::GpuOps* gpu_;
};

}  // namespace weir::shard
