// SPDX-License-Identifier: Apache-2.0
/// This rank's part of a model, and the communicators with the ranks that have the other parts.
#pragma once

#include <nccl.h>

#include <memory>
#include <optional>

#include "src/base/status.h"
#include "trainer/parallel/grid.h"
#include "trainer/parallel/pipeline.h"
#include "trainer/parallel/slice_sums.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/record.h"

namespace weir::parallel {

/// Used by one thread at a time. If the model is not cut, no communicators are made, and data() is the world.
class Team {
 public:
  /// Collective over `world`, which outlives this, as does `gpu`; errors are those of make_grid().
  static Result<std::unique_ptr<Team>> join(ncclComm_t world, const Shape& shape,
                                            shard::GpuOps* gpu = nullptr);

  const Shape& shape() const { return shape_; }
  const GridPosition& grid_position() const { return grid_position_; }
  /// Number of replicas whose hosts are on more than one leaf.
  int across_leaves() const { return across_leaves_; }
  bool is_first() const { return grid_position_.stage == 0; }
  bool is_last() const { return grid_position_.stage == shape_.stages - 1; }

  /// The ranks that have the same part, in the order of their replicas.
  ncclComm_t data() const { return shape_.parts() == 1 ? world_ : data_.handle(); }
  /// The ranks of the replica, slices of the first stage first; null if it is only this rank.
  ncclComm_t replica() const { return replica_.handle(); }
  /// The stages of the replica for this slice.
  Pipeline& pipeline() { return pipeline_; }
  /// Sums over slices; null if there is one slice.
  SliceSums* slices() { return slices_ ? &*slices_ : nullptr; }

  /// Resets the record; to be called before each pass over the data.
  Status begin() { return record_.begin(); }
  /// Bytes that were moved between parts, and their times.
  const shard::PassRecord& record() const { return record_; }
  /// Distributes the bytes of the last stage's array to all ranks of the replica.
  Status share_of_last(void* data, size_t bytes);
  /// Ends calls in flight with an error, here and soon on other ranks.
  void abort();

 private:
  Team(ncclComm_t world, const Shape& shape, shard::PassRecord record)
      : world_(world), shape_(shape), record_(std::move(record)), pipeline_(record_) {}
  Status meet(shard::GpuOps* gpu);

  ncclComm_t world_;
  Shape shape_;
  GridPosition grid_position_;
  int across_leaves_ = 0;
  shard::PassRecord record_;
  shard::Communicator data_, replica_, slice_comm_;
  Pipeline pipeline_;
  std::optional<SliceSums> slices_;
};

}  // namespace weir::parallel
