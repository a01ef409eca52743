// SPDX-License-Identifier: Apache-2.0
/// Agreement of the ranks that continue without others. No rank knows whether the rest exclude the same ones,
/// so each sends its list of excluded ranks to every other remaining rank, and all compare the lists.
///
/// A communicator can be shrunk several times, and not all ranks take part in each. The shrinks of a rank are
/// therefore numbered, lists have the number, and all continue with the largest number among them.
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
  uint64_t uid = 0;              ///< the parent's; scope of the messages
  uint32_t number = 0;           ///< of this shrink: larger than those of this rank's earlier ones
  Credentials credentials;       ///< of the job
  Rank rank = 0;
  std::vector<Rank> excluded;    ///< sorted; not this rank
  Watchdog* watchdog = nullptr;  ///< watches all ranks of the agreement; has their addresses
  int64_t come_ms = 60'000;      ///< time limit for a rank that runs but takes or sends no list; ms
  const std::atomic<bool>* abort = nullptr;
};

/// Returns `number` when all remaining ranks have sent the same list with it, or the larger number of another
/// rank, with which the call has to be repeated. remote_error names a rank that is dead, stopped or sends no
/// list; invalid_argument names one with another list. All remaining ranks get the error.
Result<uint32_t> agree(const AgreementSpec& spec);

/// What ranks send each other, and its reader, which gives no rank for what is no list.
struct ExclusionList {
  uint32_t number = 0;
  std::vector<Rank> ranks;
};
Bytes write_list(uint32_t number, std::span<const Rank> ranks);
ExclusionList read_list(BytesView bytes);

/// "ranks 1 and 3".
std::string rank_words(std::span<const Rank> ranks);

}  // namespace weir::core
