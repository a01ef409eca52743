// SPDX-License-Identifier: Apache-2.0
/// The state of a sharded engine and its optimiser that goes into checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/checkpoint/live_state.h"
#include "trainer/checkpoint/loader.h"
#include "trainer/checkpoint/saver.h"
#include "trainer/shard/engine.h"

namespace weir::checkpoint {

/// State that an optimiser keeps per parameter, such as a moment: one array per unit, as long as
/// ShardEngine::shard().
struct ShardArray {
  std::string name;
  std::vector<std::span<float>> units;  ///< empty: other engines of the world have this array
  bool saved = true;                    ///< by this engine; false: an engine of other ranks saves the same
  /// Index: unit. Elements of the shard, numbered as in the unit, that units[] holds one after the other;
  /// empty: it holds the whole shard. The other elements are neither saved nor loaded.
  std::vector<std::vector<shard::Range>> parts{};
};

/// The units of the whole model. The engine trains consecutive ones of them, from `first` on, or slices of
/// them (shard::ContiguousRange). A checkpoint always describes the whole model, however it is cut.
struct WholeModel {
  std::vector<shard::Unit> units;  ///< empty: the engine has all units of the model
  uint32_t first = 0;
  bool saved = true;  ///< the parameters, by this engine; as ShardArray::saved
};

/// Starts to save the engine's parameters (array "parameters") and `arrays`. Collective; to be called between
/// passes. Replicas of a shard write one piece of it each.
Status start_saving(Saver& saver, shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                    uint64_t step, std::vector<uint64_t> words, const WholeModel& whole = {});

/// Bytes of the values that start_saving() would let this rank write.
uint64_t bytes_to_save(const shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                       const WholeModel& whole = {});

/// Loads the newest usable checkpoint into the engine and `arrays`, whatever world and strategy wrote it. It
/// may contain more arrays. Collective; to be called between passes. `is_local`: each host has files of its
/// own. Results and errors are those of load_latest() and load_latest_local().
Result<std::optional<Loaded>> load_latest(ncclComm_t world, const std::string& folder,
                                          shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                                          const WholeModel& whole = {}, bool is_local = false);

/// A copy of this rank's whole shards of all arrays that it has. Not collective: calls between ranks may have
/// failed before.
Result<LiveState> copy_state(shard::ShardEngine& engine, std::span<const ShardArray> arrays, uint64_t step,
                             const WholeModel& whole = {});
/// Loads what the ranks of `world` have together into the engine and `arrays`, as load_from_peers().
Result<bool> load_live(ncclComm_t world, const LiveState* own, shard::ShardEngine& engine,
                       std::span<const ShardArray> arrays, const WholeModel& whole = {});

}  // namespace weir::checkpoint
