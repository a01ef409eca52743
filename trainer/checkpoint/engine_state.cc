// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/engine_state.h"

#include "trainer/checkpoint/local_loader.h"

namespace weir::checkpoint {
namespace {

Contents contents_of(const shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                     const WholeModel& whole) {
  Contents contents;
  contents.units = whole.units.empty() ? engine.units() : whole.units;
  contents.arrays.emplace_back("parameters");
  for (const ShardArray& array : arrays) contents.arrays.push_back(array.name);
  return contents;
}

/// Whether this rank has the array, and whether it saves it. Array 0 holds the engine's parameters.
bool has(std::span<const ShardArray> arrays, size_t array) {
  return array == 0 || !arrays[array - 1].units.empty();
}
bool saves(std::span<const ShardArray> arrays, size_t array, const WholeModel& whole) {
  return array == 0 ? whole.saved : has(arrays, array) && arrays[array - 1].saved;
}

std::span<float> values_of(shard::ShardEngine& engine, std::span<const ShardArray> arrays, size_t array,
                           int unit) {
  return array == 0 ? engine.shard(unit) : arrays[array - 1].units[unit];
}

}  // namespace

Status start_saving(Saver& saver, shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                    uint64_t step, std::vector<uint64_t> words, const WholeModel& whole) {
  Contents contents = contents_of(engine, arrays, whole);
  contents.step = step;
  contents.words = std::move(words);
  std::vector<Part> parts;
  for (int unit = 0; unit < static_cast<int>(engine.units().size()); ++unit) {
    const size_t begin = engine.shard_range(unit).first;
    for (const shard::ContiguousRange& own : stretches_in(engine.units()[unit], engine.piece_range(unit)))
      for (size_t array = 0; own.counts && array < contents.arrays.size(); ++array) {
        if (!saves(arrays, array, whole)) continue;
        parts.push_back({whole.first + static_cast<uint32_t>(unit), static_cast<uint32_t>(array), own.whole,
                         values_of(engine, arrays, array, unit).subspan(own.first - begin, own.count)});
      }
  }
  WEIR_TRY(saver.start(contents, std::move(parts), engine.arrays()));
  return engine.arrays().status();
}

uint64_t bytes_to_save(const shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                       const WholeModel& whole) {
  uint64_t saved = 0;
  for (size_t array = 0; array <= arrays.size(); ++array) saved += saves(arrays, array, whole) ? 1 : 0;
  uint64_t elements = 0;
  for (int unit = 0; unit < static_cast<int>(engine.units().size()); ++unit)
    for (const shard::ContiguousRange& own : stretches_in(engine.units()[unit], engine.piece_range(unit)))
      if (own.counts) elements += own.count;
  return elements * saved * sizeof(float);
}

Result<std::optional<Loaded>> load_latest(ncclComm_t world, const std::string& folder,
                                          shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                                          const WholeModel& whole, bool is_local) {
  const Contents expected = contents_of(engine, arrays, whole);
  // If the arrays are in a GPU's memory, files are first read into host memory.
  const bool elsewhere = engine.arrays().gpu() != nullptr;
  std::vector<ArrayRequest> requests;
  std::vector<std::span<float>> destinations;
  for (int unit = 0; unit < static_cast<int>(engine.units().size()); ++unit) {
    const shard::Range range = engine.shard_range(unit);
    for (const shard::ContiguousRange& own : stretches_in(engine.units()[unit], range))
      for (size_t array = 0; array < expected.arrays.size(); ++array) {
        if (!has(arrays, array)) continue;
        const auto values =
            values_of(engine, arrays, array, unit).subspan(own.first - range.first, own.count);
        destinations.push_back(values);
        requests.push_back(
            {whole.first + static_cast<uint32_t>(unit), static_cast<uint32_t>(array), own.whole, values});
      }
  }
  std::vector<std::vector<float>> read(elsewhere ? requests.size() : 0);
  for (size_t at = 0; at < read.size(); ++at) {
    read[at].resize(requests[at].values.size());
    requests[at].values = read[at];
  }
  auto loaded = is_local ? load_latest_local(world, folder, expected, requests)
                         : load_latest(world, folder, expected, requests);
  if (!loaded.ok() || !loaded->has_value()) return loaded;
  for (size_t at = 0; at < read.size(); ++at)
    engine.arrays().copy(read[at].data(), destinations[at].size_bytes(), destinations[at].data());
  WEIR_TRY(engine.arrays().status());
  return loaded;
}

}  // namespace weir::checkpoint
