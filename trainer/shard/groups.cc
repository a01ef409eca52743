#include "trainer/shard/groups.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "trainer/shard/calls.h"

namespace weir::shard {
namespace {

/// FNV-1a: equal for equal texts on all ranks, which std::hash does not promise.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

uint64_t own_host() {
  if (const char* given = std::getenv("NCCL_HOSTID"); given != nullptr && *given != 0) return hash_of(given);
  char name[256] = {};
  (void)gethostname(name, sizeof name - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return hash_of(name + boot);
}

/// For every rank the first rank of its host.
Result<std::vector<int>> groups_by_host(ncclComm_t world, int rank, int ranks) {
  std::vector<uint64_t> hosts(ranks);
  hosts[rank] = own_host();
  WEIR_TRY(
      checked(ncclAllGather(&hosts[rank], hosts.data(), 1, ncclUint64, world, nullptr), "finding hosts"));
  std::vector<int> groups;
  for (uint64_t host : hosts)
    groups.push_back(static_cast<int>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin()));
  return groups;
}

}  // namespace

Result<std::vector<Place>> make_places(ncclComm_t world, Strategy strategy, int shard_ranks) {
  int rank = 0, ranks = 0;
  WEIR_TRY(checked(ncclCommUserRank(world, &rank), "places"));
  WEIR_TRY(checked(ncclCommCount(world, &ranks), "places"));
  if (strategy == Strategy::hybrid_shard && shard_ranks == 0) {
    Result<std::vector<int>> groups = groups_by_host(world, rank, ranks);
    return groups.ok() ? places_of(*groups) : groups.status();
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
