// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "algorithms/catalogue/layout.h"
#include "algorithms/catalogue/planned.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/cost/leaf_border.h"
#include "algorithms/network/host_ranks.h"
#include "src/base/log.h"
#include "src/core/channels/credit.h"
#include "src/core/communicator/board_memory.h"
#include "src/core/communicator/pretended_ranks.h"
#include "src/core/communicator/set_up_step.h"
#include "src/core/execution/select_rates.h"
#include "src/core/placement/near_ports.h"
#include "src/core/planning/plan_files.h"
#include "src/core/planning/rate_cache.h"
#include "src/core/planning/ring_file.h"
#include "src/net/socket_events.h"
#include "topology/views/summary.h"
#include "transports/memory/kernel_read.h"
#include "transports/memory/segment_mapper.h"

namespace weir::core {
namespace {

/// Scratch that peers may read, for plans that pull. It lies behind the exchange area's part for shm
/// collectives, so that a plan and a shm collective that follow each other never use the same bytes.
constexpr size_t kSharedScratchBytes = size_t{1} << 20;

/// Minimum size for direct access if ranks share cores: its second stage costs a round of context switches,
/// so it pays only for larger buffers.
constexpr size_t kDirectBytesWhenCrowded = size_t{16} << 10;

/// Polls of a rank that shares its core, in a shm collective: data that all others are just sending arrives
/// sooner than two context switches take. Polling a channel does not pay.
constexpr uint32_t kSpinsWhenCrowded = 5;

/// How a rank waits: it spins only if each rank has its own core; otherwise it yields the core to the rank
/// that it waits for. The more ranks share the cores, the fewer polls each makes before it blocks.
WaitPolicy wait_policy(int ranks, int cores, const Options& asked, uint32_t spins_when_crowded) {
  constexpr int kLooksPerCore = 20'000;
  WaitPolicy policy;
  if (ranks > cores) policy.spins = spins_when_crowded;
  if (asked.spins >= 0) policy.spins = static_cast<uint32_t>(asked.spins);
  policy.yields = std::min(policy.yields, static_cast<uint32_t>(kLooksPerCore * cores / ranks));
  if (asked.yields >= 0) policy.yields = static_cast<uint32_t>(asked.yields);
  policy.crowd = static_cast<uint32_t>(std::max(1, ranks / cores));
  return policy;
}

struct IslandViews {
  std::vector<exec::ExchangeArea> exchange_areas;
  std::vector<Doorbell*> doorbells;
  SharedScratch scratch;
  std::vector<BeginTimes*> begins;  ///< only of jobs that pretend; they take the place of some scratch
};

/// Null, with a warning and `why_none`, where the system gives no shared memory: networks do without it.
Result<std::unique_ptr<Segment>> make_segment(const Bootstrap& bootstrap, size_t exchange_bytes,
                                              std::string& why_none) {
  Segment::Spec spec;
  spec.uid = bootstrap.uid();
  spec.rank = bootstrap.rank();
  spec.exchange_area_bytes = exchange_bytes + kSharedScratchBytes;
  const uint64_t own_host = bootstrap.peers()[static_cast<size_t>(spec.rank)].host;
  spec.neighbours = static_cast<size_t>(std::ranges::count(bootstrap.peers(), own_host, &PeerAddress::host));
  auto made = Segment::create(spec);
  if (made.ok() || made.status().is_shortage()) return made;
  why_none = made.status().message();
  WEIR_WARN("rank {} goes on without shared memory: {}", spec.rank, why_none);
  return std::unique_ptr<Segment>();
}

/// Maps the segments of all ranks; empty if some cannot be mapped, or if they are too many. Exchange areas
/// may differ in size (WEIR_EXCHANGE_AREA_BYTES); all ranks use as much of each as the smallest has.
Result<IslandViews> view_island(const Routes& routes, Rank self, Watchdog& watchdog, bool pretends) {
  IslandViews island;
  if (routes.size() == 1 || routes.size() > exec::ShmCollectives::kMostRanks || !routes.all_map())
    return island;
  std::vector<std::byte*> areas;
  size_t least_bytes = SIZE_MAX;
  for (Rank rank = 0; rank < routes.size(); ++rank) {
    auto view = routes.to(rank).transport->segment_mapper()->map(routes.to(rank).address);
    if (view.status().code() == Code::remote_error) return watchdog.explain(rank, view.status());
    WEIR_TRY(view.status());
    if (view->exchange_area_bytes < kSharedScratchBytes)
      return Status(Code::remote_error,
                    fmt::format("the segment of rank {} has {} bytes for exchanges; expected at least {}",
                                rank, view->exchange_area_bytes, kSharedScratchBytes));
    const size_t exchange_bytes = view->exchange_area_bytes - kSharedScratchBytes;
    areas.push_back(view->exchange_area);
    least_bytes = std::min(least_bytes, exchange_bytes);
    island.doorbells.push_back(view->doorbell);
    if (pretends) island.begins.push_back(begin_times(*view));
    island.scratch.peers.push_back(view->exchange_area + exchange_bytes);
    if (rank == self) island.scratch.own = view->exchange_area + exchange_bytes;
  }
  island.scratch.bytes = kSharedScratchBytes - (pretends ? kBeginBytes : 0);
  if (exec::ExchangeArea(areas.front(), least_bytes, routes.size()).half_bytes() == 0) {
    if (self == 0)
      WEIR_INFO(init, "an exchange area has {} bytes, too few for {} ranks: there are no fast paths",
                least_bytes, routes.size());
    return island;
  }
  for (std::byte* const area : areas) island.exchange_areas.emplace_back(area, least_bytes, routes.size());
  return island;
}

std::string exchanged_words(const std::bitset<kCollectives>& exchanged) {
  std::string names;
  bool all = true;
  for (size_t i = 0; i < kCollectives; ++i) {
    const auto kind = static_cast<Collective>(i);
    if (exchanged[i]) names += fmt::format("{}{}", names.empty() ? "" : ", ", name(kind));
    all = all && exchanged[i] == exec::ShmCollectives::does(kind);
  }
  if (names.empty()) return "";
  return fmt::format(", {} through shared memory", all ? "collectives" : names);
}

std::string_view order_words(SumOrder order) {
  switch (order) {
    case SumOrder::run: return "run (the same in every run of this job; WEIR_ORDER)";
    case SumOrder::any: return "any (plans of sums depend on measured rates; WEIR_ORDER)";
    case SumOrder::ranks: return "ranks (each sum is ((x0 + x1) + x2) + ...; WEIR_ORDER)";
  }
  return "";
}

/// Adds the network between the ranks to the layout if there are several hosts and all bandwidths are known.
/// `inside`: rates that all ranks know, of the memory through which ranks of one host exchange data.
void join_hosts(PeerTable& table, const cost::ChannelRates& inside, algorithms::Layout& layout) {
  const JobTopology& cluster = table.cluster;
  const std::vector<topology::Index>& hosts = cluster.hosts;
  const bool single = std::ranges::adjacent_find(hosts, std::ranges::not_equal_to()) == hosts.end();
  if (single || hosts.size() > cost::NetworkLinks::kMostPlaces) return;
  const double gb_per_s = 1e-9 / std::max(inside.beta, 1e-15);
  auto network = algorithms::network_of_hosts(cluster.graph, hosts, gb_per_s);
  if (!network.ok()) return;
  const std::vector<char> between = algorithms::switches_between_hosts(*network, cluster.graph);
  algorithms::join(layout, std::move(*network), between, ir::kMaxLanes,
                   [&](const auto& make) { return table.trees.of("hosts", make); });
}

/// One line per ring of ranks, as NCCL has one per channel.
void log_rings(const algorithms::Layout& layout) {
  constexpr size_t kMostShown = 32;  // number of ranks shown
  for (size_t number = 0; number < layout.rings.size(); ++number) {
    std::string ranks;
    for (const Rank place : std::span(layout.rings[number]).first(std::min(kMostShown, layout.order.size())))
      ranks += fmt::format(" {}", layout.order[static_cast<size_t>(place)]);
    WEIR_INFO(graph, "Ring {:02d}/{:02d} :{}{}", number, layout.rings.size(), ranks,
              layout.order.size() > kMostShown ? " ..." : "");
  }
}

/// The table from the infos of all ranks, for the ranks of this process; `self` is one of them.
/// `pretended`: the cluster that the job pretends to run on; null: none.
Result<std::shared_ptr<PeerTable>> read_peer_table(const std::vector<Bytes>& all,
                                                   const std::vector<PeerAddress>& peers, Rank self,
                                                   const HostBoard::Spec& board,
                                                   const std::shared_ptr<const PretendedCluster>& pretended) {
  const SocketAddress& own = peers[static_cast<size_t>(self)].listener;
  const auto here = static_cast<int>(std::ranges::count(peers, own, &PeerAddress::listener));
  std::shared_ptr<PeerTable> peer_table(new PeerTable{{}, {}, {}, {}, {}, {}, {}, {}, {}, ProvenPlans(here)});
  std::optional<device::ShareHandle> handle;
  std::vector<Bytes> contributions;
  std::vector<ToldPlace> told;
  for (const Bytes& bytes : all) {
    ByteReader reader(bytes);
    peer_table->peer_infos.push_back(PeerInfo::get(reader));
    contributions.push_back(reader.get_bytes());
    told.push_back(reader.get<ToldPlace>());
    const Bytes shared = reader.get_bytes();
    const uint64_t host = peers[contributions.size() - 1].host;
    if (host == peers[static_cast<size_t>(self)].host && shared.size() == sizeof(device::ShareHandle))
      handle = ByteReader(shared).get<device::ShareHandle>();
    if (contributions.size() == 1) peer_table->shared_settings = SharedSettings::get(reader);
  }
  WEIR_TRY(check_sharing(peer_table->peer_infos, peers));
  std::vector<RankSettings> settings;
  for (const PeerInfo& peer_info : peer_table->peer_infos) settings.push_back(peer_info.settings);
  WEIR_TRY(check_same(settings));
  peer_table->overruled = overruled(settings);
  auto order = common_order(peer_table->peer_infos, peers);
  WEIR_TRY(order.status());
  peer_table->order = *order;
  if (*order == SumOrder::ranks) WEIR_TRY(peer_table->shared_settings.check_rank_order());
  if (pretended != nullptr) {
    WEIR_TRY(put_ranks_into(pretended, told, peers, *peer_table));
  } else {
    auto assembled = JobTopology::assemble(contributions, peers);
    WEIR_TRY(assembled.status());
    peer_table->cluster = std::move(*assembled);
  }
  if (!handle) return peer_table;
  peer_table->board = std::make_unique<HostBoard>(board, handle);
  peer_table->tables.share(*peer_table->board);
  peer_table->trees.share(*peer_table->board);
  peer_table->plans.share(*peer_table->board);
  if (pretended != nullptr) peer_table->pretended_times->share(*peer_table->board);
  return peer_table;
}

}  // namespace

Result<std::unique_ptr<Resources>> Resources::build(Runtime& runtime, std::shared_ptr<Listener> listener,
                                                    std::unique_ptr<Bootstrap> bootstrap,
                                                    const Config& config, const device::Gpu* gpu) {
  std::unique_ptr<Resources> made;
  WEIR_TRY(set_up_step(*bootstrap, [&]() -> Status {
    made = std::make_unique<Resources>();
    made->listener = std::move(listener);
    return {};
  }));
  Bootstrap& peers = *bootstrap;
  made->bootstrap = std::move(bootstrap);
  WEIR_TRY(set_up_step(peers, [&] { return made->assemble(runtime, config, gpu); }));
  return made;
}

/// Makes all members behind `bootstrap`.
Status Resources::assemble(Runtime& runtime, const Config& config, const device::Gpu* gpu) {
  const Options& options = runtime.options();
  const Rank self = bootstrap->rank();
  std::string no_segment;
  auto own = make_segment(*bootstrap, static_cast<size_t>(options.exchange_area_bytes), no_segment);
  WEIR_TRY(own.status());
  segment = std::move(*own);

  WEIR_TRY(find_routes(runtime, config.network, gpu, no_segment));
  profile = ProfilerFeed::of(options, *bootstrap, config.name);
  links = std::make_unique<Links>(self, *routes, SlotSizes::of(options, bootstrap->peers()), profile.get(),
                                  &bootstrap->activity().recorder());

  auto island = view_island(*routes, self, bootstrap->watchdog(), !options.pretended.empty());
  WEIR_TRY(island.status());
  tuner = tuner_for(options, *bootstrap);
  // One more exchange: no rank may finish, and unmap its segment, before all ranks have mapped it.
  WEIR_TRY(meet(runtime, config, gpu));
  if (!std::ranges::all_of(peer_table->peer_infos, &PeerInfo::maps_all)) *island = {};
  join_island(runtime, island->exchange_areas, island->doorbells);
  const algorithms::Layout layout = this->layout();
  make_selector(layout, island->scratch);
  if (peer_table->shared_settings.tuned) tuning_result = std::make_unique<TuningResult>();
  plans = std::make_unique<PlanCache>(self, layout, *links, std::move(island->scratch), *selector,
                                      peer_table->plans, options.pace_share);
  links->set_rendezvous_bytes(rendezvous_bytes());
  pairs = std::make_unique<Pairs>(self, bootstrap->size(), *links);
  one_sided = std::make_unique<OneSidedTask>(
      OneSidedTask::Dependencies{self, bootstrap->uid(), &runtime.windows(), &bootstrap->peers(),
                                 runtime.timeouts().peer_ms, bootstrap->credentials()});

  make_execution(options);
  WEIR_INFO(init, "{}", describe());
  WEIR_TRY(settle(runtime, config));
  if (peer_table->pretended_times != nullptr)
    pace = make_pretended_pace(**runtime.pretended_cluster(), *this, std::move(island->begins));
  return {};
}

/// Makes what carries operations out, of all that is there.
void Resources::make_execution(const Options& options) {
  const SharedSettings& settings = peer_table->shared_settings;
  Execution::Dependencies dependencies;
  dependencies.rank = bootstrap->rank();
  dependencies.ranks = bootstrap->size();
  dependencies.links = links.get();
  dependencies.plans = plans.get();
  dependencies.pairs = pairs.get();
  dependencies.one_sided = one_sided.get();
  dependencies.shm_collectives = shm_collectives.get();
  dependencies.exchanged = exchanged;
  dependencies.selector = settings.tuned || settings.loads_plans ? selector.get() : nullptr;
  dependencies.profile = profile.get();
  dependencies.activity = &bootstrap->activity();
  dependencies.watchdog = &bootstrap->watchdog();
  dependencies.rings = routes->all_ring();
  dependencies.doorbell = dependencies.rings && segment != nullptr ? segment->view().doorbell : nullptr;
  dependencies.wait_policy = wait_policy(local_ranks, local_cores, options, 0);
  if (const SocketEvents* const events = routes->events()) {
    dependencies.wait_policy.events = events->fd();
    dependencies.wait_policy.only_events = events->fd() >= 0 && routes->all_events(bootstrap->rank());
  }
  dependencies.shm_wait_policy = wait_policy(local_ranks, local_cores, options, kSpinsWhenCrowded);
  dependencies.check = options.check;
  speeds = std::make_unique<LinkSpeeds>(bootstrap->activity(), bootstrap->rank(), transports);
  dependencies.speeds = speeds->measures() ? speeds.get() : nullptr;
  const Rank self = bootstrap->rank();
  if (options.check_values > 0 && bootstrap->activity().about().gpu < 0) {
    values = std::make_unique<ValueCheck>(bootstrap->peers()[static_cast<size_t>(self)].describe(self), self,
                                          bootstrap->size(), bootstrap->activity().recorder(),
                                          options.check_values == 2);
    dependencies.values = values.get();
  }
  execution = std::make_unique<Execution>(dependencies);
  one_sided->watch(execution->aborted());
}

/// Makes the transports, and agrees with all ranks on the transport of each pair.
Status Resources::find_routes(Runtime& runtime, const NetworkChoice& network, const device::Gpu* gpu,
                              const std::string& no_segment) {
  NearestPorts nearest;
  if (gpu != nullptr) {
    nearest = [&runtime, gpu]() -> std::vector<std::string> {
      const auto host = runtime.local_host().host();
      if (!host.ok()) return {};
      return near_ports(**host, gpu->address());
    };
  }
  const TransportContext context{
      {bootstrap->uid(), bootstrap->rank(), runtime.host(), bootstrap->credentials()},
      {segment.get(), no_segment},
      &runtime.local_segments(),
      &runtime.memory(),
      listener.get(),
      &runtime.credit(),
      network,
      std::move(nearest),
      runtime.verbs()};
  auto made = make_transports(context, runtime.options());
  if (!made.ok()) return tell_of_failure(*bootstrap, made.status(), WrongSettings::own_rank);
  transports = std::move(*made);
  network_report = std::make_unique<NetworkReport>(bootstrap->activity(), transports);
  auto found = Routes::find(*bootstrap, transports, settings_of_routes(runtime.options(), network.name));
  WEIR_TRY(found.status());
  routes = std::make_unique<Routes>(std::move(*found));
  warn_of_substitutes(runtime.options());
  return {};
}

/// Says which network was asked for and is not used, once per host of which peers elsewhere use another.
void Resources::warn_of_substitutes(const Options& options) const {
  const std::vector<PeerAddress>& peers = bootstrap->peers();
  const Rank self = bootstrap->rank();
  if (!is_lowest_on_host(peers, self)) return;
  const std::tuple<std::string_view, const std::string&, std::string_view> asked[] = {
      {"NCCL_NET_PLUGIN", options.net_plugins, "net_plugin"}, {"NCCL_IB_HCA", options.ib_hca, "verbs"}};
  for (const auto& [setting, value, name] : asked) {
    const auto transport = std::ranges::find(transports, name, [](const auto& one) { return one->name(); });
    if (value.empty() || value == "none" || value.starts_with('^') || transport == transports.end()) continue;
    bool elsewhere = false, used = false;
    for (Rank peer = 0; peer < routes->size(); ++peer) {
      if (peers[static_cast<size_t>(peer)].host == peers[static_cast<size_t>(self)].host) continue;
      elsewhere = true;
      used = used || routes->to(peer).transport == transport->get();
    }
    const Bytes own = (*transport)->address();
    if (elsewhere && !used)
      WEIR_WARN("{}={} has no effect: {}; the transports to peers are {}", setting, value,
                own.empty() ? (*transport)->reach(own).why_not : "no rank of another host uses the same",
                routes->summary(self));
  }
}

/// Makes the shm collectives, if all ranks can map each other's segments.
void Resources::join_island(Runtime& runtime, const std::vector<exec::ExchangeArea>& exchange_areas,
                            const std::vector<Doorbell*>& doorbells) {
  exchanged = exchange_areas.empty() ? std::bitset<kCollectives>() : peer_table->shared_settings.exchanged();
  if (exchanged.none()) return;
  const Rank self = bootstrap->rank();
  allocations = std::make_unique<exec::Allocations>(self, runtime.memory(), exchange_areas);
  exec::ShmCollectives::Limits limits;
  limits.rendezvous_bytes = kernel_reads ? rendezvous_bytes() : 0;
  if (exchange_areas.size() == 2) limits.suit_two(local_ranks <= local_cores);
  if (local_ranks > local_cores) {
    limits.direct_bytes = kDirectBytesWhenCrowded;
    limits.most_rendezvous = limits.streaming_bytes;  // the kernel's copies do not bypass the cache
    limits.most_summed = 0;
  }
  shm_collectives =
      std::make_unique<exec::ShmCollectives>(self, exchange_areas, doorbells, *allocations, limits);
}

/// Exchanges the ranks' PeerInfo and, from one rank per host, the host's topology.
Status Resources::meet(Runtime& runtime, const Config& config, const device::Gpu* gpu) {
  const std::vector<PeerAddress>& peers = bootstrap->peers();
  const Rank self = bootstrap->rank();
  const Options& options = runtime.options();
  bootstrap->activity().tell_about(config.name, gpu != nullptr ? gpu->description() : "host memory",
                                   gpu != nullptr ? gpu->index() : -1);
  PeerInfo peer_info = PeerInfo::own(options, *routes, peers, self);
  if (gpu != nullptr) peer_info.gpu = gpu->address().empty() ? gpu->description() : gpu->address();
  peer_info.order = config.order ? std::string(name(*config.order)) : options.order;
  if (options.calibration) peer_info.kernel_reads = kernel_reads_pay();
  if (peer_info.calibrates) {
    const auto known = RateCache(options.cache_dir, circumstances(options, *routes, peers, self)).read();
    peer_info.knows = known.has_value();
    peer_info.known = known.value_or(cost::Rates{});
  }
  ByteWriter told;
  peer_info.put(told);
  const auto pretended = runtime.pretended_cluster();
  WEIR_TRY(pretended.status());
  told.put_bytes(*pretended != nullptr ? Bytes()
                                       : JobTopology::contribution(runtime.local_host(), peers, self));
  told.put(told_place_of(pretended->get(), config, bootstrap->size()));
  // For few ranks tables are made sooner than another process is awaited; simulations are not.
  board_memory = make_board_memory(*bootstrap, *pretended != nullptr ? 2 : 32);
  told.put_bytes(handle_bytes(board_memory));
  if (self == 0) {
    SharedSettings shared_settings = SharedSettings::of(options);
    shared_settings.tuned = tuner != nullptr;
    shared_settings.narrow(config.least_rings, config.most_rings);
    shared_settings.put(told);
  }
  auto all = bootstrap->gather(told.take());
  WEIR_TRY(all.status());
  auto derived = (*all)->derive<PeerTable>([&] {
    const HostBoard::Spec board{bootstrap->uid(), bootstrap->credentials().secret,
                                processes_beside(peers, self)};
    return read_peer_table((*all)->by_rank(), peers, self, board, *pretended);
  });
  WEIR_TRY(derived.status());
  peer_table = std::move(*derived);
  const JobTopology& cluster = peer_table->cluster;
  gpus_somewhere = std::ranges::any_of(peer_table->peer_infos, &PeerInfo::uses_gpu);
  WEIR_INFO(init, "rank {} of {} uses {}", self, bootstrap->size(),
            gpu != nullptr ? gpu->description() : "host memory");
  count_neighbours();
  if (*pretended != nullptr) tell_what_ranks_pretend(**pretended, options, *bootstrap, *peer_table);
  if (self == 0) {
    WEIR_INFO(init, "Topology: {}", topology::summary_of(cluster.graph));
    for (const std::string& port : cluster.lost)
      WEIR_INFO(init, "Topology: {} has no link, so that plans do without its cables", port);
    WEIR_INFO(init, "Order of sums: {}", order_words(peer_table->order));
    for (const std::string& sentence : peer_table->overruled) WEIR_WARN("{}", sentence);
  }
  if (self != options.topology_dump_rank || options.topology_dump_file.empty()) return {};
  if (const Status dumped = cluster.dump(self, options.topology_dump_file); !dumped.ok())
    WEIR_WARN("NCCL_TOPO_DUMP_FILE: {}", dumped.message());
  return {};
}

/// Counts the ranks of this machine and the cores that they may use between them.
void Resources::count_neighbours() {
  const uint64_t own = peer_table->peer_infos[static_cast<size_t>(bootstrap->rank())].machine;
  CoreSet together;
  for (const PeerInfo& peer_info : peer_table->peer_infos) {
    if (peer_info.machine != own) continue;
    ++local_ranks;
    kernel_reads = kernel_reads && peer_info.kernel_reads;
    together |= peer_info.cores;
  }
  local_cores = usable_cores(together);
  const auto& peers = bootstrap->peers();
  const auto self = static_cast<size_t>(bootstrap->rank());
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    const bool is_here = peers[rank].host == peers[self].host && peers[rank].pid == peers[self].pid;
    if (is_here && peer_table->peer_infos[self].uses_gpu() &&
        peer_table->peer_infos[rank].gpu == peer_table->peer_infos[self].gpu)
      ++gpu_sharers;
  }
}

