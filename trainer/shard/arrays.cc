// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/arrays.h"

#include <algorithm>
#include <cstring>

#include "trainer/math/bfloat16.h"
#include "trainer/math/gpu/gpu_ops.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/norm.h"

namespace weir::shard {
namespace {

trainer::Index index(size_t count) { return static_cast<trainer::Index>(count); }

void run(trainer::gpu::GpuOps& gpu, const trainer::RowCall& call) {
  gpu.run(call);
  gpu.finish();
}

}  // namespace

void Arrays::clear(float* array, size_t count) const {
  if (gpu_ == nullptr) {
    std::memset(array, 0, count * sizeof(float));
    return;
  }
  gpu_->clear(index(count), array);
  gpu_->finish();
}

void Arrays::add(const float* addend, size_t count, float* sum) const {
  if (gpu_ != nullptr) return run(*gpu_, trainer::Add{index(count), addend, sum});
  for (size_t at = 0; at < count; ++at) sum[at] += addend[at];
}

void Arrays::scale(float factor, size_t count, float* values) const {
  if (gpu_ != nullptr) return run(*gpu_, trainer::Scale{index(count), factor, values});
  for (size_t at = 0; at < count; ++at) values[at] *= factor;
}

void Arrays::to_halves(const float* from, size_t count, uint16_t* to) const {
  if (gpu_ != nullptr) return run(*gpu_, trainer::ToBfloat16{index(count), from, to});
  std::transform(from, from + count, to, trainer::to_bfloat16);
}

void Arrays::from_halves(const uint16_t* from, size_t count, float* to) const {
  if (gpu_ != nullptr) return run(*gpu_, trainer::FromBfloat16{index(count), from, to});
  std::transform(from, from + count, to, trainer::from_bfloat16);
}

void Arrays::add_halves(const uint16_t* from, size_t count, float* sum) const {
  if (gpu_ != nullptr) return run(*gpu_, trainer::AddBfloat16{index(count), from, sum});
  for (size_t at = 0; at < count; ++at) sum[at] += trainer::from_bfloat16(from[at]);
}

void Arrays::square_blocks(std::span<const float> values, float* sums) const {
  if (gpu_ == nullptr) return shard::square_blocks(values, sums);
  const size_t blocks = (values.size() + kNormBlock - 1) / kNormBlock;
  Result<Memory> there = Memory::allocate(blocks * sizeof(float), gpu_);
  if (!there.ok()) return gpu_->note(there.status());
  run(*gpu_, trainer::SquareBlocks{index(values.size()), values.data(), there->floats()});
  copy(there->data(), blocks * sizeof(float), sums);
}

void Arrays::copy(const void* from, size_t bytes, void* to) const {
  if (gpu_ == nullptr) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  gpu_->note(gpu_->gpu().copy(to, from, bytes, gpu_->stream()));
  gpu_->finish();
}

Status Arrays::status() const { return gpu_ != nullptr ? gpu_->status() : Status(); }

}  // namespace weir::shard
