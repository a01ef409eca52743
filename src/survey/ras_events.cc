// SPDX-License-Identifier: Apache-2.0

#include "src/survey/ras_events.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/survey/ras_report.h"

namespace weir::survey {

std::vector<RasEvent> changes(const Job& before, const Job& now) {
  using State = JobProcess::State;
  std::map<std::pair<std::string, int32_t>, State> known;
  for (const JobProcess& one : before.processes) known[{one.host, one.pid}] = one.state;
  std::vector<RasEvent> out;
  for (const JobProcess& one : now.processes) {
    const auto old = known.find({one.host, one.pid});
    const bool is_new = old == known.end();
    const State was = is_new ? State::answers : old->second;
    if (is_new) out.push_back({RasEvent::Group::lifecycle, "PEER_NEW", one});
    if (one.state == was) continue;
    if (one.state == State::dead) out.push_back({RasEvent::Group::lifecycle, "PEER_DEAD", one});
    if (one.state == State::silent) out.push_back({RasEvent::Group::trace, "PEER_UNRESPONSIVE", one});
    if (one.state == State::answers) out.push_back({RasEvent::Group::trace, "PEER_RECOVERED", one});
  }
  return out;
}

std::string event_text(const RasEvent& event) {
  return fmt::format("[{}] {}: {}\n", timestamp(), event.name, process_words(event.process));
}

std::string event_json(const RasEvent& event) {
  const nlohmann::ordered_json out = {
      {"timestamp", timestamp()},
      {"group", event.group == RasEvent::Group::lifecycle ? "LIFECYCLE" : "TRACE"},
      {"event", event.name},
      {"peer",
       {{"host", event.process.node},
        {"pid", event.process.pid},
        {"cuda_devs", event.process.gpus},
        {"nvml_devs", event.process.gpus}}},
      {"details", process_words(event.process)}};
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weir::survey
