// SPDX-License-Identifier: Apache-2.0
/// The state of a model in training that a process carries from one set of ranks to another, in host memory:
/// what a checkpoint is, without files. Ranks that have no state, or another part of it, get theirs from
/// those that have it.
/// Tests: tests/trainer/live_state_test.cc
#pragma once

#include <nccl.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/checkpoint/loader.h"
#include "trainer/checkpoint/manifest.h"

namespace weir::checkpoint {

/// Consecutive elements of an array of a unit; numbers count in the whole unit.
struct Piece {
  uint32_t unit = 0;
  uint32_t array = 0;
  uint64_t first = 0;
  uint64_t count = 0;
};

struct LiveState {
  Contents contents;          ///< of the whole model; the same in all processes that have a part of it
  std::vector<Piece> pieces;  ///< those of this process
  std::vector<float> values;  ///< of the pieces, in their order
};

/// One transfer of load_from_peers().
struct Move {
  int from = 0;
  int to = 0;
  size_t request = 0;  ///< of rank `to`
  Piece piece;
};

/// For each array that is wanted, the number of the one that it begins with; SIZE_MAX: none, it stays as it
/// is. `complete[i]`: whether peers have all of found[i].
///
/// The arrays of groups with local steps are `name` for group 0 and `name.G` for group G. Group G goes on as
/// the G-th of those groups of which all arrays are complete, and further groups begin as copies of them.
/// Where there were no groups, "local_parameters" begins with "parameters". Pure. invalid_argument, with the
/// name, where peers lack elements of what is wanted.
Result<std::vector<size_t>> sources_of(std::span<const std::string> found, const std::vector<bool>& complete,
                                       std::span<const std::string> wanted);

/// Who sends what so that each rank gets what it wants; elements that a rank has itself stay with it (from ==
/// to), others come from the rank that has been given least to send. Indices: rank. Pure. invalid_argument if
/// elements are nowhere.
Result<std::vector<Move>> plan_moves(std::span<const std::vector<Piece>> held,
                                     std::span<const std::vector<Piece>> wanted);

/// The pieces of each rank; any numbers of them. Collective.
Result<std::vector<std::vector<Piece>>> gather_pieces(ncclComm_t world, std::span<const Piece> own);

/// Fills the requests of each rank from what the ranks of `world` have; `own` is null on ranks that have
/// nothing. Requests number the arrays as `expected` does, whose units the state must have. Collective; the
/// same answer on all ranks. False: parts are on no rank any more, or nobody has any; nothing was changed.
Result<bool> load_from_peers(ncclComm_t world, const LiveState* own, const Contents& expected,
                             std::span<const ArrayRequest> requests);

}  // namespace weir::checkpoint
