// SPDX-License-Identifier: Apache-2.0
/// The list of transports: the one place that names them all.
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

/// What the user configured for one communicator.
struct NetworkChoice {
  std::string name;        ///< as NCCL_NET has it, which counts more; empty: any
  int traffic_class = -1;  ///< told to net plugins; -1: not given
};

/// How RDMA devices are come to.
using VerbsLoader = std::function<Result<std::unique_ptr<drivers::Verbs>>()>;

/// What transports are made from. Everything pointed to outlives them; a transport whose part is null (no
/// segment, no listener) is made all the same, reaches nobody and says why.
struct TransportContext {
  Identity self;
  Segment* segment = nullptr;
  LocalSegments* local_segments = nullptr;  ///< one object for all ranks of the process
  Listener* listener = nullptr;
  CreditBudget* credit = nullptr;  ///< one object for all ranks of the process
  NetworkChoice network;
  NearestPorts nearest;  ///< null: the rank has no GPU
  VerbsLoader verbs;     ///< null: drivers::load_verbs
};

/// The transports that the options allow (WEIR_TRANSPORTS), the preferred one first. All ranks of a
/// communicator get the same order. An unknown name, or none at all, is invalid_argument; the sentence lists
/// the known ones.
Result<std::vector<std::unique_ptr<Transport>>> make_transports(const TransportContext& context,
                                                                const Options& options);

}  // namespace weir
