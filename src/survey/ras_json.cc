// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "src/base/host.h"
#include "src/survey/ras_report.h"

namespace weir::survey {
namespace {

using nlohmann::ordered_json;

/// The collectives that NCCL's report always counts; others are added if their counts are not 0.
constexpr Collective kNcclCounts[] = {Collective::broadcast, Collective::reduce, Collective::all_gather,
                                      Collective::reduce_scatter, Collective::all_reduce};
constexpr Collective kMoreCounts[] = {Collective::all_to_all, Collective::gather, Collective::scatter,
                                      Collective::send_recv};

ordered_json place_of(const Job& job, const JobRank& rank) {
  const JobProcess& process = job.processes[rank.process];
  return {{"rank", rank.rank},
          {"host", process.node},
          {"pid", process.pid},
          {"cuda_dev", rank.gpu},
          {"nvml_dev", rank.gpu}};
}

ordered_json json_of(const Job& job, const JobRank& rank) {
  const auto count = [&](Collective kind) { return rank.counts[static_cast<size_t>(kind)]; };
  ordered_json out = place_of(job, rank);
  const Code begun = rank.standing == CommState::init ? Code::in_progress : Code::success;
  out["status"] = {{"init_state", static_cast<int>(begun)},
                   {"async_error", static_cast<int>(rank.code)},
                   {"finalize_called", rank.standing == CommState::finalize},
                   {"destroy_flag", rank.standing == CommState::finalize},
                   {"abort_flag", rank.standing == CommState::abort}};
  ordered_json& counts = out["collective_counts"] = ordered_json::object();
  for (const Collective kind : kNcclCounts) counts[core::nccl_name(kind)] = count(kind);
  for (const Collective kind : kMoreCounts) {
    if (count(kind) > 0) counts[core::nccl_name(kind)] = count(kind);
  }
  if (!rank.waiting_for.empty())
    out["waiting"] = {{"for_ranks", rank.waiting_for}, {"seconds", rank.waiting_s}};
  if (!rank.operation.empty()) out["last_operation"] = rank.operation;
  if (!rank.sentence.empty()) out["error"] = rank.sentence;
  return out;
}

ordered_json json_of_missing(const Job& job, const JobRank& rank) {
  const JobProcess::State state = job.processes[rank.process].state;
  ordered_json out = place_of(job, rank);
  out["status"] = {{"unresponsive", state != JobProcess::State::answers},
                   {"considered_dead", state == JobProcess::State::dead}};
  return out;
}

/// NCCL's second identifier of a communicator: made of the host and the process of its first rank.
std::string secondary_hash(const Job& job, const JobCommunicator& one) {
  const JobRank& first = one.ranks.empty() ? one.missing.front() : one.ranks.front();
  const JobProcess& process = job.processes[first.process];
  return fmt::format("0x{:x}:0x{:x}", hash_text(process.host), process.pid);
}

ordered_json json_of(const Job& job, const JobCommunicator& one) {
  ordered_json out = {{"hash", "0x" + one.id},
                      {"secondary_hash", secondary_hash(job, one)},
                      {"size", one.size},
                      {"ranks_count", one.ranks.size()},
                      {"missing_ranks_count", one.missing.size()}};
  if (!one.name.empty()) out["name"] = one.name;
  ordered_json& ranks = out["ranks"] = ordered_json::array();
  for (const JobRank& rank : one.ranks) ranks.push_back(json_of(job, rank));
  ordered_json& missing = out["missing_ranks"] = ordered_json::array();
  for (const JobRank& rank : one.missing) missing.push_back(json_of_missing(job, rank));
  return out;
}

}  // namespace

std::string timestamp() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string ras_json(const Job& job, const RasVersions& versions) {
  ordered_json out = {{"nccl_version", versions.nccl},
                      {"weir_version", WEIR_VERSION},
                      {"cuda_runtime_version", versions.cuda_runtime},
                      {"cuda_driver_version", versions.cuda_driver},
                      {"timestamp", timestamp()},
                      {"communicators_count", job.communicators.size()}};
  ordered_json& communicators = out["communicators"] = ordered_json::array();
  for (const JobCommunicator& one : job.communicators) communicators.push_back(json_of(job, one));
  ordered_json& joining = out["joining"] = ordered_json::array();
  for (const JobJoining& one : job.joining) {
    const JobProcess& process = job.processes[one.process];
    joining.push_back({{"rank", one.rank},
                       {"size", one.ranks},
                       {"host", process.node},
                       {"pid", process.pid},
                       {"seconds", one.since_s}});
  }
  size_t silent = 0;
  for (const JobProcess& one : job.processes) silent += one.state == JobProcess::State::silent ? 1 : 0;
  out["ras"] = {{"collection_time_sec", job.seconds}, {"timeouts_count", silent}};
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weir::survey
