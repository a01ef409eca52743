// SPDX-License-Identifier: Apache-2.0
/// Which rates a communicator counts with.
#pragma once

#include <span>
#include <string>

#include "algorithms/cost/profile.h"
#include "src/base/options.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/channels/routes.h"
#include "src/core/execution/execution.h"
#include "src/core/planning/peer_info.h"
#include "weir/status.h"

namespace weir::core {

/// What a communicator rank has, once it has met its peers.
struct Met {
  const Options& options;
  Bootstrap& bootstrap;
  const Routes& routes;
  std::span<const PeerInfo> peer_infos;
  const SharedSettings& shared_settings;
};

/// The same on all ranks: a file of rank 0's, else what was measured, before or now, else what transports
/// state. Measures if one of the hosts has nothing kept and none forbids it. Collective; errors are those of
/// operations.
Result<cost::Rates> select_rates(const Met& met, Execution& execution);

/// What messages, bytes and sums cost, in words.
std::string describe(const cost::Environment& around);

}  // namespace weir::core
