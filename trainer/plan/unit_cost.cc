// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/unit_cost.h"

#include <algorithm>

namespace weir::trainer::plan {
namespace {

constexpr double kMostHalfWidth = 9;  ///< times the width

/// Seconds in which a rank reads and writes so many elements.
double moving_seconds(const Cluster& cluster, double elements) {
  return cluster.memory_rate > 0 ? elements * cluster.precision.activation / cluster.memory_rate : 0;
}

}  // namespace

UnitCost unit_cost(const Model& model, const Cluster& cluster, const Job& job, const Unit& unit) {
  const int slices = unit.whole ? 1 : job.parts.tensor;
  const double tokens = job.micro_batch * model.sequence;
  const double flops = slices * cluster.achieved(model.width / slices, tokens) * job.speed;
  const double forward = forward_flops(model, unit);
  double again = 0;
  if (job.recompute == Recompute::full) again = forward;
  if (job.recompute == Recompute::selective) again = attention_flops(model, unit);
  return {tokens * (forward / flops + moving_seconds(cluster, unit.moved.forward)),
          tokens * ((2 * forward + again) / flops + moving_seconds(cluster, unit.moved.backward))};
}

double half_width_of(const SliceSample& sample, double width) {
  // slices x slice / whole = (width + slices x half) / (width + half)
  const double slices = sample.slices;
  const double slower = slices * sample.slice_seconds / sample.whole_seconds;
  if (slower <= 1) return 0;
  const double most = kMostHalfWidth * width;
  return slower < slices ? std::min(width * (slower - 1) / (slices - slower), most) : most;
}

}  // namespace weir::trainer::plan
