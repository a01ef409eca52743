// SPDX-License-Identifier: Apache-2.0
/// Simulates regular plans by their rounds, without writing their moves: a ring all-reduce over 1,200 ranks
/// has 2.9 million moves, but 2,398 rounds that are all equal.
///
/// A round consists of transfers that begin together; the next round begins when all have arrived. On uniform
/// links that is how a ring behaves. Elsewhere fast ranks run ahead as far as their slots allow, and the
/// transfers of several rounds share links, but the fullest link has the same bytes to carry: over random
/// orders of a leaf-spine network the two results are within 5% of each other.
///
/// Pure; the same arguments give the same bits.
/// Tests: tests/algorithms/sim_rounds_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/sim/simulate.h"
#include "src/base/status.h"

namespace weir::sim {

struct RoundTransfer {
  Rank src = 0;
  Rank dst = 0;
  double bytes = 0;
  uint32_t channel = 0;  ///< its path may differ from that of the pair's other channels
  ir::MoveWay way = ir::MoveWay::any;
  bool operator==(const RoundTransfer&) const = default;
};

struct Round {
  std::vector<RoundTransfer> transfers;
  int64_t times = 1;  ///< number of consecutive repetitions
};

/// All rounds in order. Equal rounds are simulated once; messages are not divided (Channels::slot_bytes is
/// ignored), and no link is idle long enough to fill a bucket (Channels::burst is ignored). `bytes` is for
/// algbw, and busbw is left 0. Errors: as plan_flows(), and a negative `times`.
Result<Prediction> simulate(std::span<const Round> rounds, double bytes, const Network& network,
                            FlowRoutes& routes, const Channels& channels);

/// The rounds of a ring in this order of ranks: all_reduce, all_gather or reduce_scatter of `bytes` (of the
/// full buffer). Several orders share the bytes evenly, one ring per order. REQUIRES: orders of equal length
/// >= 2.
std::vector<Round> ring_rounds(Collective kind, std::span<const std::vector<Rank>> orders, double bytes);

/// Groups the moves of a plan by the number of rounds that must precede them; equal adjacent rounds are
/// combined. Lanes and slots are ignored: if they delay the plan, it takes longer. REQUIRES: a plan that
/// ir::verify accepts.
std::vector<Round> rounds_of(const ir::Plan& plan, double bytes);

/// For each move the number of its round, from 0 (for local moves: the round in which they can be made, from
/// -1). Conditions as above.
std::vector<int32_t> round_numbers(const ir::Plan& plan);

}  // namespace weir::sim
