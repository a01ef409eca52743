// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/peer_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/core/channels/links.h"
#include "src/core/planning/protocols.h"
#include "src/core/planning/ring_file.h"
#include "src/drivers/files.h"
#include "src/exec/shm_collectives.h"

namespace weir::core {
namespace {

constexpr size_t kMostFileBytes = size_t{1} << 16;
constexpr double kSumsPerSecond = 2e10;  // bytes per second, if nothing was measured
constexpr double kSwitch = 3e-6;         // seconds of a context switch, if nothing was measured

/// Converts a transport's figures, which are for a stream and for half a round trip. A round trip is work all
/// the time; in a stream both ends work at the same time.
cost::ChannelRates channel_of(const Cost& cost) {
  const double alpha = cost.latency_us * 1e-6;
  const double stream = cost.gigabytes_per_s > 0 ? 1e-9 / cost.gigabytes_per_s : 0;
  return {alpha, alpha, 2 * stream, 0, cost.merging, cost.unasked};
}

/// Number of cores of a machine: all that any of its ranks may use.
int cores_of(std::span<const PeerInfo> peer_infos, uint64_t machine) {
  CoreSet together;
  int quota = 1;
  for (const PeerInfo& peer_info : peer_infos) {
    if (peer_info.machine != machine) continue;
    together |= peer_info.cores;
    quota = std::max(quota, peer_info.quota);
  }
  return std::clamp(together.count(), 1, quota);
}

/// Numbers values in the order of their first use.
class Numbers {
 public:
  int of(uint64_t value) { return known_.emplace(value, static_cast<int>(known_.size())).first->second; }
  size_t size() const { return known_.size(); }

 private:
  std::map<uint64_t, int> known_;
};

/// The text of a file that `check` accepts; otherwise empty, with a warning.
template <typename Check>
std::string text_of(std::string_view option, const std::string& file, Check check) {
  if (file.empty()) return "";
  auto text = drivers::read_whole(file, kMostFileBytes);
  const Status status = text.ok() ? check(*text) : text.status();
  if (status.ok()) return std::move(*text);
  WEIR_WARN("{}: {}", option, status.message());
  return "";
}

/// The text if `status` is ok; otherwise empty, with a warning.
std::string understood(std::string_view option, const std::string& text, const Status& status) {
  if (status.ok()) return text;
  WEIR_WARN("{}={} is ignored: {}", option, text, status.message());
  return "";
}

std::string understood_protocols(const std::string& text) {
  const auto protocols = Protocols::parse(text);
  if (protocols.ok() && !protocols->simple.all())
    WEIR_INFO(init, "NCCL_PROTO={}: collectives without a fast path still use Simple", text);
  return understood("NCCL_PROTO", text, protocols.status());
}

/// Whether the catalogue has an algorithm of that name, or none is named.
Status known_algorithm(const std::string& name) {
  std::string names;
  std::set<std::string_view> seen;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    if (name.empty() || entry.algorithm == name) return {};
    if (seen.insert(entry.algorithm).second)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.algorithm);
  }
  return {Code::invalid_argument, fmt::format("unknown algorithm \"{}\"; expected one of {}", name, names)};
}

}  // namespace

PeerInfo PeerInfo::own(const Options& options, const Routes& routes, const std::vector<PeerAddress>& peers,
                       Rank self) {
  PeerInfo peer_info;
  peer_info.machine = kernel_identity();
  peer_info.cores = allowed_cores();
  CoreSet all;
  all.bits.fill(~uint64_t{0});
  peer_info.quota = usable_cores(all);
  peer_info.shares_gpu = options.shares_gpu;
  peer_info.maps_all = routes.all_map();
  peer_info.settings = RankSettings::of(options);
  peer_info.calibrates = options.calibration && peers.size() > 1;
  peer_info.stated.gamma = 1 / kSumsPerSecond;
  for (Rank peer = 0; peer < routes.size(); ++peer) {
    if (peer == self) continue;
    cost::Rates one;
    const bool inside = peers[static_cast<size_t>(peer)].host == peers[static_cast<size_t>(self)].host;
    (inside ? one.inside : one.between) = channel_of(routes.to(peer).cost);
    peer_info.stated = cost::slower(peer_info.stated, one);
  }
  return peer_info;
}

void PeerInfo::put(ByteWriter& out) const {
  out.put(machine).put(cores).put(quota).put(calibrates).put(knows).put(shares_gpu).put(maps_all);
  out.put(kernel_reads);
  out.put_string(order).put_string(gpu);
  out.put(stated).put(known);
  settings.put(out);
}

PeerInfo PeerInfo::get(ByteReader& in) {
  PeerInfo peer_info;
  peer_info.machine = in.get<uint64_t>();
  peer_info.cores = in.get<CoreSet>();
  peer_info.quota = in.get<int>();
  peer_info.calibrates = in.get<bool>();
  peer_info.knows = in.get<bool>();
  peer_info.shares_gpu = in.get<bool>();
  peer_info.maps_all = in.get<bool>();
  peer_info.kernel_reads = in.get<bool>();
  peer_info.order = printable(in.get_string());
  peer_info.gpu = printable(in.get_string());
  peer_info.stated = in.get<cost::Rates>();
  peer_info.known = in.get<cost::Rates>();
  peer_info.settings = RankSettings::get(in);
  return peer_info;
}

