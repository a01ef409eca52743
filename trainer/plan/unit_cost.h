// SPDX-License-Identifier: Apache-2.0
/// Seconds that computing takes on one rank: the products of a unit, and what moves memory only (the loss and
/// the look-up of tokens).
///
/// Thread safety: pure functions.
/// Tests: tests/trainer/plan_unit_cost_test.cc
#pragma once

#include "trainer/plan/predict.h"

namespace weir::trainer::plan {

struct UnitCost {
  double forward = 0;
  double backward = 0;  ///< including recomputation

  double total() const { return forward + backward; }
};

/// One micro-batch of `job` in one unit, or in one slice of it. Slices are narrower, at the speed of their
/// width, and have all of a unit that is not sliced (Unit::whole).
UnitCost unit_cost(const Model& model, const Cluster& cluster, const Job& job, const Unit& unit);

/// What the same unit took whole and as one of some slices, with the same rows.
struct SliceSample {
  double whole_seconds = 0;
  double slice_seconds = 0;
  int slices = 2;
};

/// The width at which half of the speed of wide products is reached (Cluster::half_width), so that of a model
/// of `width` both times are on the line seconds = (width of a slice + half_width) x constant. 0 if slices
/// are as fast as the whole; at most 9 times the width, where slices take 0.9 of the whole's time and more.
/// REQUIRES: positive seconds, at least 2 slices.
double half_width_of(const SliceSample& sample, double width);

}  // namespace weir::trainer::plan
