// SPDX-License-Identifier: Apache-2.0
/// Options that describe the channels of a simulated collective.
/// Tests: tests/cli/schedule_test.cc
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/sim/simulate.h"
#include "src/cli/plan_task.h"
#include "topology/model/latencies.h"

namespace CLI {
class App;
}

namespace weir::cli {

/// What communicators on several hosts have.
inline constexpr uint64_t kUsualSlotBytes = 256 << 10;

struct ChannelArguments {
  std::string latency;                 ///< "nvlink=0.5,message=2", or "0"; empty: the table of assumptions
  std::optional<uint64_t> slot_bytes;  ///< default: the fastest messages in slots of kUsualSlotBytes
  int slots = 4;
  double pace = 0;
  bool paced = false;
  uint64_t window = 0;
  int connections = 1;
  uint64_t burst = 0;
};

void add_channels(CLI::App* command, ChannelArguments& arguments);

/// The channels of a simulation, and what it assumes.
struct SimulatedChannels {
  sim::Channels channels;
  algorithms::Messages messages = algorithms::Messages::given;
  topology::Latencies latencies;
  std::string latency_words;  ///< in one line

  /// "4 slots of 256 KiB per channel"
  std::string slots_words() const;
};

/// Gives the links of the task's network their latencies. Errors: invalid_argument for wrong latencies.
Result<SimulatedChannels> channels_of(const ChannelArguments& arguments, PlanTask& task);

/// "latencies    ...", the line of a report.
std::string latency_line(const SimulatedChannels& assumed);

/// "; from the first 8 of 52 passes", if others are extrapolated.
std::string passes_words(const sim::Prediction& prediction);

/// The latencies by their names, in us.
nlohmann::ordered_json latencies_as_json(const topology::Latencies& latencies);

}  // namespace weir::cli
