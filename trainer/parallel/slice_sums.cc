// SPDX-License-Identifier: Apache-2.0

#include "trainer/parallel/slice_sums.h"

#include "trainer/math/gpu/gpu_ops.h"

namespace weir::parallel {

void SliceSums::sum(trainer::Index count, float* array) {
  if (!status_.ok()) return;
  const uint64_t begin = shard::PassRecord::now_ns();
  const auto elements = static_cast<size_t>(count);
  cudaStream_t stream = gpu_ != nullptr ? static_cast<cudaStream_t>(gpu_->stream()) : nullptr;
  status_ = shard::checked(ncclAllReduce(array, array, elements, ncclFloat, ncclSum, comm_, stream),
                           "summing over slices");
  record_.counts.part_bytes += elements * sizeof(float);
  record_.waited(shard::Kind::sum, begin);
  if (gpu_ == nullptr) record_.add(shard::Kind::sum, begin);
}

}  // namespace weir::parallel
