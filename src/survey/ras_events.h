// SPDX-License-Identifier: Apache-2.0
/// What has changed in a job between two looks, for clients of the RAS port that asked to be told.
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
  std::string_view name;  ///< as NCCL calls it: "PEER_DEAD"
  JobProcess process;
};

/// Processes that have come, died, fallen silent and recovered. Those that have left in good order are
/// neither.
std::vector<RasEvent> changes(const Job& before, const Job& now);

/// A line, or a line of JSON, with its end.
std::string event_text(const RasEvent& event);
std::string event_json(const RasEvent& event);

}  // namespace weir::survey
