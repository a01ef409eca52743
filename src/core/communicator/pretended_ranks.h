// SPDX-License-Identifier: Apache-2.0
/// The ranks of a communicator whose job pretends to run on another cluster: where they are, and their pace.
/// Tests: tests/library/pretended_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/options.h"
#include "src/base/status.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/call/config.h"
#include "src/core/placement/pretended_cluster.h"
#include "src/core/pretended/pretended_pace.h"
#include "transports/memory/segment_view.h"

namespace weir::core {

struct PeerTable;
struct Resources;

/// What a rank says of its place in the cluster.
struct ToldPlace {
  int32_t place = -1;
  uint32_t unused = 0;
  uint64_t digest = 0;
};

/// That of a rank of a communicator of `ranks` ranks; `cluster` null: it does not pretend.
ToldPlace told_place_of(const PretendedCluster* cluster, const Config& config, int ranks);

/// Sets the places of all ranks, their topology and the times of their calls. The same error on all ranks:
/// invalid_usage if they have read different clusters, those of PretendedCluster::places() and of
/// PretendedTimes::make().
Status put_ranks_into(const std::shared_ptr<const PretendedCluster>& cluster, std::span<const ToldPlace> told,
                      const std::vector<PeerAddress>& peers, PeerTable& peer_table);

/// Tells the log and the reports of the process what this rank pretends to be; rank 0 also warns of options
/// that have no effect then.
void tell_what_ranks_pretend(const PretendedCluster& cluster, const Options& options, Bootstrap& bootstrap,
                             const PeerTable& peer_table);

/// What keeps the pace of a rank, of which everything else is set up. `begins`: as in PretendedPace.
std::unique_ptr<PretendedPace> make_pretended_pace(const PretendedCluster& cluster,
                                                   const Resources& resources,
                                                   std::vector<BeginTimes*> begins);

/// Where a rank notes when it began: at the end of its exchange area, in kBeginBytes.
BeginTimes* begin_times(const SegmentView& view);
inline constexpr size_t kBeginBytes = sizeof(BeginTimes) + alignof(BeginTimes);

}  // namespace weir::core
