// SPDX-License-Identifier: Apache-2.0
/// Where each rank runs and what it knows of costs: what ranks tell each other so that all choose alike.
///
/// Plain values and functions of them: thread-safe.
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
#include "src/core/channels/routes.h"
#include "src/core/diagnosis/watchdog.h"

namespace weir::core {

struct PeerInfo {
  uint64_t machine = 0;  ///< whose cores it shares with others: kernel_identity()
  CoreSet cores;
  int quota = 0;            ///< of cores, for its control group
  bool calibrates = false;  ///< rates may be measured
  bool knows = false;       ///< they were before
  bool shares_gpu = true;   ///< others may be on its GPU
  std::string gpu;          ///< its address on the bus, else how this process calls it; empty: none
  cost::Rates stated;       ///< by the transports towards its peers, the slowest of them
  cost::Rates known;

  /// But for `known`.
  static PeerInfo own(const Options& options, const Routes& routes, const std::vector<PeerAddress>& peers,
                      Rank self);
  void put(ByteWriter& out) const;
  static PeerInfo get(ByteReader& in);
  bool uses_gpu() const { return !gpu.empty(); }
};

/// Whether no two ranks have one GPU of which either does not let the other share. Else invalid_usage, the
/// same sentence on all ranks.
Status check_sharing(std::span<const PeerInfo> peer_infos, const std::vector<PeerAddress>& peers);

/// What rank 0's options say for all ranks.
struct SharedSettings {
  std::string costs;  ///< text of the file
  std::string algorithm;
  std::string nccl_algorithms;
  std::string nccl_protocols;
  std::string graphs;  ///< text of a graph file of NCCL
  bool fast_paths = true;
  bool tuned = false;      ///< rank 0 has a tuner plugin
  size_t least_rings = 1;  ///< of plans over rings
  size_t most_rings = SIZE_MAX;

  /// Files that cannot be read or are wrong, words that mean nothing and limits that contradict each other
  /// are warned of and left out.
  static SharedSettings of(const Options& options);
  void put(ByteWriter& out) const;
  static SharedSettings get(ByteReader& in);

  /// Rings within what is asked for here, too; 0: anything. Where both cannot be, the most counts.
  void narrow(size_t least, size_t most);

  cost::Filter filter() const;
  /// The collectives whose fast paths may be taken: those are not switched off, and neither is what they
  /// stand for (NCCL_PROTO, NCCL_ALGO, WEIR_ALGO).
  std::bitset<kCollectives> exchanged() const;
  cost::Rates override(const cost::Rates& rates) const;
};

/// By rank, without sizes of slots; rates as transports state them.
cost::Environment environment_of(std::span<const PeerInfo> peer_infos, const std::vector<PeerAddress>& peers);
/// By place.
cost::Environment in_order(const cost::Environment& by_rank, std::span<const Rank> order);

/// What rates measured by `self` depend on, in a line.
std::string circumstances(const Options& options, const Routes& routes, const std::vector<PeerAddress>& peers,
                          Rank self);

}  // namespace weir::core
