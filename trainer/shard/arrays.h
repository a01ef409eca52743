// SPDX-License-Identifier: Apache-2.0
/// What the engine does with arrays itself, where they live: in host memory, or in that of a GPU. All of it
/// is complete on return. On a GPU errors are kept by its Ops: ask for status().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/status.h"

namespace weir::trainer::gpu {
class GpuOps;
}  // namespace weir::trainer::gpu

namespace weir::shard {

class Arrays {
 public:
  /// Null: host memory. `gpu` outlives this.
  explicit Arrays(trainer::gpu::GpuOps* gpu) : gpu_(gpu) {}
  trainer::gpu::GpuOps* gpu() const { return gpu_; }

  void clear(float* array, size_t count) const;
  void add(const float* addend, size_t count, float* sum) const;
  void scale(float factor, size_t count, float* values) const;
  void to_halves(const float* from, size_t count, uint16_t* to) const;
  void from_halves(const uint16_t* from, size_t count, float* to) const;
  void add_halves(const uint16_t* from, size_t count, float* sum) const;
  /// As square_blocks() of norm.h; the sums are in host memory.
  void square_blocks(std::span<const float> values, float* sums) const;
  /// Between the arrays' memory and the host's, either way.
  void copy(const void* from, size_t bytes, void* to) const;
  Status status() const;

 private:
  trainer::gpu::GpuOps* gpu_;
};

}  // namespace weir::shard