/// Smallest message that peers read from the sender's memory: for smaller ones two copies take less time than
/// a system call and an answer, for which ranks that share a core take turns once more (docs/lab/changes.md).
uint32_t Resources::rendezvous_bytes() const {
  if (!kernel_reads) return UINT32_MAX;
  return (local_ranks > local_cores ? 64 : 16) << 10;
}

/// The layout of the job's topology, adapted to rank 0's graph file and options.
algorithms::Layout Resources::layout() const {
  // The machine does the work by its own plans.
  if (peer_table->pretended_times != nullptr)
    return algorithms::layout_by_rank(peer_table->peer_infos.size());
  algorithms::Layout layout = algorithms::layout_of(peer_table->cluster.graph, peer_table->cluster.hosts);
  if (!peer_table->shared_settings.graphs.empty()) {
    const auto rings = devices_in_rings(peer_table->shared_settings.graphs, "NCCL_GRAPH_FILE");
    if (rings.ok()) {  // always true: rank 0 has checked the file
      follow_rings(layout, peer_table->cluster.hosts, *rings);
      if (bootstrap->rank() == 0)
        WEIR_INFO(init, "NCCL_GRAPH_FILE: plans use the devices of a host in the order {}",
                  fmt::join(rings->front(), ", "));
    }
  }
  limit_rings(layout, peer_table->shared_settings.least_rings, peer_table->shared_settings.most_rings);
  if (bootstrap->rank() == 0) log_rings(layout);
  join_hosts(*peer_table, stated_rates().inside, layout);
  return layout;
}

