// SPDX-License-Identifier: Apache-2.0

#include "trainer/parallel/team.h"

#include <vector>

#include "trainer/shard/groups.h"

namespace weir::parallel {

using shard::Communicator;

Result<std::unique_ptr<Team>> Team::join(ncclComm_t world, const Shape& shape, shard::GpuOps* gpu) {
  auto record = shard::PassRecord::make(gpu);
  WEIR_TRY(record.status());
  std::unique_ptr<Team> team(new Team(world, shape, std::move(*record)));
  if (shape.parts() != 1) WEIR_TRY(team->meet(gpu));
  return team;
}

Status Team::meet(shard::GpuOps* gpu) {
  int rank = 0;
  WEIR_TRY(shard::checked(ncclCommUserRank(world_, &rank), "dividing the model"));
  const auto places = shard::places_of_ranks(world_);
  WEIR_TRY(places.status());
  const auto grid = make_grid(*places, shape_);
  WEIR_TRY(grid.status());
  grid_position_ = grid->grid_positions[static_cast<size_t>(rank)];
  across_leaves_ = grid->across_leaves;

  const int part = grid_position_.stage * shape_.slices + grid_position_.slice;
  auto data = Communicator::split(world_, part, grid_position_.replica, "part");
  WEIR_TRY(data.status());
  data_ = std::move(*data);
  auto replica = Communicator::split(world_, grid_position_.replica, part, "replica");
  WEIR_TRY(replica.status());
  replica_ = std::move(*replica);
  auto chain = Communicator::split(replica_.handle(), grid_position_.slice, grid_position_.stage, "stages");
  WEIR_TRY(chain.status());
  WEIR_TRY(pipeline_.join(*chain, grid_position_.stage, shape_.stages, gpu));
  if (shape_.slices == 1) return {};
  auto slices = Communicator::split(replica_.handle(), grid_position_.stage, grid_position_.slice, "slices");
  WEIR_TRY(slices.status());
  slice_comm_ = std::move(*slices);
  slices_.emplace(slice_comm_.handle(), record_, gpu);
  return {};
}

Status Team::share_of_last(void* data, size_t bytes) {
  if (shape_.stages == 1) return {};
  const int root = (shape_.stages - 1) * shape_.slices;
  return shard::checked(ncclBroadcast(data, data, bytes, ncclChar, root, replica_.handle(), nullptr),
                        "receiving from the last stage");
}

void Team::abort() {
  pipeline_.abort();
  for (Communicator* comm : {&slice_comm_, &replica_, &data_}) comm->abort();
}

}  // namespace weir::parallel
