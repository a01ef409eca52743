// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/world.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "trainer/shard/calls.h"
#include "weir/launched.h"
#include "weir/unique_id.h"

namespace weir::trainer {

namespace {

Result<ncclComm_t> connect_ranks(const ncclUniqueId& id, int rank, int ranks, int order) {
  ncclComm_t comm = nullptr;
  weirConfig_t config = weirConfig();
  config.order = order;
  WEIR_TRY(shard::checked(ncclCommInitRankConfig(&comm, ranks, id, rank, &config.nccl), "joining the ranks"));
  return comm;
}

}  // namespace

Result<World> World::join(int order, int spares) {
  const Launched launched =
      find_launched([](const char* name) { return std::getenv(name); }).value_or(Launched());
  if (!launched.wrong.empty()) return Status(Code::invalid_argument, launched.wrong);
  if (launched.size > 1 && std::getenv("NCCL_COMM_ID") == nullptr)
    return Status(
        Code::invalid_argument,
        fmt::format("rank {} of {} has no NCCL_COMM_ID; expected \"host:port\" of the first rank, the same "
                    "for all (weir run sets it, mpirun passes it on with -x NCCL_COMM_ID)",
                    launched.rank, launched.size));
  const int ranks = launched.size - spares;
  if (ranks < 1)
    return Status(Code::invalid_argument,
                  fmt::format("--spares is {}, but {} processes were started; expected more than spares",
                              spares, launched.size));
  if (launched.rank >= ranks) return alone(order);
  ncclUniqueId id;
  WEIR_TRY(shard::checked(ncclGetUniqueId(&id), "making an id"));
  const auto comm = connect_ranks(id, launched.rank, ranks, order);
  WEIR_TRY(comm.status());
  World world(*comm, launched.rank, ranks, order);
  if (spares > 0) world.target_ = ranks;
  return world;
}

Result<World> World::alone(int order) {
  ncclUniqueId id;
  WEIR_TRY(shard::checked(weirGetUniqueIdAt(nullptr, &id), "making an id"));
  const auto comm = connect_ranks(id, 0, 1, order);
  WEIR_TRY(comm.status());
  World world(*comm, 0, 1, order);
  world.is_outside_ = true;
  return world;
}

Result<std::string> World::order_of_sums() const {
  int order = weirOrderUnset;
  WEIR_TRY(shard::checked(weirCommOrder(comm_, &order), "the order of sums"));
  return std::string(order == weirOrderRanks ? "ranks" : order == weirOrderAny ? "any" : "run");
}

World::~World() {
  listener_.reset();
  if (comm_ != nullptr) (void)ncclCommDestroy(comm_);
}

}  // namespace weir::trainer
