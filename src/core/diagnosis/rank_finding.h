// SPDX-License-Identifier: Apache-2.0
/// What a watchdog has found out about one rank. A plain value.
/// Tests: tests/core/watchdog_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/types.h"
#include "src/core/diagnosis/activity_registry.h"

namespace weir::core {

/// The state of a rank as another rank sees it.
struct RankFinding {
  enum class Kind : uint8_t { waits, lives, failed, dead, silent, left, mismatched };
  Kind kind = Kind::lives;
  Rank rank = 0;
  std::vector<Rank> next = {};  ///< waits: the ranks it waits for
  bool absent = false;          ///< lives: it is in no call
  bool elsewhere = false;       ///< lives: its process waits in another communicator
  std::optional<ThreadWait> thread_wait =
      {};                       ///< lives, absent: for whom its thread waits in another communicator
  int64_t waited_ns = 0;        ///< waits: its time without progress
  std::string words = {};       ///< the rank's state, as part of a message
  Failure failure = {};         ///< failed: the failure it reports
  NetworkFinding network = {};  ///< of its connections, if it was asked for them
  uint64_t calls = 0;           ///< number of calls the rank has begun, if it runs
};

}  // namespace weir::core
