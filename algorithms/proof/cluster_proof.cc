// SPDX-License-Identifier: Apache-2.0

#include "algorithms/proof/cluster_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "algorithms/proof/forest.h"
#include "algorithms/proof/tree_proof.h"
#include "algorithms/proof/way_loads.h"
#include "algorithms/proof/wrong.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using Wide = boost::multiprecision::int256_t;

template <typename Place, typename List>
bool in(Place place, const List& list) {
  return place >= 0 && at(place) < list.size();
}

/// For each node whether a rank is there.
std::vector<char> rank_nodes_of(const Network& network) {
  std::vector<char> is_rank(at(network.nodes));
  for (const int32_t node : network.rank_nodes) is_rank[at(node)] = 1;
  return is_rank;
}

/// Checks that edges lead from a node to another one without passing a rank.
Status follow(const Network& network, const std::vector<char>& is_rank, const std::vector<int32_t>& way,
              int32_t from, int32_t to) {
  int32_t node = from;
  for (size_t i = 0; i < way.size(); ++i) {
    if (!in(way[i], network.edges) || network.edges[at(way[i])].from != node)
      return wrong("edge {} does not start at node {}", way[i], node);
    if (i > 0 && is_rank[at(node)]) return wrong("it passes a rank, on node {}", node);
    node = network.edges[at(way[i])].to;
  }
  return node == to ? Status() : wrong("it ends at node {}, not at node {}", node, to);
}

/// A valid shape: the load on the edges of its own network.
struct InHost {
  std::vector<Int128> own;      ///< parts, for all blocks of its own together; free roots: for one block
  std::vector<Int128> foreign;  ///< parts, for one foreign block
  int64_t blocks = 0;           ///< number of its own blocks, unless roots are free
  Int128 share = 0;             ///< parts of its own blocks, or of one block, that a tree takes
};

class ShapeJudge {
 public:
  ShapeJudge(const HostShape& shape, const ClusterPlan& plan)
      : shape_(shape),
        parts_(plan.parts),
        direct_(plan.direct_parts),
        free_roots_(plan.free_roots),
        entering_(shape.network.rank_nodes.size()) {}

  Result<InHost> judge() {
    WEIR_TRY(check(shape_.network));
    if (shape_.blocks.size() != entering_.size())
      return wrong("{} numbers of blocks for {} ranks: expected one per rank", shape_.blocks.size(),
                   entering_.size());
    for (const int32_t node : shape_.uplinks) {
      if (node < 0 || node >= shape_.network.nodes)
        return wrong("an uplink uses node {}, which does not exist", node);
    }
    WEIR_TRY(judge_gates());
    WEIR_TRY(free_roots_ ? judge_free() : judge_own());
    WEIR_TRY(judge_foreign());
    return std::move(found_);
  }

 private:
  Status judge_gates() {
    const std::vector<char> is_rank = rank_nodes_of(shape_.network);
    Int128 sum = direct_;
    std::vector<Int128> direct(entering_.size());
    for (size_t g = 0; g < shape_.gates.size(); ++g) {
      const Gate& gate = shape_.gates[g];
      if (!in(gate.rank, entering_) || !in(gate.uplink, shape_.uplinks) || gate.parts < 0 || gate.direct < 0)
        return wrong("gate {} has an invalid rank, uplink or number of parts", g);
      const int32_t uplink = shape_.uplinks[at(gate.uplink)];
      const int32_t rank = shape_.network.rank_nodes[at(gate.rank)];
      for (const Status& way : {follow(shape_.network, is_rank, gate.in, uplink, rank),
                                follow(shape_.network, is_rank, gate.out, rank, uplink)}) {
        if (!way.ok()) return wrong("the path of gate {}: {}", g, way.message());
      }
      entering_[at(gate.rank)] += gate.parts;
      direct[at(gate.rank)] += gate.direct;
      sum += gate.parts;
    }
    for (size_t rank = 0; rank < direct.size(); ++rank) {
      if (direct[rank] != direct_)
        return wrong("the gates of rank {} take {} of {} direct parts", rank, direct[rank], direct_);
    }
    return sum == parts_ ? Status() : wrong("gates take {} parts of {}: expected all", sum, parts_);
  }

