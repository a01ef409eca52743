// SPDX-License-Identifier: Apache-2.0

#include "src/cli/channels.h"

#include <CLI/CLI.hpp>

namespace weir::cli {

void add_channels(CLI::App* command, ChannelArguments& arguments) {
  const auto add = [&](const char* option, auto& value, const char* help) {
    return command->add_option(option, value, help)->capture_default_str();
  };
  add("--hop-latency", arguments.hop_latency_us, "Latency of each link; us");
  add("--alpha", arguments.alpha_us, "Overhead of the sender for each message; us");
  add("--slot-bytes", arguments.slot_bytes,
      "Largest message in bytes, with suffix K or M; 0: chunks are not divided into tiles")
      ->transform(CLI::AsSizeValue(false));
  add("--slots", arguments.slots, "Largest number of messages in flight in a channel");
  add("--pace", arguments.pace, "Largest rate of each channel; GB/s; 0: unlimited");
  command->add_flag("--paced", arguments.paced,
                    "Limit each channel to its fair share of the links that it uses");
  add("--window", arguments.window,
      "Largest number of bytes in flight in a channel, besides --slots, with suffix K or M; 0: unlimited")
      ->transform(CLI::AsSizeValue(false));
  add("--connections", arguments.connections, "Connections per channel, used round-robin for its messages");
  add("--burst", arguments.burst, "Token-bucket burst of each link, in bytes, with suffix K or M")
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
