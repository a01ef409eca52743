// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weir::shard {
namespace {

constexpr size_t kCacheLine = 16;  // floats per cache line: the pieces of two ranks share none

size_t rounded_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

Range clipped(size_t first, size_t end, size_t parameters) {
  first = std::min(first, parameters);
  return Range{first, std::min(std::max(end, first), parameters) - first};
}

}  // namespace

const char* name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::no_shard: return "NO_SHARD";
    case Strategy::shard_grad_op: return "SHARD_GRAD_OP";
    case Strategy::full_shard: return "FULL_SHARD";
    case Strategy::hybrid_shard: return "HYBRID_SHARD";
    case Strategy::hpz: return "HPZ";
  }
  return "";
}

std::vector<ContiguousRange> stretches_in(const Unit& unit, const Range& range) {
  const std::vector<ContiguousRange> whole = {{0, 0, unit.parameters, true}};
  std::vector<ContiguousRange> found;
  for (const ContiguousRange& stretch : unit.stretches.empty() ? whole : unit.stretches) {
    const size_t first = std::max(stretch.first, range.first);
    const size_t end = std::min(stretch.first + stretch.count, range.end());
    if (first < end)
      found.push_back({first, stretch.whole + (first - stretch.first), end - first, stretch.counts});
  }
  return found;
}

Cut::Cut(size_t parameters, int shards, int replicas)
    : parameters_(parameters),
      shards_(shards),
      shard_length_(rounded_up((parameters + shards - 1) / shards, kNormBlock)),
      piece_length_(rounded_up((shard_length_ + replicas - 1) / replicas, kCacheLine)) {}

Range Cut::shard(int shard) const {
  return clipped(shard * shard_length_, (shard + 1) * shard_length_, parameters_);
}

Range Cut::piece(const Place& place) const {
  const size_t start = place.shard * shard_length_;
  const size_t end = std::min(start + (place.replica + 1) * piece_length_, start + shard_length_);
  return clipped(start + place.replica * piece_length_, end, parameters_);
}

Result<std::vector<Place>> places_of(const std::vector<int>& group_of) {
  std::map<int, int> replica_of, size_of;  // key: name of the group
  for (int group : group_of) {
    replica_of.emplace(group, static_cast<int>(replica_of.size()));
    ++size_of[group];
  }
  const int shards = size_of.empty() ? 0 : size_of[group_of[0]];
  std::map<int, int> taken;
  std::vector<Place> places;
  for (size_t rank = 0; rank < group_of.size(); ++rank) {
    const int group = group_of[rank];
    if (size_of[group] != shards)
      return Status(
          Code::invalid_argument,
          fmt::format("the group of rank 0 has {} ranks and that of rank {} has {}; HYBRID_SHARD needs "
                      "groups of one size; expected an explicit number of ranks that share a copy",
                      shards, rank, size_of[group]));
    places.push_back(Place{taken[group]++, shards, replica_of[group], static_cast<int>(replica_of.size())});
  }
  return places;
}

}  // namespace weir::shard
