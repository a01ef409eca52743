// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/pretended_ranks.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "src/base/log.h"
#include "src/core/communicator/resources.h"

namespace weir::core {

ToldPlace told_place_of(const PretendedCluster* cluster, const Config& config, int ranks) {
  ToldPlace told;
  if (cluster == nullptr) return told;
  told.place = config.pretended_place >= 0 ? config.pretended_place : told_place(ranks);
  told.digest = cluster->digest();
  return told;
}

Status put_ranks_into(const std::shared_ptr<const PretendedCluster>& cluster, std::span<const ToldPlace> told,
                      const std::vector<PeerAddress>& peers, PeerTable& peer_table) {
  std::vector<int> numbers;
  for (size_t rank = 0; rank < told.size(); ++rank) {
    numbers.push_back(told[rank].place);
    if (told[rank].digest != told[0].digest)
      return {Code::invalid_usage,
              fmt::format(
                  "{} has read another cluster from {} (WEIR_PRETEND) than {}; expected the same file on all "
                  "ranks",
                  peers[rank].describe(static_cast<Rank>(rank)), cluster->source(), peers[0].describe(0))};
  }
  auto places = cluster->places(numbers);
  WEIR_TRY(places.status());
  auto times = PretendedTimes::make(cluster, *places);
  WEIR_TRY(times.status());
  peer_table.cluster = cluster->topology_of(*places);
  peer_table.pretended_places = std::move(*places);
  peer_table.pretended_times = std::move(*times);
  return {};
}

void tell_what_ranks_pretend(const PretendedCluster& cluster, const Options& options, Bootstrap& bootstrap,
                             const PeerTable& peer_table) {
  const Rank self = bootstrap.rank();
  const std::string what = cluster.describe(peer_table.pretended_places[static_cast<size_t>(self)]);
  WEIR_INFO(init, "rank {} of {} pretends to be {}", self, bootstrap.size(), what);
  bootstrap.activity().tell_pretended(fmt::format("{} of {}", what, cluster.source()));
  if (self != 0) return;
  const std::pair<std::string_view, const std::string&> others[] = {
      {"NCCL_TOPO_FILE", options.topology_file}, {"WEIR_FABRIC_FILE", options.fabric_file}};
  for (const auto& [name, file] : others)
    if (!file.empty())
      WEIR_WARN("{}={} has no effect: the topology is that of WEIR_PRETEND={}", name, file,
                options.pretended);
}

std::unique_ptr<PretendedPace> make_pretended_pace(const PretendedCluster& cluster,
                                                   const Resources& resources,
                                                   std::vector<BeginTimes*> begins) {
  PretendedPace::Dependencies dependencies;
  dependencies.rank = resources.bootstrap->rank();
  dependencies.scale = cluster.scale();
  dependencies.times = resources.peer_table->pretended_times.get();
  dependencies.loaded = resources.loaded_plans.get();
  dependencies.begins = std::move(begins);
  return std::make_unique<PretendedPace>(std::move(dependencies));
}

BeginTimes* begin_times(const SegmentView& view) {
  const size_t offset =
      (view.exchange_area_bytes - sizeof(BeginTimes)) / alignof(BeginTimes) * alignof(BeginTimes);
  return reinterpret_cast<BeginTimes*>(view.exchange_area + offset);
}

}  // namespace weir::core