/// Sets up what requires messages between the ranks: rates, receive credit, the tuning result, loaded plans.
Status Resources::settle(Runtime& runtime, const Config& config) {
  WEIR_TRY(settle_rates(runtime.options()));
  WEIR_TRY(take_tuning_result());
  WEIR_TRY(take_loaded_plans(config, runtime.options().plan_file));
  limit_senders(runtime);
  if (profile != nullptr) profile->start();
  bootstrap->activity().recorder().forget();
  bootstrap->activity().set_stage(Activity::Stage::connected);
  return {};
}

void Resources::make_selector(const algorithms::Layout& layout, const SharedScratch& scratch) {
  cost::Environment around = environment_of(peer_table->peer_infos, bootstrap->peers());
  around.slot_bytes = links->sizes().plan.bytes;
  around.scratch_bytes = scratch.peers.empty() ? 0 : scratch.bytes;
  cost::Environment by_rank = around;
  by_rank.layout = algorithms::layout_by_rank(layout.order.size());
  auto leaves = layout.network || peer_table->pretended_times != nullptr
                    ? std::nullopt
                    : cost::leaf_border(peer_table->cluster.graph, peer_table->cluster.hosts);
  if (leaves) around.borders.push_back(std::move(*leaves));
  around = in_order(std::move(around), layout.order);
  if (layout.network) around.links = cost::NetworkLinks::of(*layout.network, around.host_of);
  around.layout = layout;
  selector = std::make_unique<Selector>(std::move(around), std::move(by_rank), peer_table->order,
                                        peer_table->shared_settings.filter(), peer_table->tables);
}

