// SPDX-License-Identifier: Apache-2.0
/// The costs of moving and summing data on the machines of a communicator: the basis for the choice of plans.
///
/// Plain values and pure functions: thread-safe.
/// Tests: tests/algorithms/cost_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::cost {

/// Channels between two ranks with one core each.
struct ChannelRates {
  double alpha = 0;     ///< seconds from sending a message until its receiver continues
  double overhead = 0;  ///< seconds of CPU work per message, of both ends together; part of alpha
  double beta = 0;      ///< seconds per byte, in addition to alpha: work of both ends and of the network
  double wire = 0;      ///< the part of beta for which the network needs no CPU work
  /// Relative slowdown per byte if several ranks of other hosts send to one: they wait for the receiver's
  /// permission. It does not apply to the first bytes of a message.
  double merging = 0;
  double unasked = 0;

  bool operator==(const ChannelRates&) const = default;
};

struct Rates {
  ChannelRates inside;   ///< channels between ranks of one host
  ChannelRates between;  ///< channels between ranks of two hosts
  double gamma = 0;      ///< seconds per byte that a rank sums or copies

  bool operator==(const Rates&) const = default;
};

/// The maximum of each figure: a collective waits for the slowest rank.
Rates slower(const Rates& a, const Rates& b);

/// Writes a file with one line per figure, such as "inside.alpha 1.5e-07", which reads back to the same bits.
std::string text_of(const Rates& rates);

/// Replaces the figures that the text contains; '#' begins a comment. Errors: invalid_usage with the line,
/// for an unknown name and a figure that is negative or not finite.
Result<Rates> read_rates(std::string_view text, const Rates& otherwise);

}  // namespace weir::cost
