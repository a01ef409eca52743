// SPDX-License-Identifier: Apache-2.0
/// Reads reports of processes of this host over their local sockets, where the user of the reader counts.
///
/// Thread-safe.
/// Tests: tests/net/local_reports_test.cc
#pragma once

#include <span>
#include <vector>

#include "src/net/listener/listener.h"
#include "src/net/listener/local_registry.h"
#include "src/net/peer_process.h"

namespace weir {

/// An entry of the local registry, and its owner as owner_of() has found it.
struct LocalReportSource {
  RegisteredListener entry;
  PeerProcess owner;
  uint32_t most = Listener::kMostBytes;  ///< bytes of its answer; a longer one is refused
};

/// Sends a question for reports to several processes of this host in parallel, like ask_for_reports().
/// An entry that meanwhile belongs to another process is asked nothing.
std::vector<Answer> ask_locally(std::span<const LocalReportSource> sources, BytesView question,
                                const Deadline& deadline);

}  // namespace weir
