// SPDX-License-Identifier: Apache-2.0
/// Ranks that go on without others. None of them knows whether the rest have given up the same ones, so each
/// tells every other one whom it leaves out, and all compare.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "src/core/diagnosis/watchdog.h"
#include "src/net/listener/listener.h"
#include "weir/status.h"

namespace weir::core {

struct AgreementSpec {
  Listener* listener = nullptr;  ///< of this process
  uint64_t uid = 0;              ///< of this meeting
  Rank rank = 0;
  std::vector<Rank> excluded;    ///< sorted; not this rank
  Watchdog* watchdog = nullptr;  ///< of the meeting, over all ranks; knows their listeners
  int64_t send_ms = 5000;        ///< for bringing a message to a listener
  int64_t come_ms = 60'000;      ///< for a rank that runs, but does not come
  const std::atomic<bool>* abort = nullptr;
};

/// Returns when all ranks that are not excluded have said that they exclude the same ones. remote_error names
/// one that is dead, stopped or does not come; invalid_argument one that has given another list; both on all
/// of them.
Status agree(const AgreementSpec& spec);

/// "ranks 1 and 3".
std::string rank_words(std::span<const Rank> ranks);

}  // namespace weir::core
