// SPDX-License-Identifier: Apache-2.0
/// Which rank has which part of a model that is cut into pipeline stages and tensor-parallel slices, and
/// which ranks have the same part. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "src/base/status.h"
#include "weir/places.h"

namespace weir::parallel {

/// Into how many parts a model is cut.
struct Shape {
  int stages = 1;
  int slices = 1;

  int parts() const { return stages * slices; }
};

/// A rank's position. The ranks of a replica hold the whole model together; ranks with the same stage and
/// slice share parameters by data parallelism.
struct GridPosition {
  int replica = 0;
  int stage = 0;
  int slice = 0;

  bool operator==(const GridPosition&) const = default;
};

struct Grid {
  std::vector<GridPosition> grid_positions;  ///< index: rank
  int across_leaves = 0;                     ///< number of replicas whose hosts are on more than one leaf
};

/// The slices of a stage, which communicate most, are on one host; the stages of a replica are on hosts of
/// one leaf as far as there are enough ranks. Replicas are numbered in the order of their lowest ranks.
/// invalid_argument if the ranks of a host cannot be divided into groups of slices, or all ranks cannot be
/// divided into replicas.
Result<Grid> make_grid(const std::vector<weirPlace_t>& places, const Shape& shape);

/// Units [first, end).
struct UnitRange {
  size_t first = 0;
  size_t end = 0;
  size_t count() const { return end - first; }

  bool operator==(const UnitRange&) const = default;
};

/// Contiguous, non-empty runs of units, one per stage, such that the costliest run costs as little as
/// possible. invalid_argument if there are more stages than units.
Result<std::vector<UnitRange>> balance(const std::vector<double>& costs, int stages);

}  // namespace weir::parallel
