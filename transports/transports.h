// SPDX-License-Identifier: Apache-2.0
/// The list of all transports.
/// Tests: tests/transports/transports_list_test.cc
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/options.h"
#include "src/drivers/verbs.h"
#include "src/net/listener/listener.h"
#include "transports/credit_budget.h"
#include "transports/memory/segment.h"
#include "transports/memory/transport.h"
#include "transports/transport.h"

namespace weir {

/// The user's network configuration of one communicator.
struct NetworkChoice {
  std::string name;        ///< network name; NCCL_NET overrides it; empty: any
  int traffic_class = -1;  ///< passed to net plugins; -1: not given
};

/// Loads the RDMA library.
using VerbsLoader = std::function<Result<std::unique_ptr<drivers::Verbs>>()>;

/// Input of make_transports. All objects that are pointed to outlive the transports; a transport whose object
/// is null (no segment, no listener) is created all the same, reaches no peer, and its why_not gives the
/// reason.
struct TransportContext {
  Identity self;
  OwnSegment segment = nullptr;
  LocalSegments* local_segments = nullptr;         ///< one object for all ranks of the process
  const device::MemoryRegistry* memory = nullptr;  ///< of the process: peers of this host may map it
  Listener* listener = nullptr;
  CreditBudget* credit = nullptr;  ///< one object for all ranks of the process
  NetworkChoice network;
  NearestPorts nearest;  ///< null: the rank has no GPU
  VerbsLoader verbs;     ///< null: drivers::load_verbs
};

/// The transports that WEIR_TRANSPORTS allows, in order of preference; those that cannot encrypt are left out
/// where connections are encrypted. All ranks of a communicator get the
/// same order. An unknown name or an empty list is invalid_argument; the message lists the known names.
Result<std::vector<std::unique_ptr<Transport>>> make_transports(const TransportContext& context,
                                                                const Options& options);

}  // namespace weir
