// SPDX-License-Identifier: Apache-2.0
/// Where each rank runs and which rates it has: exchanged by the ranks, so that all choose alike.
///
/// Plain values and functions of them: thread-safe.
/// Tests: tests/core/peer_info_test.cc
#pragma once

#include <bitset>
#include <span>
#include <string>
#include <vector>

#include "algorithms/cost/filter.h"
#include "algorithms/cost/profile.h"
#include "src/base/bytes.h"
#include "src/base/host.h"
#include "src/base/options.h"
#include "src/base/sum_order.h"
#include "src/core/channels/routes.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/core/planning/rank_settings.h"

namespace weir::core {

struct PeerInfo {
  uint64_t machine = 0;  ///< machine whose cores it shares with others: kernel_identity()
  CoreSet cores;
  int quota = 0;             ///< number of cores that its control group allows
  bool calibrates = false;   ///< its options allow measuring rates
  bool knows = false;        ///< it has measured rates from before: `known`
  bool shares_gpu = true;    ///< other ranks may use its GPU
  bool maps_all = false;     ///< it can map the memory of all ranks: Routes::all_map()
  bool kernel_reads = true;  ///< it reads large messages of its host through the kernel sooner than by copies
  std::string order;         ///< its order of sums, as in WEIR_ORDER
  std::string gpu;           ///< PCI address of its GPU, or else the process's name for it; empty: none
  cost::Rates stated;        ///< rates that the transports to its peers state, the slowest of them
  cost::Rates known;
  RankSettings settings;

  /// The info of this rank, without `known`.
  static PeerInfo own(const Options& options, const Routes& routes, const std::vector<PeerAddress>& peers,
                      Rank self);
  void put(ByteWriter& out) const;
  static PeerInfo get(ByteReader& in);
  bool uses_gpu() const { return !gpu.empty(); }
};

/// invalid_usage, with the same message on all ranks, if two ranks use one GPU and either forbids sharing it.
Status check_sharing(std::span<const PeerInfo> peer_infos, const std::vector<PeerAddress>& peers);

/// The order of sums of all ranks. The same error on all ranks: invalid_argument if one has no valid order,
/// invalid_usage if two differ.
Result<SumOrder> common_order(std::span<const PeerInfo> peer_infos, const std::vector<PeerAddress>& peers);

/// The options of rank 0 that apply to all ranks.
struct SharedSettings {
  std::string costs;  ///< text of the cost file
  std::string algorithm;
  std::string nccl_algorithms;
  std::string nccl_protocols;
  std::string graphs;  ///< text of NCCL's graph file
  bool fast_paths = true;
  bool tuned = false;        ///< rank 0 has a tuner plugin
  bool loads_plans = false;  ///< rank 0 has plans from files
  size_t least_rings = 1;    ///< minimum number of parallel rings
  size_t most_rings = SIZE_MAX;

  /// The settings from `options`. Logs a warning for unreadable or invalid files, unknown words and
  /// contradictory limits, and ignores them.
  static SharedSettings of(const Options& options);
  void put(ByteWriter& out) const;
  static SharedSettings get(ByteReader& in);

  /// Narrows the limits on rings to these, too; 0: no limit. If they contradict each other, the maximum
  /// counts.
  void narrow(size_t least, size_t most);

  cost::Filter filter() const;
  /// invalid_usage if WEIR_ALGO or NCCL_ALGO leave a collective no algorithm that sums in rank order.
  Status check_rank_order() const;
  /// The collectives whose fast paths may be used: neither these nor the algorithm or protocol that they
  /// correspond to are switched off (NCCL_PROTO, NCCL_ALGO, WEIR_ALGO).
  std::bitset<kCollectives> exchanged() const;
  cost::Rates override(const cost::Rates& rates) const;
};

/// The environment indexed by rank, without slot sizes, at the rates that the transports state.
cost::Environment environment_of(std::span<const PeerInfo> peer_infos, const std::vector<PeerAddress>& peers);
/// The same environment, indexed by position in `order`.
cost::Environment in_order(const cost::Environment& by_rank, std::span<const Rank> order);

/// One line that describes what rates measured by `self` depend on. Where a host has lost a network
/// interface, it is another one on all ranks.
std::string circumstances(const Options& options, const Routes& routes, const std::vector<PeerAddress>& peers,
                          Rank self);

}  // namespace weir::core
