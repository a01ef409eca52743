// SPDX-License-Identifier: Apache-2.0

#include "algorithms/mscclpp/placement.h"

#include <map>
#include <set>
#include <tuple>

namespace weir::mscclpp {
namespace {

using ir::Move;

/// A block that still takes work.
struct Open {
  int block = -1;
  size_t operations = 0;
  std::set<std::tuple<Rank, int, bool>> peers;  // rank, lane, and whether it is on another host
};

class Placer {
 public:
  Placer(const ir::Plan& plan, const msccl::WorkOrder& order, const Values& values,
         std::span<const int> hosts, WorkDivision division)
      : plan_(plan), order_(order), values_(values), hosts_(hosts), division_(division) {
    placement_.block.assign(2 * plan.moves.size(), -1);
    placement_.blocks.assign(static_cast<size_t>(plan.shape.ranks), 0);
    find_waits();
  }

  BlockPlacement place() {
    for (size_t move = 0; move < plan_.moves.size(); ++move) {
      put(msccl::sending(move));
      if (msccl::receiving(plan_, move) != msccl::sending(move)) put(msccl::receiving(plan_, move));
    }
    return std::move(placement_);
  }

 private:
  /// A source that pulls or a destination that is written to has no part in the move, and no lane for it.
  int lane_of(size_t work) const {
    const Move& move = plan_.moves[work / 2];
    const bool as_source = (work % 2 == 0 && !move.pull && move.src != move.dst) || move.push;
    return (as_source ? move.src_lane : move.dst_lane) % division_.lanes;
  }

  /// Whether each work waits for work of other lanes, or lets it wait.
  void find_waits() {
    others_.assign(placement_.block.size(), 0);
    for (size_t work = 0; work + 1 < order_.first.size(); ++work) {
      for (size_t at = order_.first[work]; at < order_.first[work + 1]; ++at) {
        const size_t later = order_.later[at];
        if (lane_of(later) == lane_of(work)) continue;
        others_[later] |= 1;
        others_[work] |= 2;
      }
    }
  }

  size_t operations_of(size_t work) const {
    const Move& move = plan_.moves[work / 2];
    const bool local = move.src == move.dst;
    size_t count = (others_[work] & 1) != 0 ? 2 : 0;
    if ((others_[work] & 2) != 0) count += 2;
    if (!local && work % 2 == 0) return count + (other_host(move) ? 2 : 3);
    return count + 2 + arrival_of(plan_, order_, values_, work / 2).size();
  }

  bool other_host(const Move& move) const {
    return hosts_[static_cast<size_t>(move.src)] != hosts_[static_cast<size_t>(move.dst)];
  }

  void put(size_t work) {
    const Rank rank = rank_of(plan_, work);
    Open& open = open_[{rank, lane_of(work)}];
    const size_t operations = operations_of(work);
    const Move& move = plan_.moves[work / 2];
    std::set<std::tuple<Rank, int, bool>> peers = open.peers;
    if (move.src != move.dst) {
      const size_t other = work ^ 1;
      peers.emplace(rank_of(plan_, other), lane_of(other), other_host(move));
    }
    // A peer has two remote buffers at most, of which each type of channels has its own list.
    const bool is_full =
        open.operations + operations > division_.operations || peers.size() > kMostChannels / 2;
    if (open.block < 0 || (is_full && open.operations > 0)) {
      open = {static_cast<int>(placement_.blocks[static_cast<size_t>(rank)]++), 0, {}};
      if (move.src != move.dst)
        open.peers.emplace(rank_of(plan_, work ^ 1), lane_of(work ^ 1), other_host(move));
    } else {
      open.peers = std::move(peers);
    }
    open.operations += operations;
    placement_.block[work] = open.block;
  }

  const ir::Plan& plan_;
  const msccl::WorkOrder& order_;
  const Values& values_;
  const std::span<const int> hosts_;
  const WorkDivision division_;
  BlockPlacement placement_;
  std::vector<char> others_;  // index: work; 1: waits for other lanes, 2: other lanes wait for it
  std::map<std::pair<Rank, int>, Open> open_;  // by rank and lane
};

}  // namespace

BlockPlacement place(const ir::Plan& plan, const msccl::WorkOrder& order, const Values& values,
                     std::span<const int> hosts, WorkDivision division) {
  return Placer(plan, order, values, hosts, division).place();
}

}  // namespace weir::mscclpp
