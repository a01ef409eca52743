// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/groups.h"

#include <fmt/format.h>

#include "trainer/shard/calls.h"

namespace weir::shard {

Result<std::vector<weirPlace_t>> places_of_ranks(ncclComm_t comm) {
  int ranks = 0;
  WEIR_TRY(checked(ncclCommCount(comm, &ranks), "places"));
  std::vector<weirPlace_t> places(static_cast<size_t>(ranks));
  WEIR_TRY(checked(weirCommPlaces(comm, places.data()), "places"));
  return places;
}

Result<std::vector<Place>> make_places(ncclComm_t world, Strategy strategy, int shard_ranks) {
  int ranks = 0;
  WEIR_TRY(checked(ncclCommCount(world, &ranks), "places"));
  if (strategy == Strategy::hpz) {
    auto groups = make_places(world, Strategy::hybrid_shard, shard_ranks);
    WEIR_TRY(groups.status());
    for (int rank = 0; rank < ranks; ++rank) {
      const Place in_group = (*groups)[static_cast<size_t>(rank)];
      (*groups)[static_cast<size_t>(rank)] = {rank,           ranks,          0, 1, in_group.replica,
                                              in_group.shard, in_group.shards};
    }
    return groups;
  }
  if (strategy == Strategy::hybrid_shard && shard_ranks == 0) {
    const auto found = places_of_ranks(world);
    WEIR_TRY(found.status());
    std::vector<int> groups;
    for (const weirPlace_t& place : *found) groups.push_back(place.host);
    return places_of(groups);
  }
  int size = ranks;
  if (strategy == Strategy::no_shard) size = 1;
  if (strategy == Strategy::hybrid_shard) size = shard_ranks;
  if (size < 1 || ranks % size != 0)
    return Status(
        Code::invalid_argument,
        fmt::format("{} ranks cannot share each copy of the parameters; expected a number that divides "
                    "the {} ranks of the world",
                    size, ranks));
  std::vector<int> groups(ranks);
  for (int each = 0; each < ranks; ++each) groups[each] = each / size;
  return places_of(groups);
}

}  // namespace weir::shard
