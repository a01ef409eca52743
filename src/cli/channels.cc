// SPDX-License-Identifier: Apache-2.0

#include "src/cli/channels.h"

#include <CLI/CLI.hpp>

namespace weir::cli {

void add_channels(CLI::App* command, ChannelArguments& arguments) {
  const auto add = [&](const char* option, auto& value, const char* help) {
    return command->add_option(option, value, help)->capture_default_str();
  };
  add("--hop-latency", arguments.hop_latency_us, "us of each link");
  add("--alpha", arguments.alpha_us, "us that a sender spends on each message");
  add("--slot-bytes", arguments.slot_bytes,
      "The largest message, with K or M; 0: plans are not cut into tiles")
      ->transform(CLI::AsSizeValue(false));
  add("--slots", arguments.slots, "Messages under way in a channel");
  add("--pace", arguments.pace, "GB/s of a channel; 0: any");
  command->add_flag("--paced", arguments.paced, "Channels keep to their fair shares of what they pass");
  add("--window", arguments.window, "Bytes in flight in a channel, with K or M; 0: any")
      ->transform(CLI::AsSizeValue(false));
  add("--connections", arguments.connections, "Of a channel, which take turns with its messages");
  add("--burst", arguments.burst, "Bytes that a rate limiter lets pass each link at once after a rest")
      ->transform(CLI::AsSizeValue(false));
}

sim::Channels channels_of(const ChannelArguments& arguments) {
  sim::Channels channels;
  channels.hop_latency = arguments.hop_latency_us * 1e-6;
  channels.alpha = arguments.alpha_us * 1e-6;
  channels.slot_bytes = static_cast<double>(arguments.slot_bytes);
  channels.slots = arguments.slots;
  channels.pace = arguments.pace;
  channels.paced = arguments.paced;
  channels.window = static_cast<double>(arguments.window);
  channels.burst = static_cast<double>(arguments.burst);
  channels.connections = arguments.connections;
  return channels;
}

}  // namespace weir::cli