Status check_sharing(std::span<const PeerInfo> peer_infos, const std::vector<PeerAddress>& peers) {
  std::map<std::pair<uint64_t, std::string_view>, size_t> first;
  for (size_t rank = 0; rank < peer_infos.size(); ++rank) {
    const PeerInfo& peer_info = peer_infos[rank];
    if (!peer_info.uses_gpu()) continue;
    const auto [known, added] =
        first.emplace(std::pair(peer_info.machine, std::string_view(peer_info.gpu)), rank);
    const size_t other = known->second;
    if (added || (peer_info.shares_gpu && peer_infos[other].shares_gpu)) continue;
    return {
        Code::invalid_usage,
        fmt::format("Duplicate GPU detected : rank {} and rank {} both on GPU {} of host {}, and "
                    "NCCL_MULTI_RANK_GPU_ENABLE is 0 on rank {}; expected a different GPU for each rank, or "
                    "NCCL_MULTI_RANK_GPU_ENABLE=1 (default)",
                    other, rank, peer_info.gpu, peers[rank].hostname, peer_info.shares_gpu ? other : rank)};
  }
  return {};
}

Result<SumOrder> common_order(std::span<const PeerInfo> peer_infos, const std::vector<PeerAddress>& peers) {
  for (size_t rank = 0; rank < peer_infos.size(); ++rank) {
    const std::string& order = peer_infos[rank].order;
    if (!sum_order_of(order))
      return Status(
          Code::invalid_argument,
          fmt::format("the order of sums of {} is \"{}\"; expected WEIR_ORDER to be run, any or ranks",
                      peers[rank].describe(static_cast<Rank>(rank)), order));
    if (order == peer_infos[0].order) continue;
    return Status(
        Code::invalid_usage,
        fmt::format("the order of sums is {} at rank 0 and {} at {}; expected the same on all ranks "
                    "(WEIR_ORDER, or the order of the communicator's configuration)",
                    peer_infos[0].order, order, peers[rank].describe(static_cast<Rank>(rank))));
  }
  return *sum_order_of(peer_infos[0].order);
}

SharedSettings SharedSettings::of(const Options& options) {
  SharedSettings shared_settings;
  shared_settings.algorithm = understood("WEIR_ALGO", options.algorithm, known_algorithm(options.algorithm));
  shared_settings.nccl_algorithms =
      understood("NCCL_ALGO", options.nccl_algorithms, cost::Filter::parse(options.nccl_algorithms).status());
  shared_settings.nccl_protocols = understood_protocols(options.nccl_protocols);
  shared_settings.fast_paths = options.fast_paths;
  shared_settings.costs = text_of("WEIR_COST_FILE", options.cost_file, [&](const std::string& text) {
    const Status status = cost::read_rates(text, {}).status();
    return status.ok() ? status
                       : Status(status.code(), fmt::format("{}: {}", options.cost_file, status.message()));
  });
  shared_settings.graphs = text_of("NCCL_GRAPH_FILE", options.graph_file, [&](const std::string& text) {
    return devices_in_rings(text, options.graph_file).status();
  });
  shared_settings.loads_plans = !options.plan_file.empty();
  if (options.least_rings <= options.most_rings) {
    shared_settings.least_rings = static_cast<size_t>(options.least_rings);
    shared_settings.most_rings = static_cast<size_t>(options.most_rings);
  } else {
    WEIR_WARN(
        "NCCL_MIN_NCHANNELS={} and NCCL_MAX_NCHANNELS={} are ignored: the minimum is larger than the maximum",
        options.least_rings, options.most_rings);
  }
  return shared_settings;
}

void SharedSettings::put(ByteWriter& out) const {
  out.put_string(costs).put_string(algorithm).put_string(nccl_algorithms).put_string(nccl_protocols);
  out.put_string(graphs).put(fast_paths).put(tuned).put(loads_plans).put(least_rings).put(most_rings);
}

SharedSettings SharedSettings::get(ByteReader& in) {
  SharedSettings shared_settings;
  shared_settings.costs = in.get_string();
  shared_settings.algorithm = in.get_string();
  shared_settings.nccl_algorithms = in.get_string();
  shared_settings.nccl_protocols = in.get_string();
  shared_settings.graphs = in.get_string();
  shared_settings.fast_paths = in.get<bool>();
  shared_settings.tuned = in.get<bool>();
  shared_settings.loads_plans = in.get<bool>();
  shared_settings.least_rings = in.get<size_t>();
  shared_settings.most_rings = in.get<size_t>();
  return shared_settings;
}

void SharedSettings::narrow(size_t least, size_t most) {
  if (most > 0) most_rings = std::min(most_rings, most);
  least_rings = std::min(std::max(least_rings, least), most_rings);
}

