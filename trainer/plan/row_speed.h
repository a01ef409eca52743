// SPDX-License-Identifier: Apache-2.0
/// The speed of a device by the rows of its products (Cluster::compute and half_rows), from measured times.
///
/// Thread safety: pure functions.
/// Tests: tests/trainer/plan_row_speed_test.cc
#pragma once

namespace weir::trainer::plan {

/// What products with this number of rows took.
struct RowSample {
  double rows = 0;
  double seconds = 0;
};

struct RowSpeed {
  double compute = 0;    ///< FLOP/s with many rows
  double half_rows = 0;  ///< rows with which half of that is achieved
};

/// The line seconds = (rows + half_rows) x flops / compute through both samples; `flops`: FLOP per row.
/// Noise and caches can make few rows cheaper than their part of the many, or as expensive as all of them.
/// Therefore half_rows is limited to 0 .. many.rows: at most twice the speed of `many` is expected of more
/// rows. The time of `many` is on the line in any case.
/// REQUIRES: 0 < few.rows < many.rows; positive seconds and FLOP.
RowSpeed row_speed(const RowSample& few, const RowSample& many, double flops);

}  // namespace weir::trainer::plan
