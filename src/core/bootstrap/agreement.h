// SPDX-License-Identifier: Apache-2.0
/// Agreement of the ranks that continue without others. No rank knows whether the rest exclude the same ones,
/// so each sends its list of excluded ranks to every other remaining rank, and all compare the lists.
/// Tests: tests/core/shrink_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/net/listener/listener.h"

namespace weir::core {

struct AgreementSpec {
  Listener* listener = nullptr;  ///< this process's listener
  uint64_t uid = 0;              ///< scope of this agreement's messages
  Credentials credentials;       ///< of the job
  Rank rank = 0;
  std::vector<Rank> excluded;    ///< sorted; not this rank
  Watchdog* watchdog = nullptr;  ///< watches all ranks of the agreement; has their addresses
  int64_t come_ms = 60'000;      ///< time limit for a rank that runs but takes or sends no list; ms
  const std::atomic<bool>* abort = nullptr;
};

/// Returns when all remaining ranks have confirmed the same list. remote_error names a rank that is dead,
/// stopped or sends no list; invalid_argument names one with another list. All remaining ranks get the error.
Status agree(const AgreementSpec& spec);

/// The list that ranks send each other, and its reader, which gives no rank for what is no list.
Bytes write_ranks(std::span<const Rank> ranks);
std::vector<Rank> read_ranks(BytesView bytes);

/// "ranks 1 and 3".
std::string rank_words(std::span<const Rank> ranks);

}  // namespace weir::core
