// SPDX-License-Identifier: Apache-2.0
/// Computes the rate of each channel of a plan such that simultaneous traffic fits everything that it passes.
///
/// The moves of a round (sim/rounds.h) count as simultaneous. On each shared resource (a port, an uplink, an
/// edge) a channel gets a share in proportion to its bytes; the least share over all resources it passes and
/// all rounds is its pace. Rounds of a pipelined plan overlap, so a pace limits bursts and does not guarantee
/// that nothing ever queues.
///
/// Pure; a constant object is thread-safe.
/// Tests: tests/algorithms/sim_paces_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "src/base/status.h"

namespace weir::sim {

class Paces {
 public:
  /// Adds the numbers of all resources that bytes of this pair pass.
  using Passes = std::function<void(Rank src, Rank dst, std::vector<size_t>& numbers)>;

  /// No paces: every channel may send at any rate.
  Paces() = default;
  /// `bytes_per_s`: index: number of the resource. REQUIRES: a plan that ir::verify accepts.
  Paces(const ir::Plan& plan, std::span<const double> bytes_per_s, const Passes& passes);
  /// The paces over the edges of a network. Errors: as FlowRoutes::route().
  static Result<Paces> over(const ir::Plan& plan, const algorithms::Network& network);

  /// Bytes per second of the channel between two lanes; 0: unlimited.
  double of(Rank src, uint8_t src_lane, Rank dst, uint8_t dst_lane) const;

 private:
  using Channel = std::tuple<Rank, uint8_t, Rank, uint8_t>;

  std::map<Channel, double> by_channel_;
};

}  // namespace weir::sim
