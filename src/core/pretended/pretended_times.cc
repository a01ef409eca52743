// SPDX-License-Identifier: Apache-2.0

#include "src/core/pretended/pretended_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/network/link_latencies.h"
#include "algorithms/sim/message_bytes.h"
#include "algorithms/sim/simulate.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/core/planning/host_board.h"

namespace weir::core {
namespace {

/// Times that are kept; more only if a program calls with ever new sizes.
constexpr size_t kMostTimes = 65'536;

Bytes write_time(const double& seconds) { return ByteWriter().put(seconds).take(); }
std::optional<double> read_time(BytesView bytes) {
  ByteReader in(bytes);
  const double seconds = in.get<double>();
  return in.ok() && std::isfinite(seconds) && seconds >= 0 ? std::optional(seconds) : std::nullopt;
}

/// Bytes of the largest buffer of a rank.
double whole_bytes(Collective kind, int ranks, size_t bytes) {
  const bool whole =
      kind == Collective::all_reduce || kind == Collective::reduce || kind == Collective::broadcast;
  return static_cast<double>(bytes) * (whole ? 1 : ranks);
}

/// As `weir sim` assumes them.
sim::Channels channels_of(const topology::Latencies& latencies) {
  sim::Channels channels;
  channels.alpha = latencies.message * 1e-6;
  channels.slot_bytes = 256 << 10;
  channels.slots = 4;
  return channels;
}

}  // namespace

Result<std::unique_ptr<PretendedTimes>> PretendedTimes::make(std::shared_ptr<const PretendedCluster> cluster,
                                                             std::vector<int> places) {
  std::unique_ptr<PretendedTimes> times(new PretendedTimes(std::move(cluster), std::move(places)));
  if (times->places_.size() == 1) return times;
  auto whole = times->part_of(times->places_);
  if (!whole.ok()) return Status(whole.status().code(), "WEIR_PRETEND: " + whole.status().message());
  times->whole_ = std::move(*whole);
  return times;
}

Result<PretendedTimes::Part> PretendedTimes::part_of(std::span<const int> places) const {
  std::vector<topology::Index> devices;
  for (const int place : places) devices.push_back(cluster_->devices()[static_cast<size_t>(place)]);
  auto network = algorithms::network_of(cluster_->graph(), devices);
  WEIR_TRY(network.status());
  algorithms::set_latencies(*network, cluster_->graph(), latencies_);
  std::vector<char> between = algorithms::switches_between_hosts(*network, cluster_->graph());
  return Part{std::move(*network), std::move(between)};
}

Result<double> PretendedTimes::of_collective(Collective kind, Rank root, size_t bytes,
                                             const ir::LoadedPlan* asked) {
  const auto ranks = static_cast<int>(places_.size());
  if (ranks == 1 || bytes == 0) return 0.0;
  if (!has_root(kind)) root = 0;
  const std::lock_guard lock(mutex_);
  return shared({kind, root, -1, bytes, asked != nullptr ? asked->key : ""}, [&]() -> Result<double> {
    const double whole = whole_bytes(kind, ranks, bytes);
    if (asked != nullptr) return simulated(whole_, asked->plan, whole);
    const auto planned = best(whole_, kind, root, -1, whole);
    WEIR_TRY(planned.status());
    const auto seconds = simulated(whole_, (*planned)->plan, whole);
    if (seconds.ok())
      WEIR_INFO(tuning, "pretended {} of {}: {} by {}", name(kind), bytes_words(whole),
                seconds_words(*seconds), (*planned)->name);
    return seconds;
  });
}

Result<double> PretendedTimes::of_message(Rank from, Rank to, size_t bytes) {
  if (from == to || bytes == 0) return 0.0;
  const std::lock_guard lock(mutex_);
  return shared({Collective::send_recv, from, to, bytes, ""}, [&]() -> Result<double> {
    auto part = pairs_.find({from, to});
    if (part == pairs_.end()) {
      const int both[] = {places_[static_cast<size_t>(from)], places_[static_cast<size_t>(to)]};
      auto made = part_of(both);
      WEIR_TRY(made.status());
      part = pairs_.emplace(std::pair(from, to), std::move(*made)).first;
    }
    const auto planned = best(part->second, Collective::broadcast, from, to, static_cast<double>(bytes));
    WEIR_TRY(planned.status());
    return simulated(part->second, (*planned)->plan, static_cast<double>(bytes));
  });
}

/// REQUIRES: the mutex.
Result<double> PretendedTimes::shared(const Key& key, const std::function<Result<double>()>& make) {
  if (const auto known = times_.find(key); known != times_.end()) return known->second;
  const auto& [kind, root, peer, bytes, plan] = key;
  const auto found = board_ == nullptr ? make()
                                       : board_->of<double>(fmt::format("time of {} {} from {} to {} by {}",
                                                                        bytes, name(kind), root, peer, plan),
                                                            make, &write_time, &read_time);
  if (times_.size() >= kMostTimes) times_.clear();
  if (found.ok()) times_.emplace(key, *found);
  return found;
}

/// The best plan for sizes from a power of two on. `root` is a rank of the communicator; with a `peer`, the
/// part has just these two.
Result<const PretendedTimes::Planned*> PretendedTimes::best(const Part& part, Collective kind, Rank root,
                                                            Rank peer, double bytes) {
  const auto size = static_cast<uint64_t>(bytes);
  const auto [known, added] = plans_.try_emplace({kind, root, peer, std::bit_width(size)});
  if (!added) return &known->second;
  const algorithms::PlanRequest request{cluster_->graph(),   part.network,
                                        part.between_hosts,  kind,
                                        peer < 0 ? root : 0, static_cast<double>(std::bit_floor(size))};
  const auto choose = [&]() -> Result<Planned> {
    auto best = algorithms::best_plan(request);
    WEIR_TRY(best.status());
    auto ranked =
        algorithms::ranked_plans(request, *best, channels_of(latencies_), algorithms::Messages::fastest);
    WEIR_TRY(ranked.status());
    return Planned{std::move(ranked->front().name), std::move(ranked->front().schedule.plan)};
  };
  auto chosen = choose();
  if (!chosen.ok()) {
    plans_.erase(known);
    return chosen.status();
  }
  known->second = std::move(*chosen);
  return &known->second;
}

Result<double> PretendedTimes::simulated(const Part& part, const ir::Plan& plan, double bytes) const {
  const auto run = sim::simulate_fastest(plan, bytes, part.network, channels_of(latencies_));
  WEIR_TRY(run.status());
  return run->prediction.seconds;
}

}  // namespace weir::core
