// SPDX-License-Identifier: Apache-2.0
/// Changes of a job between two surveys, for clients of the RAS port that monitor it.
/// Tests: tests/survey/ras_session_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/survey/job.h"

namespace weir::survey {

struct RasEvent {
  enum class Group : uint8_t { lifecycle = 1, trace = 2 };

  Group group = Group::lifecycle;
  std::string_view name;  ///< NCCL's name of the event: "PEER_DEAD"
  JobProcess process;
};

/// Events for processes that have started, died, stopped answering or recovered. Processes that have ended
/// regularly have no event.
std::vector<RasEvent> changes(const Job& before, const Job& now);

/// The event as a line of text, or of JSON, with the line's end.
std::string event_text(const RasEvent& event);
std::string event_json(const RasEvent& event);

}  // namespace weir::survey
