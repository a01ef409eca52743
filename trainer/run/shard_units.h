// SPDX-License-Identifier: Apache-2.0
/// The units of a model as trainer/shard has them. Pure.
/// Tests: tests/trainer/run_test.cc
#pragma once

#include <string>
#include <vector>

#include "trainer/model/model.h"
#include "trainer/parallel/grid.h"
#include "trainer/shard/layout.h"

namespace weir::trainer {

/// The name of a unit in messages and files.
std::string name_of_unit(size_t at, size_t units);

/// The units of the whole model, or of the part of it in `range` of which this rank has a slice.
std::vector<shard::Unit> units_in(const Model& model, const parallel::UnitRange& range);

}  // namespace weir::trainer