  Status judge_own() {
    found_.own.resize(shape_.network.edges.size());
    found_.blocks = std::count(shape_.blocks.begin(), shape_.blocks.end(), 1);
    const int64_t others = std::count(shape_.blocks.begin(), shape_.blocks.end(), 0);
    if (found_.blocks + others != static_cast<int64_t>(shape_.blocks.size()))
      return wrong("a rank has an invalid number of blocks: expected 0 or 1");
    if (found_.blocks == 0) return {};
    const auto loads = check_packing(shape_.network, shape_.own);
    if (!loads.ok()) return wrong("its own trees: {}", loads.status().message());
    const int64_t each = *std::max_element(shape_.own.shares.begin(), shape_.own.shares.end());
    if (each <= 0 || parts_ % each != 0)
      return wrong("{} trees for a block of {} parts: expected a divisor", each, parts_);
    for (size_t rank = 0; rank < shape_.blocks.size(); ++rank) {
      if (shape_.own.shares[rank] != each * shape_.blocks[rank])
        return wrong("rank {} has {} trees of its own", rank, shape_.own.shares[rank]);
    }
    found_.share = parts_ / each;
    for (size_t e = 0; e < found_.own.size(); ++e) found_.own[e] = loads->trees[e] * found_.share;
    return {};
  }

  Status judge_free() {
    if (std::count(shape_.blocks.begin(), shape_.blocks.end(), 0) !=
        static_cast<int64_t>(shape_.blocks.size()))
      return wrong("a rank has a block, although roots are free");
    const auto loads = check_packing(shape_.network, shape_.own);
    if (!loads.ok()) return wrong("its own trees: {}", loads.status().message());
    Int128 trees = 0;
    for (const int64_t share : shape_.own.shares) trees += share;
    if (trees <= 0 || parts_ % trees != 0)
      return wrong("{} trees for blocks of {} parts: expected a divisor", trees, parts_);
    found_.share = parts_ / trees;
    for (const int64_t each : loads->trees) found_.own.push_back(each * found_.share);
    return {};
  }

  Status judge_foreign() {
    found_.foreign.resize(shape_.network.edges.size());
    const auto loads = check_packing(shape_.network, shape_.foreign);
    if (!loads.ok()) return wrong("trees for foreign blocks: {}", loads.status().message());
    Int128 trees = 0;
    for (const int64_t share : shape_.foreign.shares) trees += share;
    const Int128 spread = parts_ - direct_;
    if (trees <= 0 || spread % trees != 0)
      return wrong("{} trees for foreign blocks of {} parts: expected a divisor", trees, spread);
    const Int128 each = spread / trees;
    for (size_t rank = 0; rank < entering_.size(); ++rank) {
      if (shape_.foreign.shares[rank] * each != entering_[rank])
        return wrong("rank {} spreads parts that its gates do not take", rank);
    }
    for (size_t e = 0; e < found_.foreign.size(); ++e) found_.foreign[e] = loads->trees[e] * each;
    return {};
  }

  const HostShape& shape_;
  const int64_t parts_;
  const int64_t direct_;
  const bool free_roots_;
  std::vector<Int128> entering_;  // index: rank; parts of a foreign block
  InHost found_;
};

class ClusterJudge {
 public:
  ClusterJudge(const Network& network, const ClusterPlan& plan, std::span<const int32_t> blocks)
      : network_(network), plan_(plan), blocks_(blocks) {}