/// Sets the receive credit; called once the rates are known.
void Resources::limit_senders(Runtime& runtime) const {
  const double beta = selector->environment().rates.between.beta;
  const uint64_t bytes = credit_of(runtime.options(), beta, bootstrap->peers(), bootstrap->rank());
  runtime.credit().set_bytes(bytes);
  WEIR_INFO(net, "tcp: receive credit for peers on other hosts: {} bytes (WEIR_CREDIT)", bytes);
}

/// The rates that transports or the cost file state: the same on all ranks, and in every run.
cost::Rates Resources::stated_rates() const {
  return peer_table->shared_settings.override(
      environment_of(peer_table->peer_infos, bootstrap->peers()).rates);
}

/// Gets the rates; called last, since they may have to be measured with everything else in place.
Status Resources::settle_rates(const Options& options) {
  auto rates = select_rates(
      {options, *bootstrap, *routes, peer_table->peer_infos, peer_table->shared_settings}, *execution);
  WEIR_TRY(rates.status());
  selector->set_rates(*rates, stated_rates());
  if (bootstrap->rank() != 0 || bootstrap->size() == 1 || log_level() < LogLevel::info) return {};
  WEIR_INFO(init, "Costs: {}", core::describe(selector->environment()));
  if (exchanged[static_cast<size_t>(Collective::all_reduce)]) return {};
  for (const std::string& line : cost::lines_of(selector->table(Collective::all_reduce)))
    WEIR_INFO(init, "all_reduce {}", line);
  return {};
}

