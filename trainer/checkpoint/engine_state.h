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

/// Starts to save the engine's parameters (array "parameters") and `arrays`. Collective; between passes.
/// Replicas of a shard write a piece of it each.
Status start_saving(Saver& saver, shard::Engine& engine, std::span<const ShardArray> arrays, uint64_t step,
                    std::vector<uint64_t> words);

/// Loads the newest checkpoint that can be used into the engine and `arrays`, whatever world and strategy
/// wrote it. Collective; between passes. As load_latest().
Result<std::optional<Loaded>> load_latest(ncclComm_t world, const std::string& folder, shard::Engine& engine,
                                          std::span<const ShardArray> arrays);

}  // namespace weir::checkpoint