  Result<ClusterLoads> judge() {
    WEIR_TRY(check(network_));
    is_rank_ = rank_nodes_of(network_);
    if (!plan_.free_roots && blocks_.size() != network_.rank_nodes.size())
      return wrong("blocks of {} ranks: the network has {}", blocks_.size(), network_.ranks());
    if (plan_.direct_parts < 0 || plan_.direct_parts > plan_.parts)
      return wrong("{} of {} parts are direct", plan_.direct_parts, plan_.parts);
    for (size_t s = 0; s < plan_.shapes.size(); ++s) {
      auto shape = ShapeJudge(plan_.shapes[s], plan_).judge();
      if (!shape.ok()) return wrong("shape {} of hosts: {}", s, shape.status().message());
      shapes_.push_back(std::move(*shape));
    }
    WEIR_TRY(judge_hosts());
    WEIR_TRY(judge_couplings());
    WEIR_TRY(judge_ways());
    WEIR_TRY(judge_transfers());
    loads_.parts.resize(network_.edges.size());
    load_hosts();
    for (const HostTransfer& transfer : plan_.transfers) WEIR_TRY(load(transfer));
    weigh();
    return std::move(loads_);
  }

 private:
  /// Checks that hosts match their shapes, and that each rank is in one host.
  Status judge_hosts() {
    if (plan_.first_block.size() != plan_.hosts.size() + 1 || plan_.first_block[0] != 0)
      return wrong("first blocks of {} hosts: expected {}", plan_.first_block.size(), plan_.hosts.size() + 1);
    std::vector<Rank> rank_at(at(network_.nodes), -1);
    for (Rank rank = 0; rank < network_.ranks(); ++rank) rank_at[at(network_.rank_nodes[at(rank)])] = rank;
    int ranks = 0;
    for (size_t h = 0; h < plan_.hosts.size(); ++h) {
      const Host& host = plan_.hosts[h];
      if (!in(host.shape, plan_.shapes))
        return wrong("host {} has shape {}, which does not exist", h, host.shape);
      const HostShape& shape = plan_.shapes[at(host.shape)];
      WEIR_TRY(judge_host(h, host, shape));
      for (size_t r = 0; r < shape.blocks.size(); ++r) {
        Rank& rank = rank_at[at(host.nodes[at(shape.network.rank_nodes[r])])];
        if (rank < 0) return wrong("host {}: its rank {} is not a rank, or is in another host", h, r);
        if (!plan_.free_roots && blocks_[at(rank)] != shape.blocks[r])
          return wrong("rank {} has {} blocks, but the plan has {}", rank, blocks_[at(rank)],
                       shape.blocks[r]);
        rank = -1;
        ++ranks;
      }
      const int64_t blocks = plan_.first_block[h + 1] - plan_.first_block[h];
      if (blocks < 0) return wrong("host {} has {} blocks", h, blocks);
      if (!plan_.free_roots && blocks != shapes_[at(host.shape)].blocks)
        return wrong("the numbers of blocks of host {} and of its shape differ", h);
    }
    return ranks == network_.ranks()
               ? Status()
               : wrong("{} of {} ranks are in hosts: expected all", ranks, network_.ranks());
  }

  Status judge_host(size_t number, const Host& host, const HostShape& shape) const {
    if (host.nodes.size() != at(shape.network.nodes) || host.edges.size() != shape.network.edges.size() ||
        host.uplinks.size() != shape.uplinks.size())
      return wrong("host {} and its shape differ in size", number);
    for (const int32_t node : host.nodes) {
      if (node < 0 || node >= network_.nodes) return wrong("host {}: node {} does not exist", number, node);
    }
    for (size_t e = 0; e < host.edges.size(); ++e) {
      const Edge& own = shape.network.edges[e];
      if (!in(host.edges[e], network_.edges) ||
          network_.edges[at(host.edges[e])].from != host.nodes[at(own.from)] ||
          network_.edges[at(host.edges[e])].to != host.nodes[at(own.to)])
        return wrong("host {}: its edge {} does not match its shape", number, e);
    }
    for (size_t u = 0; u < host.uplinks.size(); ++u) {
      const int32_t node = host.nodes[at(shape.uplinks[u])];
      if (!in(host.uplinks[u].in, network_.edges) || !in(host.uplinks[u].out, network_.edges) ||
          network_.edges[at(host.uplinks[u].in)].to != node ||
          network_.edges[at(host.uplinks[u].out)].from != node)
        return wrong("host {}: its uplink {} does not match its shape", number, u);
    }
    return {};
  }

