// SPDX-License-Identifier: Apache-2.0
/// What moving and summing costs on the machines of a communicator: the figures behind the choice of plans.
///
/// Plain values and pure functions: thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/status.h"

namespace weir::cost {

/// Channels between two ranks that have a core each.
struct Channel {
  double alpha = 0;     ///< seconds from when a message is sent until its receiver goes on
  double overhead = 0;  ///< seconds of work for a message, at both ends together; part of alpha
  double beta = 0;      ///< seconds per byte, on top of alpha: the work of both ends, and the network's part
  double wire = 0;      ///< of beta, what the network needs while cores have nothing to do
  /// Where several ranks of other hosts send to one, so much comes on top of each second for bytes: they wait
  /// for the receiver's leave. Not for the first bytes of a message.
  double merging = 0;
  double unasked = 0;

  bool operator==(const Channel&) const = default;
};

struct Rates {
  Channel inside;    ///< two ranks of one host
  Channel between;   ///< of two hosts
  double gamma = 0;  ///< seconds per byte that a rank sums or copies

  bool operator==(const Rates&) const = default;
};

/// Figure by figure the larger one: a collective waits for the slowest.
Rates slower(const Rates& a, const Rates& b);

/// As a file: a line per figure, "inside.alpha 1.5e-07", which reads back to the same bits.
std::string text_of(const Rates& rates);

/// Rates with those figures replaced that the text has; '#' begins a comment. Errors: invalid_usage with the
/// line, for a name that does not exist and a figure that is negative or not finite.
Result<Rates> read_rates(std::string_view text, const Rates& otherwise);

}  // namespace weir::cost
