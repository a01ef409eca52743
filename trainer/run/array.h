// SPDX-License-Identifier: Apache-2.0
/// An array of floats in the memory in which a rank computes: host memory or its GPU's. Zeroed; owns its
/// memory.
#pragma once

#include "trainer/math/buffer.h"
#include "trainer/shard/calls.h"

namespace weir::trainer {

class Array {
 public:
  Array() = default;
  /// `gpu` outlives the array; null: host memory. Errors: those of the GPU's driver; std::bad_alloc on the
  /// host.
  static Result<Array> make(Index count, gpu::GpuOps* gpu) {
    Array array;
    array.size_ = count;
    if (gpu == nullptr) {
      array.host_ = Buffer(count);
      return array;
    }
    Result<shard::Memory> memory = shard::Memory::allocate(static_cast<size_t>(count) * sizeof(float), gpu);
    WEIR_TRY(memory.status());
    array.there_ = std::move(*memory);
    return array;
  }

  float* data() { return there_.data() != nullptr ? there_.floats() : host_.data(); }
  Index size() const { return size_; }

 private:
  Buffer host_;
  shard::Memory there_;
  Index size_ = 0;
};

}  // namespace weir::trainer
