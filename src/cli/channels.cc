// SPDX-License-Identifier: Apache-2.0

#include "src/cli/channels.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include "algorithms/network/link_latencies.h"

namespace weir::cli {

void add_channels(CLI::App* command, ChannelArguments& arguments) {
  const auto add = [&](const char* option, auto& value, const char* help) {
    return command->add_option(option, value, help)->capture_default_str();
  };
  command->add_option("--latency", arguments.latency,
                      "Latencies in us, instead of those that weir assumes: of links by their kind and of a "
                      "sender's work per "
                      "message, such as \"nvlink=0.6,pcie=0.5,message=1\" (also xgmi, c2c, cpu, nic and "
                      "network), or one number "
                      "for all; 0: none");
  command
      ->add_option(
          "--slot-bytes", arguments.slot_bytes,
          "Largest message in bytes, with suffix K or M; 0: chunks are not divided into tiles; default: "
          "the fastest of 256K, 128K and 64K")
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

std::string SimulatedChannels::slots_words() const {
  return channels.slot_bytes > 0
             ? fmt::format("{} slots of {:.6g} KiB per channel", channels.slots, channels.slot_bytes / 1024)
             : fmt::format("{} slots of any size per channel", channels.slots);
}

Result<SimulatedChannels> channels_of(const ChannelArguments& arguments, PlanTask& task) {
  const auto latencies = topology::parse_latencies(arguments.latency);
  if (!latencies.ok()) return Status(latencies.status().code(), "--latency: " + latencies.status().message());
  algorithms::set_latencies(task.network, task.graph, *latencies);
  SimulatedChannels simulated;
  simulated.latencies = *latencies;
  simulated.latency_words = algorithms::latency_words(task.network, *latencies);
  if (!arguments.slot_bytes) simulated.messages = algorithms::Messages::fastest;
  sim::Channels& channels = simulated.channels;
  channels.alpha = latencies->message * 1e-6;
  channels.slot_bytes = static_cast<double>(arguments.slot_bytes.value_or(kUsualSlotBytes));
  channels.slots = arguments.slots;
  channels.pace = arguments.pace;
  channels.paced = arguments.paced;
  channels.window = static_cast<double>(arguments.window);
  channels.burst = static_cast<double>(arguments.burst);
  channels.connections = arguments.connections;
  return simulated;
}

std::string latency_line(const SimulatedChannels& assumed) {
  return assumed.latency_words == "none"
             ? "latencies    none\n"
             : fmt::format("latencies    assumed: {}; --latency sets others\n", assumed.latency_words);
}

std::string passes_words(const sim::Prediction& prediction) {
  return prediction.extrapolated()
             ? fmt::format("; from the first {} of {} passes", prediction.simulated_passes, prediction.passes)
             : "";
}

nlohmann::ordered_json latencies_as_json(const topology::Latencies& latencies) {
  return {{"nvlink", latencies.nvlink},   {"xgmi", latencies.xgmi},      {"c2c", latencies.c2c},
          {"pcie", latencies.pcie},       {"cpu", latencies.cpu},        {"nic", latencies.nic},
          {"network", latencies.network}, {"message", latencies.message}};
}

}  // namespace weir::cli