  /// Checks that each gate receives exactly the parts that it takes.
  Status judge_couplings() const {
    for (size_t c = 0; c < plan_.couplings.size(); ++c) {
      const Coupling& each = plan_.couplings[c];
      if (!in(each.from, plan_.shapes) || !in(each.to, plan_.shapes))
        return wrong("coupling {} is not between shapes", c);
      if (c > 0 &&
          std::pair(plan_.couplings[c - 1].from, plan_.couplings[c - 1].to) >= std::pair(each.from, each.to))
        return wrong("coupling {} is out of order", c);
      for (const bool direct : {false, true}) WEIR_TRY(judge_pieces(c, direct));
    }
    return {};
  }

  Status judge_pieces(size_t number, bool direct) const {
    const Coupling& coupling = plan_.couplings[number];
    const auto& gates = plan_.shapes[at(coupling.to)].gates;
    std::vector<Int128> entering(gates.size());
    for (const Coupling::Piece& piece : direct ? coupling.direct : coupling.pieces) {
      if (!in(piece.in, gates) || !in(piece.out, plan_.shapes[at(coupling.from)].gates) || piece.parts <= 0)
        return wrong("coupling {} joins gates that do not exist", number);
      entering[at(piece.in)] += piece.parts;
    }
    for (size_t g = 0; g < gates.size(); ++g) {
      const int64_t taken = direct ? gates[g].direct : gates[g].parts;
      if (entering[g] == taken) continue;
      return wrong("coupling {} brings {} {}parts to gate {}, which takes {}", number, entering[g],
                   direct ? "direct " : "", g, taken);
    }
    return {};
  }

  Status judge_ways() const {
    for (size_t w = 0; w < plan_.ways.size(); ++w) {
      const Way& way = plan_.ways[w];
      if (w > 0 && std::pair(plan_.ways[w - 1].from, plan_.ways[w - 1].to) >= std::pair(way.from, way.to))
        return wrong("path set {} is out of order", w);
      for (const Way::Path& path : way.paths) {
        if (path.weight <= 0)
          return wrong("path set {} has a path of weight {}: expected more than 0", w, path.weight);
        const Status status = follow(network_, is_rank_, path.edges, way.from, way.to);
        if (!status.ok()) return wrong("a path of path set {}: {}", w, status.message());
      }
    }
    return {};
  }

  /// A host starts or stops receiving blocks from another one.
  struct Change {
    int64_t block;
    int32_t to;
    int32_t from;  ///< -1: it has them itself
  };

  Status judge_transfers() const {
    std::vector<Change> changes;
    std::vector<std::vector<Span>> had(plan_.hosts.size());  // index: host
    for (size_t h = 0; h < had.size(); ++h) {
      if (plan_.first_block[h] == plan_.first_block[h + 1]) continue;
      had[h].push_back({plan_.first_block[h], plan_.first_block[h + 1]});
      changes.push_back({plan_.first_block[h], static_cast<int32_t>(h), -1});
    }
    for (size_t t = 0; t < plan_.transfers.size(); ++t) {
      const HostTransfer& transfer = plan_.transfers[t];
      if (!in(transfer.from, had) || !in(transfer.to, had))
        return wrong("transfer {} is not between hosts", t);
      for (const Span& span : transfer.blocks) {
        had[at(transfer.to)].push_back(span);
        if (span.first < span.last) changes.push_back({span.first, transfer.to, transfer.from});
      }
    }
    for (size_t h = 0; h < had.size(); ++h) {
      std::sort(had[h].begin(), had[h].end(), [](const Span& a, const Span& b) {
        return std::pair(a.first, a.last) < std::pair(b.first, b.last);
      });
      int64_t next = 0;
      for (const Span& span : had[h]) {
        if (span.first > next) return wrong("host {} does not get block {}", h, next);
        if (span.first < next || span.last < span.first)
          return wrong("host {} gets block {} twice", h, std::min(next, span.first));
        next = span.last;
      }
      if (next != plan_.first_block.back())
        return wrong("host {} does not get block {}, or gets one that does not exist", h, next);
    }
    return watch(std::move(changes));
  }

