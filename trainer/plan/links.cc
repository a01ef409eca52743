// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/links.h"

#include <fmt/format.h>

#include <numeric>

#include "weir/simulate.h"

namespace weir::trainer::plan {
namespace {

constexpr double kSmallBytes = 1;
constexpr double kLargeBytes = 1e9;

Status refused(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

/// Ranks in the order of the groups.
std::vector<int> members(const RankGroups& groups, int ranks) {
  std::vector<int> all;
  const int block = groups.ranks * groups.stride;
  for (int first = 0; first < ranks; first += block)
    for (int group = 0; group < groups.stride; ++group)
      for (int member = 0; member < groups.ranks; ++member)
        all.push_back(first + group + member * groups.stride);
  return all;
}

}  // namespace

Result<std::shared_ptr<Links>> Links::read(const std::vector<std::string>& sources, std::string latencies) {
  auto topology = read_topology(sources);
  if (!topology) return refused(topology.error());
  std::map<int, int> devices_of_hosts;
  for (const int device : topology->devices()) ++devices_of_hosts[topology->node(device).host];
  if (devices_of_hosts.empty()) return refused("the topology has no hosts; expected at least one");
  const auto [first, count] = *devices_of_hosts.begin();
  for (const auto& [host, devices] : devices_of_hosts)
    if (devices != count)
      return refused(fmt::format("{} has {} devices and {} has {}; expected equal numbers",
                                 topology->node(first).name, count, topology->node(host).name, devices));
  const int hosts = static_cast<int>(devices_of_hosts.size());
  return std::shared_ptr<Links>(new Links(*std::move(topology), std::move(latencies), hosts, count));
}

Result<Links::Pass> Links::simulate(int hosts, const RankGroups& groups) const {
  const std::vector<int> devices = members(groups, hosts * ranks_per_host_);
  const auto seconds = [&](double bytes) {
    return simulate_rings(topology_, Collective::all_gather, bytes, devices,
                          static_cast<size_t>(groups.ranks), latencies_);
  };
  const auto small = seconds(kSmallBytes);
  if (!small) return refused(small.error());
  const auto large = seconds(kLargeBytes);
  if (!large) return refused(large.error());
  const double per_byte = (*large - *small) / (kLargeBytes - kSmallBytes);
  return Pass{*small - kSmallBytes * per_byte, per_byte};
}

Result<double> Links::seconds(Collective collective, int hosts, const RankGroups& groups, double bytes) {
  if (groups.ranks < 2 || bytes <= 0) return 0.0;
  if (hosts > hosts_) return refused(fmt::format("{} nodes; the topology has {}", hosts, hosts_));
  const auto [known, is_new] = known_.try_emplace({hosts, groups.ranks, groups.stride});
  if (is_new) {
    const auto pass = simulate(hosts, groups);
    if (!pass.ok()) known_.erase(known);
    WEIR_TRY(pass.status());
    known->second = *pass;
  }
  // A reduce-scatter is an all-gather backwards, an all-reduce one after the other.
  const int passes = collective == Collective::all_reduce ? 2 : 1;
  return passes * (known->second.latency + bytes * known->second.per_byte);
}

Result<Bound> Links::bound(Collective collective, int ranks) const {
  std::vector<int> devices(static_cast<size_t>(ranks));
  std::iota(devices.begin(), devices.end(), 0);
  auto found = lower_bound(topology_, collective, 0, devices);
  if (!found) return refused(found.error());
  return *std::move(found);
}

}  // namespace weir::trainer::plan
