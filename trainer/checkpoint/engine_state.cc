#include "trainer/checkpoint/engine_state.h"

namespace weir::checkpoint {
namespace {

Contents contents_of(const shard::Engine& engine, std::span<const ShardArray> arrays) {
  Contents contents;
  contents.units = engine.units();
  contents.arrays.emplace_back("parameters");
  for (const ShardArray& array : arrays) contents.arrays.push_back(array.name);
  return contents;
}

/// Array 0 is the engine's.
std::span<float> values_of(shard::Engine& engine, std::span<const ShardArray> arrays, size_t array,
                           int unit) {
  return array == 0 ? engine.shard(unit) : arrays[array - 1].units[unit];
}

}  // namespace

Status start_saving(Saver& saver, shard::Engine& engine, std::span<const ShardArray> arrays, uint64_t step,
                    std::vector<uint64_t> words) {
  Contents contents = contents_of(engine, arrays);
  contents.step = step;
  contents.words = std::move(words);
  std::vector<Part> parts;
  for (int unit = 0; unit < static_cast<int>(contents.units.size()); ++unit) {
    const shard::Range piece = engine.piece_range(unit);
    if (piece.count == 0) continue;
    const size_t offset = piece.first - engine.shard_range(unit).first;
    for (size_t array = 0; array < contents.arrays.size(); ++array)
      parts.push_back({static_cast<uint32_t>(unit), static_cast<uint32_t>(array), piece.first,
                       values_of(engine, arrays, array, unit).subspan(offset, piece.count)});
  }
  return saver.start(contents, std::move(parts));
}

Result<std::optional<Loaded>> load_latest(ncclComm_t world, const std::string& folder, shard::Engine& engine,
                                          std::span<const ShardArray> arrays) {
  const Contents expected = contents_of(engine, arrays);
  std::vector<Want> wants;
  for (int unit = 0; unit < static_cast<int>(expected.units.size()); ++unit)
    for (size_t array = 0; array < expected.arrays.size(); ++array)
      wants.push_back({static_cast<uint32_t>(unit), static_cast<uint32_t>(array),
                       engine.shard_range(unit).first, values_of(engine, arrays, array, unit)});
  return load_latest(world, folder, expected, wants);
}

}  // namespace weir::checkpoint