cost::Filter SharedSettings::filter() const {
  if (!algorithm.empty()) return cost::Filter::only(algorithm);
  const auto filter = cost::Filter::parse(nccl_algorithms);
  return filter.ok() ? *filter : cost::Filter();  // always ok: rank 0 has checked it
}

Status SharedSettings::check_rank_order() const {
  const cost::Filter plans = filter();
  for (const Collective kind : {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter}) {
    std::string ordered;
    bool any = false;
    for (const algorithms::Entry& entry : algorithms::catalogue()) {
      if (entry.kind != kind || !sums_in_rank_order(entry)) continue;
      any = any || plans.allows(entry);
      ordered += fmt::format("{}{}", ordered.empty() ? "" : ", ", entry.algorithm);
    }
    if (any) continue;
    const bool ours = !algorithm.empty();
    return {Code::invalid_usage,
            fmt::format(
                "{}={} allows no algorithm that sums {} in the order of the ranks, as WEIR_ORDER=ranks "
                "promises; expected one of {}, or another order of sums",
                ours ? "WEIR_ALGO" : "NCCL_ALGO", ours ? algorithm : nccl_algorithms, name(kind), ordered)};
  }
  return {};
}

std::bitset<kCollectives> SharedSettings::exchanged() const {
  std::bitset<kCollectives> kinds;
  if (!fast_paths || !algorithm.empty()) return kinds;
  const cost::Filter plans = filter();
  const auto protocols = Protocols::parse(nccl_protocols);
  for (size_t i = 0; i < kCollectives; ++i) {
    const auto kind = static_cast<Collective>(i);
    kinds[i] = exec::ShmCollectives::does(kind) && plans.allows("one_shot", kind) &&
               (kind != Collective::all_reduce || plans.allows("two_shot", kind)) &&
               (!protocols.ok() || protocols->fast[i]);
  }
  return kinds;
}

cost::Rates SharedSettings::override(const cost::Rates& rates) const {
  const auto read = cost::read_rates(costs, rates);
  return read.ok() ? *read : rates;
}

cost::Environment environment_of(std::span<const PeerInfo> peer_infos,
                                 const std::vector<PeerAddress>& peers) {
  cost::Environment around;
  Numbers hosts, machines;
  for (size_t rank = 0; rank < peer_infos.size(); ++rank) {
    around.host_of.push_back(hosts.of(peers[rank].host));
    const int machine = machines.of(peer_infos[rank].machine);
    around.machine_of.push_back(machine);
    if (static_cast<size_t>(machine) == around.cores.size())
      around.cores.push_back(cores_of(peer_infos, peer_infos[rank].machine));
    around.rates = cost::slower(around.rates, peer_infos[rank].stated);
  }
  for (size_t machine = 0; machine < machines.size(); ++machine) {
    const auto ranks = std::ranges::count(around.machine_of, static_cast<int>(machine));
    if (ranks <= around.cores[machine]) continue;
    for (cost::ChannelRates* channel : {&around.rates.inside, &around.rates.between})
      if (channel->alpha > 0) channel->alpha += kSwitch;
    break;
  }
  if (hosts.size() > 1) around.borders.push_back({around.host_of, 0});
  return around;
}

cost::Environment in_order(const cost::Environment& by_rank, std::span<const Rank> order) {
  cost::Environment around = by_rank;
  const auto sort = [&](std::vector<int>& values) {
    const std::vector<int> before = values;
    for (size_t place = 0; place < order.size(); ++place)
      values[place] = before[static_cast<size_t>(order[place])];
  };
  sort(around.host_of);
  sort(around.machine_of);
  for (cost::Border& border : around.borders) sort(border.group_of);
  return around;
}

std::string circumstances(const Options& options, const Routes& routes, const std::vector<PeerAddress>& peers,
                          Rank self) {
  std::set<std::string_view> inside, between;
  uint32_t fewest = UINT32_MAX;
  const uint64_t host = peers[static_cast<size_t>(self)].host;
  for (Rank peer = 0; peer < routes.size(); ++peer) {
    if (peer == self) continue;
    const bool same = peers[static_cast<size_t>(peer)].host == host;
    (same ? inside : between).insert(routes.to(peer).transport->name());
    if (!same) fewest = std::min(fewest, routes.to(peer).cost.paths);
  }
  const auto ranks = std::ranges::count(peers, host, &PeerAddress::host);
  const SlotSizes sizes = SlotSizes::of(options, peers);
  return fmt::format("weir {}, machine {:016x}, {} ranks, {} cores, inside {}, between {}{}, {} slots of {}",
                     WEIR_VERSION, host_identity(""), ranks, usable_cores(allowed_cores()),
                     fmt::join(inside, "+"), fmt::join(between, "+"),
                     between.empty() ? "" : fmt::format(" over {} paths", fewest), sizes.pair.count,
                     sizes.pair.bytes);
}

}  // namespace weir::core