/// Sends the result of rank 0's tuner to all ranks; called once the rates are known.
Status Resources::take_tuning_result() {
  if (tuning_result == nullptr || bootstrap->size() == 1) return {};
  Bytes own;
  if (bootstrap->rank() == 0) own = TuningResult::of(*tuner, *selector, exchanged).encode();
  auto all = bootstrap->all_gather(own);
  WEIR_TRY(all.status());
  auto told = TuningResult::decode(all->front());
  WEIR_TRY(told.status());
  *tuning_result = *told;
  selector->follow(*tuning_result);
  return {};
}

/// Sends the plans of rank 0's files to all ranks.
Status Resources::take_loaded_plans(const Config& config, const std::string& path) {
  if (!peer_table->shared_settings.loads_plans || bootstrap->size() == 1) return {};
  Bytes own;
  if (bootstrap->rank() == 0)
    own = encode_plans(
        read_plan_files(path, config.name, bootstrap->size(), links->sizes().plan.count, peer_table->order));
  auto all = bootstrap->gather(own);
  WEIR_TRY(all.status());
  auto told = (*all)->derive<ir::LoadedPlans>([&]() -> Result<std::shared_ptr<ir::LoadedPlans>> {
    auto plans = decode_plans((*all)->by_rank().front());
    WEIR_TRY(plans.status());
    return std::make_shared<ir::LoadedPlans>(std::move(*plans));
  });
  if (!told.ok())
    return {told.status().code(), fmt::format("WEIR_PLAN_FILE of {}: {}", bootstrap->peers()[0].describe(0),
                                              told.status().message())};
  loaded_plans = *told;
  selector->follow(*loaded_plans);
  return {};
}

void Resources::register_windows(WindowRegistry& windows, std::shared_ptr<WindowSpace> space) {
  Doorbell* const bell = routes->all_ring() && segment != nullptr ? segment->view().doorbell : nullptr;
  registration = std::make_unique<WindowRegistry::Registration>(windows, bootstrap->uid(), bootstrap->rank(),
                                                                std::move(space), bell);
}

std::string Resources::describe() const {
  return fmt::format("rank {} of {} ({} on this machine, {} cores): transports {}{}", bootstrap->rank(),
                     bootstrap->size(), local_ranks, local_cores, routes->summary(bootstrap->rank()),
                     exchanged_words(exchanged));
}

}  // namespace weir::core
