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
  for (const ShardArray& array : arrays) {
    contents.arrays.push_back(array.name);
    if (!array.parts.empty()) contents.partial.push_back(array.name);
  }
  return contents;
}

/// Whether this rank has the array, and whether it saves it. Array 0 holds the engine's parameters.
bool has(std::span<const ShardArray> arrays, size_t array) {
  return array == 0 || !arrays[array - 1].units.empty();
}
bool saves(std::span<const ShardArray> arrays, size_t array, const WholeModel& whole) {
  return array == 0 ? whole.saved : has(arrays, array) && arrays[array - 1].saved;
}

/// Elements of an array that are contiguous here and in the whole unit, from `whole` on there.
struct Held {
  uint64_t whole = 0;
  std::span<float> values;
};

/// What an array has of a stretch of the engine's unit.
std::vector<Held> held_in(shard::ShardEngine& engine, std::span<const ShardArray> arrays, size_t array,
                          int unit, const shard::ContiguousRange& stretch) {
  const std::span<float> all = array == 0 ? engine.shard(unit) : arrays[array - 1].units[unit];
  if (array == 0 || arrays[array - 1].parts.empty())
    return {{stretch.whole, all.subspan(stretch.first - engine.shard_range(unit).first, stretch.count)}};
  std::vector<Held> held;
  size_t before = 0;
  for (const shard::Range& part : arrays[array - 1].parts[unit]) {
    const size_t first = std::max(part.first, stretch.first);
    const size_t end = std::min(part.end(), stretch.first + stretch.count);
    if (first < end)
      held.push_back(
          {stretch.whole + (first - stretch.first), all.subspan(before + (first - part.first), end - first)});
    before += part.count;
  }
  return held;
}

}  // namespace

Status start_saving(Saver& saver, shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                    uint64_t step, std::vector<uint64_t> words, const WholeModel& whole) {
  Contents contents = contents_of(engine, arrays, whole);
  contents.step = step;
  contents.words = std::move(words);
  std::vector<Part> parts;
  for (int unit = 0; unit < static_cast<int>(engine.units().size()); ++unit) {
    for (const shard::ContiguousRange& own : stretches_in(engine.units()[unit], engine.piece_range(unit)))
      for (size_t array = 0; own.counts && array < contents.arrays.size(); ++array) {
        if (!saves(arrays, array, whole)) continue;
        for (const Held& held : held_in(engine, arrays, array, unit, own))
          parts.push_back({whole.first + static_cast<uint32_t>(unit), static_cast<uint32_t>(array),
                           held.whole, held.values});
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

namespace {

/// What this rank needs, and where it goes. If the arrays are in a GPU's memory, values first go to host
/// memory.
class Wanted {
 public:
  Wanted(shard::ShardEngine& engine, std::span<const ShardArray> arrays, const WholeModel& whole)
      : engine_(engine) {
    for (int unit = 0; unit < static_cast<int>(engine.units().size()); ++unit) {
      const shard::Range range = engine.shard_range(unit);
      for (const shard::ContiguousRange& own : stretches_in(engine.units()[unit], range))
        for (size_t array = 0; array <= arrays.size(); ++array) {
          if (!has(arrays, array)) continue;
          for (const Held& held : held_in(engine, arrays, array, unit, own)) {
            destinations_.push_back(held.values);
            requests_.push_back({whole.first + static_cast<uint32_t>(unit), static_cast<uint32_t>(array),
                                 held.whole, held.values});
          }
        }
    }
    if (engine.arrays().gpu() == nullptr) return;
    host_.resize(requests_.size());
    for (size_t at = 0; at < host_.size(); ++at) {
      host_[at].resize(requests_[at].values.size());
      engine.arrays().copy(destinations_[at].data(), destinations_[at].size_bytes(), host_[at].data());
      requests_[at].values = host_[at];
    }
  }

  /// Their values are those of the engine.
  std::span<const ArrayRequest> requests() const { return requests_; }
  /// Lets the engine have the values of the requests.
  Status deliver() const {
    for (size_t at = 0; at < host_.size(); ++at)
      engine_.arrays().copy(host_[at].data(), destinations_[at].size_bytes(), destinations_[at].data());
    return engine_.arrays().status();
  }

 private:
  shard::ShardEngine& engine_;
  std::vector<ArrayRequest> requests_;
  std::vector<std::span<float>> destinations_;
  std::vector<std::vector<float>> host_;  ///< index: request; empty: the arrays are in host memory
};

}  // namespace

Result<std::optional<Loaded>> load_latest(ncclComm_t world, const std::string& folder,
                                          shard::ShardEngine& engine, std::span<const ShardArray> arrays,
                                          const WholeModel& whole, bool is_local) {
  const Contents expected = contents_of(engine, arrays, whole);
  const Wanted wanted(engine, arrays, whole);
  auto loaded = is_local ? load_latest_local(world, folder, expected, wanted.requests())
                         : load_latest(world, folder, expected, wanted.requests());
  if (!loaded.ok() || !loaded->has_value()) return loaded;
  WEIR_TRY(wanted.deliver());
  return loaded;
}

Result<LiveState> copy_state(shard::ShardEngine& engine, std::span<const ShardArray> arrays, uint64_t step,
                             const WholeModel& whole) {
  LiveState state{contents_of(engine, arrays, whole), {}, {}};
  state.contents.step = step;
  const Wanted own(engine, arrays, whole);
  WEIR_TRY(engine.arrays().status());
  for (const ArrayRequest& request : own.requests()) {
    state.pieces.push_back({request.unit, request.array, request.first, request.values.size()});
    state.values.insert(state.values.end(), request.values.begin(), request.values.end());
  }
  return state;
}

Result<bool> load_live(ncclComm_t world, const LiveState* own, shard::ShardEngine& engine,
                       std::span<const ShardArray> arrays, const WholeModel& whole) {
  const Wanted wanted(engine, arrays, whole);
  const auto loaded = load_from_peers(world, own, contents_of(engine, arrays, whole), wanted.requests());
  if (!loaded.ok() || !*loaded) return loaded;
  WEIR_TRY(wanted.deliver());
  return true;
}

}  // namespace weir::checkpoint
