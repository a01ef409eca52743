// SPDX-License-Identifier: Apache-2.0
/// Options that describe the channels of a simulated collective.
/// Tests: tests/cli/schedule_test.cc
#pragma once

#include <cstdint>

#include "algorithms/sim/plan_flows.h"

namespace CLI {
class App;
}

namespace weir::cli {

/// Of networks with RDMA and of NVLink: estimates.
inline constexpr double kUsualAlphaUs = 1;
inline constexpr double kUsualHopLatencyUs = 0.5;

struct ChannelArguments {
  double hop_latency_us = 0;
  double alpha_us = 0;
  uint64_t slot_bytes = 256 << 10;
  int slots = 4;
  double pace = 0;
  bool paced = false;
  uint64_t window = 0;
  int connections = 1;
  uint64_t burst = 0;
};

void add_channels(CLI::App* command, ChannelArguments& arguments);
sim::Channels channels_of(const ChannelArguments& arguments);

}  // namespace weir::cli
