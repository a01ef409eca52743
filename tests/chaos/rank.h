// SPDX-License-Identifier: Apache-2.0
/// What a rank of a round does, in a process of its own, and what it says of that.
#pragma once

#include "tests/chaos/round.h"
#include "tests/core/processes.h"

namespace weir::testing {

/// How long ranks may be missing, and how long a lost process, and one that makes no calls, may go unnoticed.
constexpr int kJoinSeconds = 10;
constexpr int kPeerSeconds = 2;
constexpr int kAbsentSeconds = 3;

/// Joins the world whose rank 0 listens at `meeting`, makes its calls and checks each result. Says "begins",
/// then one line: "done", "wrong: ..." of a result, or "CODE: SENTENCE" of the error that ended it.
void run_rank(const Round& round, int rank, const std::string& meeting, const Processes::Voice& voice);

}  // namespace weir::testing
