// SPDX-License-Identifier: Apache-2.0
/// What of a sharded engine and its optimiser goes into checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/checkpoint/loader.h"
#include "trainer/checkpoint/saver.h"
#include "trainer/shard/engine.h"

namespace weir::checkpoint {

/// What an optimiser keeps for each parameter, such as a moment: by unit, as long as Engine::shard().
struct ShardArray {
  std::string name;
  std::vector<std::span<float>> units;
};

/// The whole units of a model of which an engine trains some in a row, from `first` on, or slices of them
/// (shard::Stretch). Checkpoints are those of the whole model, however it is cut.
struct WholeModel {
  std::vector<shard::Unit> units;  ///< empty: the engine's are all
  uint32_t first = 0;
};

/// Starts to save the engine's parameters (array "parameters") and `arrays`. Collective; between passes.
/// Replicas of a shard write a piece of it each.
Status start_saving(Saver& saver, shard::Engine& engine, std::span<const ShardArray> arrays, uint64_t step,
                    std::vector<uint64_t> words, const WholeModel& whole = {});

/// Loads the newest checkpoint that can be used into the engine and `arrays`, whatever world and strategy
/// wrote it. Collective; between passes. As load_latest().
Result<std::optional<Loaded>> load_latest(ncclComm_t world, const std::string& folder, shard::Engine& engine,
                                          std::span<const ShardArray> arrays, const WholeModel& whole = {});

}  // namespace weir::checkpoint
