// SPDX-License-Identifier: Apache-2.0

#include "algorithms/best_plan/exchange_moves.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "algorithms/ir/builder.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// Blocks take these groups of lanes in turn, so that links do not wait for each other.
constexpr int kLaneGroups = 16;

class PathWriter {
 public:
  PathWriter(const Network& network, const ExchangePlan& plan, int relays)
      : plan_(plan),
        chunks_(chunks_of(plan)),
        moves_("routed",
               {Collective::all_to_all, network.ranks(), 0, static_cast<uint32_t>(chunks_), relays}),
        rank_at_(at(network.nodes), -1),
        place_(network.rank_nodes.size()) {
    for (Rank rank = 0; rank < network.ranks(); ++rank) rank_at_[at(network.rank_nodes[at(rank)])] = rank;
    for (size_t h = 0; h < plan.hosts.size(); ++h) {
      const auto& local = plan.shapes[at(plan.hosts[h].shape)].host.network.rank_nodes;
      for (size_t r = 0; r < local.size(); ++r)
        place_[at(rank_at_[at(plan.hosts[h].nodes[at(local[r])])])] = {h, r};
    }
  }

  ir::Plan write() {
    const Rank ranks = moves_.shape().members();
    for (Rank step = 0; step < ranks; ++step) {
      for (Rank src = 0; src < ranks; ++src) {
        const Rank dst = (src + step) % ranks;
        if (step == 0) {
          moves_.lane(0);
          moves_.local(src, input(dst, 0), {.to = output(src, 0), .chunks = static_cast<uint32_t>(chunks_)});
        } else if (place_[at(src)].host == place_[at(dst)].host) {
          write_inner(src, dst);
        } else {
          write_outer(src, dst);
        }
      }
    }
    return moves_.take();
  }

 private:
  struct Place {
    size_t host = 0;
    size_t rank = 0;  ///< in the host's shape
  };

  static int64_t chunks_of(const ExchangePlan& plan) {
    int64_t chunks = plan.entry_parts * plan.exit_parts;
    for (const ExchangeShape& shape : plan.shapes) {
      for (const auto& row : shape.inner) {
        for (const InnerPaths& paths : row)
          chunks = std::lcm(chunks, std::max<int64_t>(1, std::ssize(paths)));
      }
    }
    return chunks;
  }

  const Host& host(Rank rank) const { return plan_.hosts[place_[at(rank)].host]; }
  const ExchangeShape& shape(Rank rank) const { return plan_.shapes[at(host(rank).shape)]; }
  ir::Operand input(Rank dst, int64_t chunk) const {
    return ir::input(static_cast<uint32_t>(dst * chunks_ + chunk));
  }
  ir::Operand output(Rank src, int64_t chunk) const {
    return ir::output(static_cast<uint32_t>(src * chunks_ + chunk));
  }

  /// Adds the ranks that a path inside a host reaches.
  void visit(const Host& host, const HostShape& shape, const std::vector<int32_t>& path,
             std::vector<Rank>& ranks) const {
    for (const int32_t edge : path) {
      const Rank rank = rank_at_[at(host.nodes[at(shape.network.edges[at(edge)].to)])];
      if (rank >= 0 && rank != ranks.back()) ranks.push_back(rank);
    }
  }

  void write_inner(Rank src, Rank dst) {
    const InnerPaths& paths = shape(src).inner[place_[at(src)].rank][place_[at(dst)].rank];
    const int64_t each = chunks_ / std::ssize(paths);
    for (size_t p = 0; p < paths.size(); ++p) {
      std::vector<Rank> ranks = {src};
      visit(host(src), shape(src).host, paths[p], ranks);
      send(ranks, static_cast<int64_t>(p) * each, each);
    }
  }

  void write_outer(Rank src, Rank dst) {
    const int64_t unit = chunks_ / (plan_.entry_parts * plan_.exit_parts);
    const auto& exits = shape(src).exits[place_[at(src)].rank];
    const auto& entries = shape(dst).entries[place_[at(dst)].rank];
    int64_t next = 0;
    for (size_t plane = 0; plane < entries.size(); ++plane) {
      for (const Passage& entry : entries[plane]) {
        for (const Passage& exit : exits[plane]) {
          std::vector<Rank> ranks = {src};
          visit(host(src), shape(src).host, exit.edges, ranks);
          const Rank gate = rank_of(dst, entry.gate);
          if (gate != ranks.back()) ranks.push_back(gate);
          visit(host(dst), shape(dst).host, entry.edges, ranks);
          const int64_t count = entry.parts * exit.parts * unit;
          send(ranks, std::exchange(next, next + count), count);
        }
      }
    }
  }

  /// The rank of a gate of a rank's host.
  Rank rank_of(Rank rank, int32_t gate) const {
    const HostShape& local = shape(rank).host;
    return rank_at_[at(host(rank).nodes[at(local.network.rank_nodes[at(local.gates[at(gate)].rank)])])];
  }

  /// Chunks of a block from rank to rank.
  void send(const std::vector<Rank>& ranks, int64_t first, int64_t count) {
    const int group = turn_++ % kLaneGroups;
    const auto lane = [&](int kind) { return static_cast<uint8_t>(3 * group + kind); };
    ir::Operand from = input(ranks.back(), first);
    for (size_t hop = 0; hop + 1 < ranks.size(); ++hop) {
      const bool last = hop + 2 == ranks.size();
      moves_.lanes(lane(hop == 0 ? 0 : 2), lane(last ? 1 : 2));
      from = ir::value(moves_.send(
          ranks[hop], ranks[hop + 1], from,
          {.to = last ? output(ranks[0], first) : ir::Operand{}, .chunks = static_cast<uint32_t>(count)}));
    }
  }

  const ExchangePlan& plan_;
  const int64_t chunks_;
  ir::Builder moves_;
  std::vector<Rank> rank_at_;  // index: node; -1: none
  std::vector<Place> place_;   // index: rank
  int turn_ = 0;
};

}  // namespace

ir::Plan moves_of(const Network& network, const ExchangePlan& plan, int relays) {
  return PathWriter(network, plan, relays).write();
}

}  // namespace weir::algorithms
