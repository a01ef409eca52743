// SPDX-License-Identifier: Apache-2.0
/// Regular plans by their rounds, without writing their moves down: a ring all-reduce over 1,200 ranks
/// has 2.9 million moves, but 2,398 rounds that are all alike.
///
/// A round is transfers that begin together; the next round begins when all have arrived. On uniform links
/// that is what a ring does. Elsewhere fast ranks run ahead by as much as their slots allow, and the
/// transfers of several rounds share links, but the fullest link has the same bytes to carry: over random
/// orders of a leaf-spine network the two come within 5% of each other.
///
/// Pure; the same arguments give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/sim/simulate.h"
#include "weir/status.h"

namespace weir::sim {

struct Transfer {
  Rank src = 0;
  Rank dst = 0;
  double bytes = 0;
  uint32_t channel = 0;  ///< its way may differ from that of the pair's other channels
  bool operator==(const Transfer&) const = default;
};

struct Round {
  std::vector<Transfer> transfers;
  int64_t times = 1;  ///< one after the other
};

/// All rounds in order. Equal rounds are simulated once; messages are not cut (Channels::slot_bytes counts
/// for nothing), and no link gets the rest that fills a bucket (nor does Channels::burst). `bytes` is for
/// algbw, and busbw is left 0. Errors: as plan_flows(), and a negative `times`.
Result<Prediction> simulate(std::span<const Round> rounds, double bytes, const Network& network,
                            FlowRoutes& routes, const Channels& channels);

/// The rounds of a ring in this order of ranks: all_reduce, all_gather or reduce_scatter of `bytes` (of the
/// full buffer). Several orders share the bytes evenly, one ring per order. REQUIRES: orders of one length
/// >= 2.
std::vector<Round> ring_rounds(Collective kind, std::span<const std::vector<Rank>> orders, double bytes);

/// The moves of a plan by how many must have arrived before them, equal neighbours as one. Lanes and slots
/// are left out: where they hold the plan up it takes longer. REQUIRES: a plan that ir::verify accepts.
std::vector<Round> rounds_of(const ir::Plan& plan, double bytes);

/// By move, the number of its round, from 0 (of local moves: the one in which they can be made, from -1). As
/// above.
std::vector<int32_t> round_numbers(const ir::Plan& plan);

}  // namespace weir::sim
