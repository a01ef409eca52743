// SPDX-License-Identifier: Apache-2.0
/// Which rank has which part of a model that is cut into stages (of a pipeline) and slices (of tensors), and
/// which ranks have the same part. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "weir/places.h"
#include "weir/status.h"

namespace weir::parallel {

/// How often a model is cut.
struct Shape {
  int stages = 1;
  int slices = 1;

  int parts() const { return stages * slices; }
};

/// Where a rank is. Ranks of a replica have the whole model between them; ranks with the same stage and slice
/// share parameters as data parallelism has it.
struct GridPosition {
  int replica = 0;
  int stage = 0;
  int slice = 0;

  bool operator==(const GridPosition&) const = default;
};

struct Grid {
  std::vector<GridPosition> grid_positions;  ///< by rank
  int across_leaves = 0;                     ///< replicas that are not within the hosts of one leaf
};

/// Slices of a stage, which talk most, are on one host; the stages of a replica on hosts of one leaf as far
/// as there are enough ranks there. Replicas count in the order of their lowest ranks. invalid_argument where
/// the ranks of a host do not make whole groups of slices, or all of them do not make whole replicas.
Result<Grid> make_grid(const std::vector<weirPlace_t>& places, const Shape& shape);

/// Units [first, end).
struct UnitRange {
  size_t first = 0;
  size_t end = 0;
  size_t count() const { return end - first; }

  bool operator==(const UnitRange&) const = default;
};

/// Contiguous runs of units, one for each stage and none empty, of which the costliest costs as little as
/// can be. invalid_argument for more stages than units.
Result<std::vector<UnitRange>> balance(const std::vector<double>& costs, int stages);

}  // namespace weir::parallel
