// SPDX-License-Identifier: Apache-2.0
/// Sums over the ranks that have the slices of the same units.
#pragma once

#include <nccl.h>

#include "trainer/model/unit.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/record.h"

namespace weir::parallel {

/// Used by one thread at a time.
class SliceSums final : public trainer::OtherSlices {
 public:
  /// `comm`, `record` and `gpu` outlive this. With a GPU, arrays are in its memory and sums run in order with
  /// its Ops.
  SliceSums(ncclComm_t comm, shard::PassRecord& record, shard::GpuOps* gpu)
      : comm_(comm), record_(record), gpu_(gpu) {}

  void sum(trainer::Index count, float* array) override;
  /// The first error, or success.
  const Status& status() const { return status_; }

 private:
  ncclComm_t comm_;
  shard::PassRecord& record_;
  shard::GpuOps* gpu_;
  Status status_;
};

}  // namespace weir::parallel