  /// Because every host other than a block's own has exactly one sender of it, there is a path from the
  /// block's own host to all of them unless some send to each other in a cycle.
  Status watch(std::vector<Change> changes) const {
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.block < b.block; });
    Forest forest(plan_.hosts.size());
    for (size_t i = 0; i < changes.size();) {
      const int64_t block = changes[i].block;
      size_t end = i;
      for (; end < changes.size() && changes[end].block == block; ++end) forest.cut(changes[end].to);
      if (block >= plan_.first_block.back()) break;
      for (; i < end; ++i) {
        if (changes[i].from < 0 || forest.link(changes[i].to, changes[i].from)) continue;
        return wrong("block {} moves in a cycle: host {} gets it from host {}, which depends on the first",
                     block, changes[i].to, changes[i].from);
      }
    }
    return {};
  }

  void load_hosts() {
    std::vector<Rank> rank_at(at(network_.nodes), -1);
    for (Rank rank = 0; rank < network_.ranks(); ++rank) rank_at[at(network_.rank_nodes[at(rank)])] = rank;
    loads_.roots.resize(network_.rank_nodes.size());
    for (size_t h = 0; h < plan_.hosts.size(); ++h) {
      const Host& host = plan_.hosts[h];
      const HostShape& shape = plan_.shapes[at(host.shape)];
      const InHost& inside = shapes_[at(host.shape)];
      const int64_t blocks = plan_.first_block[h + 1] - plan_.first_block[h];
      const int64_t foreign = plan_.first_block.back() - blocks;
      const int64_t times = plan_.free_roots ? blocks : 1;
      for (size_t e = 0; e < host.edges.size(); ++e)
        loads_.parts[at(host.edges[e])] += inside.own[e] * times + inside.foreign[e] * foreign;
      for (size_t r = 0; r < shape.own.shares.size(); ++r) {
        const Rank rank = rank_at[at(host.nodes[at(shape.network.rank_nodes[r])])];
        loads_.roots[at(rank)] = inside.share * shape.own.shares[r] * times;
      }
    }
  }

  Status load(const HostTransfer& transfer) {
    const Host& from = plan_.hosts[at(transfer.from)];
    const Host& to = plan_.hosts[at(transfer.to)];
    const auto coupling = std::lower_bound(
        plan_.couplings.begin(), plan_.couplings.end(), std::pair(from.shape, to.shape),
        [](const Coupling& each, const auto& key) { return std::pair(each.from, each.to) < key; });
    if (coupling == plan_.couplings.end() || coupling->from != from.shape || coupling->to != to.shape)
      return wrong("the coupling for hosts {} and {} is missing", transfer.from, transfer.to);
    int64_t blocks = 0;
    for (const Span& span : transfer.blocks) blocks += span.last - span.first;
    WEIR_TRY(load(from, to, coupling->pieces, blocks));
    return load(from, to, coupling->direct, blocks);
  }

  Status load(const Host& from, const Host& to, const std::vector<Coupling::Piece>& pieces, int64_t blocks) {
    for (const Coupling::Piece& piece : pieces) {
      const Gate& out = plan_.shapes[at(from.shape)].gates[at(piece.out)];
      const Gate& in = plan_.shapes[at(to.shape)].gates[at(piece.in)];
      const Int128 parts = static_cast<Int128>(piece.parts) * blocks;
      const Uplink& up = from.uplinks[at(out.uplink)];
      const Uplink& down = to.uplinks[at(in.uplink)];
      for (const int32_t edge : out.out) loads_.parts[at(from.edges[at(edge)])] += parts;
      for (const int32_t edge : in.in) loads_.parts[at(to.edges[at(edge)])] += parts;
      loads_.parts[at(up.out)] += parts;
      loads_.parts[at(down.in)] += parts;
      const int32_t leaves = network_.edges[at(up.out)].to, enters = network_.edges[at(down.in)].from;
      if (leaves != enters)
        WEIR_TRY(load_way(network_, plan_.ways, leaves, enters, piece.parts, blocks, loads_.parts));
    }
    return {};
  }

  void weigh() {
    loads_.whole = static_cast<Int128>(plan_.parts) * plan_.first_block.back();
    for (size_t e = 0; e < loads_.parts.size(); ++e) {
      const int64_t capacity = network_.edges[e].capacity;
      if (loads_.parts[e] == 0) continue;
      if (loads_.tightest >= 0 && Wide(loads_.parts[e]) * network_.edges[at(loads_.tightest)].capacity <=
                                      Wide(loads_.parts[at(loads_.tightest)]) * capacity)
        continue;
      loads_.tightest = static_cast<int32_t>(e);
    }
    if (loads_.tightest < 0) return;
    const Ratio share = loads_.share(at(loads_.tightest));
    const int64_t capacity = network_.edges[at(loads_.tightest)].capacity;
    loads_.time = Ratio(share.numerator, share.denominator * capacity);
  }

  const Network& network_;
  const ClusterPlan& plan_;
  std::span<const int32_t> blocks_;
  std::vector<char> is_rank_;
  std::vector<InHost> shapes_;
  ClusterLoads loads_;
};

}  // namespace

