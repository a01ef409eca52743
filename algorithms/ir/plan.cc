// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/plan.h"

namespace weir::ir {

std::string_view name(MoveWay way) {
  constexpr std::string_view kNames[kMoveWays] = {"any", "nvlink", "xgmi", "pcie", "net"};
  return kNames[static_cast<int>(way)];
}

int input_blocks(const Shape& shape, Rank rank) {
  if (rank >= shape.members()) return 0;
  switch (shape.kind) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::all_gather:
    case Collective::gather: return 1;
    case Collective::reduce_scatter:
    case Collective::all_to_all: return shape.members();
    case Collective::broadcast: return rank == shape.root ? 1 : 0;
    case Collective::scatter: return rank == shape.root ? shape.ranks : 0;
    case Collective::send_recv: return 0;
  }
  return 0;
}

int output_blocks(const Shape& shape, Rank rank) {
  if (rank >= shape.members()) return 0;
  switch (shape.kind) {
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce_scatter:
    case Collective::scatter: return 1;
    case Collective::all_gather:
    case Collective::all_to_all: return shape.members();
    case Collective::reduce: return rank == shape.root ? 1 : 0;
    case Collective::gather: return rank == shape.root ? shape.ranks : 0;
    case Collective::send_recv: return 0;
  }
  return 0;
}

}  // namespace weir::ir
