// SPDX-License-Identifier: Apache-2.0
/// What all-gathers take between the ranks of a job, alone and beside computing, as planning needs it. All
/// functions are collective and give the same on all ranks: the slowest one counts.
/// Tests: tests/trainer/transfer_survey_test.cc
#pragma once

#include <functional>
#include <memory>

#include "trainer/math/gpu/gpu_ops.h"
#include "trainer/plan/contention.h"
#include "trainer/plan/links.h"
#include "trainer/run/world.h"

namespace weir::trainer {

/// What all-gathers took.
struct MeasuredLinks {
  double rate = 0;     ///< bytes/s
  double latency = 0;  ///< seconds per step
};

/// Rate and latency of rings over `ranks` ranks, from gathers of `floats` floats in all and of small ones.
Result<MeasuredLinks> link_of(ncclComm_t comm, int ranks, size_t floats, gpu::GpuOps* gpu);

/// `compute` computes until it is complete; gathers of `floats` floats in all go beside it. `wake` is the
/// mean of how long the thread of a stream takes until it begins what is queued.
Result<plan::Contention> measure_contention(ncclComm_t comm, int ranks, size_t floats,
                                            const std::function<void()>& compute, gpu::GpuOps* gpu);

/// A topology on which rings take what was measured: hosts with a switch inside and one NIC. Zeros: not
/// measured, because no such link is used.
Result<std::shared_ptr<plan::Links>> measured_topology(int hosts, int ranks_per_host,
                                                       const MeasuredLinks& inside,
                                                       const MeasuredLinks& between);

}  // namespace weir::trainer
