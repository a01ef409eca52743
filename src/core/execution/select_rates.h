// SPDX-License-Identifier: Apache-2.0
/// Chooses the rates with which a communicator computes costs.
/// Tests: tests/library/choice_test.cc
#pragma once

#include <span>
#include <string>

#include "algorithms/cost/profile.h"
#include "src/base/options.h"
#include "src/base/status.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/channels/routes.h"
#include "src/core/execution/execution.h"
#include "src/core/planning/peer_info.h"

namespace weir::core {

/// What the choice needs from a connected communicator rank.
struct RateInputs {
  const Options& options;
  Bootstrap& bootstrap;
  const Routes& routes;
  std::span<const PeerInfo> peer_infos;
  const SharedSettings& shared_settings;
};

/// The rates, the same on all ranks: from rank 0's cost file, or else measured ones (cached or new), or else
/// those that the transports state. Measures if some host has no cached rates, no rank forbids it, and no
/// machine has more than 16 ranks per core. Collective; errors are those of operations.
Result<cost::Rates> select_rates(const RateInputs& inputs, Execution& execution);

/// The rates in words, for the log.
std::string describe(const cost::Environment& around);

}  // namespace weir::core
