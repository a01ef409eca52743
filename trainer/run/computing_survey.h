// SPDX-License-Identifier: Apache-2.0
/// What computing takes on the ranks of a job, as planning needs it: a block, forward and backward, the loss
/// and the optimizer.
/// Tests: tests/trainer/run_test.cc
#pragma once

#include <nccl.h>

#include <memory>

#include "trainer/model/model.h"
#include "trainer/plan/cluster.h"
#include "trainer/run/array.h"
#include "trainer/run/settings.h"
#include "trainer/shard/arrays.h"

namespace weir::trainer {

/// One block of a model with its own arrays. It outlives neither the model nor the GPU's Ops.
class BlockRun {
 public:
  /// Of the size that `settings` give a micro-batch on `ranks` ranks, within limits.
  static Result<BlockRun> make(const Settings& settings, const Model& model, int ranks);

  static constexpr Index kFewSequences = 1;
  Index sequences() const { return batch_.sequences; }
  double rows(Index sequences) const { return static_cast<double>(sequences * batch_.length); }
  size_t parameters() const { return static_cast<size_t>(parameters_.size()); }
  /// Runs forward and backward for so many of its sequences; complete on return.
  void compute(Ops& ops, Index sequences);
  /// What a step does with the parameters: their gradients are scaled and squared, and AdamW updates them;
  /// complete on return. They keep their magnitude, as the rate is 0.
  void update(Ops& ops);

 private:
  BlockRun(const Unit& unit, Index width, Batch batch, gpu::GpuOps* gpu);

  const Unit& unit_;
  Index width_;
  Batch batch_;
  shard::Arrays where_;
  std::vector<float> squares_;
  Array parameters_, gradients_, mean_, variance_, input_, output_, gradient_, saved_, scratch_;
};

/// Writes compute, peak, half_rows, half_width, memory_rate, alone and update of the cluster, whose shape is
/// there already: medians of turns on all ranks at once, of the slowest rank. half_width is what a slice of
/// two takes, and 0 if the model cannot be cut, or not inside a host; `alone` compares with the first rank of
/// each host, `is_first`, computing while the others wait. Collective.
Status measure_computing(ncclComm_t comm, const Settings& settings, const Model& model, bool is_first,
                         BlockRun& block, Ops& ops, plan::Cluster& cluster);

}  // namespace weir::trainer
