// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/world.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "trainer/shard/calls.h"
#include "weir/launched.h"

namespace weir::trainer {

Result<World> World::join(int order) {
  const Launched launched =
      find_launched([](const char* name) { return std::getenv(name); }).value_or(Launched());
  if (!launched.wrong.empty()) return Status(Code::invalid_argument, launched.wrong);
  if (launched.size > 1 && std::getenv("NCCL_COMM_ID") == nullptr)
    return Status(
        Code::invalid_argument,
        fmt::format("rank {} of {} has no NCCL_COMM_ID; expected \"host:port\" of the first rank, the same "
                    "for all (weir run sets it, mpirun passes it on with -x NCCL_COMM_ID)",
                    launched.rank, launched.size));
  ncclUniqueId id;
  WEIR_TRY(shard::checked(ncclGetUniqueId(&id), "making an id"));
  ncclComm_t comm = nullptr;
  weirConfig_t config = weirConfig();
  config.order = order;
  WEIR_TRY(shard::checked(ncclCommInitRankConfig(&comm, launched.size, id, launched.rank, &config.nccl),
                          "joining the ranks"));
  return World(comm, launched.rank, launched.size);
}

Result<std::string> World::order_of_sums() const {
  int order = weirOrderUnset;
  WEIR_TRY(shard::checked(weirCommOrder(comm_, &order), "the order of sums"));
  return std::string(order == weirOrderRanks ? "ranks" : order == weirOrderAny ? "any" : "run");
}

World::~World() {
  if (comm_ != nullptr) (void)ncclCommDestroy(comm_);
}

}  // namespace weir::trainer