Result<ClusterLoads> check_cluster(const Network& network, const ClusterPlan& plan,
                                   std::span<const int32_t> blocks) {
  if (plan.free_roots) return wrong("roots are free: expected a plan for the blocks of ranks");
  return ClusterJudge(network, plan, blocks).judge();
}

Result<BothClusterLoads> check_both(const Network& network, const ClusterPlan& up, const ClusterPlan& down) {
  BothClusterLoads both;
  for (const bool sums : {true, false}) {
    const ClusterPlan& plan = sums ? up : down;
    const char* half = sums ? "sums" : "spreads";
    if (!plan.free_roots) return wrong("the half that {} has no free roots", half);
    auto loads = ClusterJudge(sums ? reversed(network) : network, plan, {}).judge();
    if (!loads.ok()) return wrong("the half that {}: {}", half, loads.status().message());
    (sums ? both.up : both.down) = std::move(*loads);
  }
  for (size_t rank = 0; rank < both.up.roots.size(); ++rank) {
    if (Wide(both.up.roots[rank]) * both.down.whole != Wide(both.down.roots[rank]) * both.up.whole)
      return wrong("the shares that rank {} sums and spreads differ", rank);
  }
  const Wide all = Wide(both.up.whole) * both.down.whole;
  Wide most = 0;  // parts of `all` that pass the tightest edge
  int64_t width = 1;
  for (size_t e = 0; e < network.edges.size(); ++e) {
    const Wide load = Wide(both.up.parts[e]) * both.down.whole + Wide(both.down.parts[e]) * both.up.whole;
    if (load * width <= most * network.edges[e].capacity) continue;
    most = load;
    width = network.edges[e].capacity;
  }
  both.time = Rational(Whole(most), Whole(all) * width);
  return both;
}

}  // namespace weir::algorithms
