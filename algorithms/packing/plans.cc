// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "algorithms/ir/builder.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;

/// Trees of one root with the same hops.
struct Bundle {
  const Tree* tree;
  int64_t trees;
};

std::vector<Bundle> bundles_of(const Packing& packing) {
  std::vector<Bundle> bundles;
  std::map<std::pair<Rank, std::vector<std::pair<Rank, Rank>>>, size_t> known;
  for (const Tree& tree : packing.trees) {
    std::vector<std::pair<Rank, Rank>> hops;
    for (const TreeEdge& edge : tree.edges) hops.emplace_back(edge.from, edge.to);
    std::ranges::sort(hops);
    const auto [entry, fresh] = known.try_emplace({tree.root, std::move(hops)}, bundles.size());
    if (fresh) bundles.push_back({&tree, 0});
    bundles[entry->second].trees += tree.multiplicity;
  }
  return bundles;
}

int64_t common_factor(const std::vector<Bundle>& bundles, int64_t factor = 0) {
  for (const Bundle& bundle : bundles) factor = std::gcd(factor, bundle.trees);
  return factor;
}

/// Chunks of a root, with the trees that they take: up, down or first up and then down.
struct Share {
  const Tree* up = nullptr;
  const Tree* down = nullptr;
  int64_t first = 0;   ///< relative to the first chunk of its root
  int64_t chunks = 0;  ///< in units of trees until they are divided by the common factor
  Rank root() const { return (up != nullptr ? up : down)->root; }
};

/// Pairs the trees of both halves, which have equal numbers of trees per root.
std::vector<Share> shares_of(std::vector<Bundle> up, std::vector<Bundle> down, size_t ranks) {
  std::vector<Share> shares;
  std::vector<int64_t> used(ranks);
  for (size_t u = 0, d = 0; u < up.size() || d < down.size();) {
    Share share;
    share.chunks = INT64_MAX;
    if (u < up.size()) share.up = up[u].tree, share.chunks = up[u].trees;
    if (d < down.size()) share.down = down[d].tree, share.chunks = std::min(share.chunks, down[d].trees);
    if (u < up.size() && (up[u].trees -= share.chunks) == 0) ++u;
    if (d < down.size() && (down[d].trees -= share.chunks) == 0) ++d;
    share.first = std::exchange(used[at(share.root())], used[at(share.root())] + share.chunks);
    shares.push_back(share);
  }
  return shares;
}

/// All shares, in chunks.
struct Division {
  std::vector<Share> shares;
  int64_t factor = 1;  ///< number of trees that are one chunk
  int64_t parts = 1;   ///< number of shares into which each was divided: so many times as many chunks
  int64_t chunks(int64_t trees) const { return trees / factor * parts; }
};

Division divided(const Halves& halves, int parts, bool single = false) {
  std::vector<Bundle> up = halves.up != nullptr ? bundles_of(*halves.up) : std::vector<Bundle>();
  std::vector<Bundle> down = halves.down != nullptr ? bundles_of(*halves.down) : std::vector<Bundle>();
  Division division;
  division.factor = std::max<int64_t>(1, common_factor(down, common_factor(up)));
  division.parts = parts;
  const Packing& any = halves.up != nullptr ? *halves.up : *halves.down;
  for (Share share : shares_of(std::move(up), std::move(down), any.shares.size())) {
    share.first = division.chunks(share.first);
    share.chunks /= division.factor;
    const int64_t pieces = single ? share.chunks * parts : parts;
    if (single) share.chunks = 1;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      division.shares.push_back(share);
      share.first += share.chunks;
    }
  }
  return division;
}

/// Hops from each rank to the farthest leaf below it.
std::vector<int> heights(const Tree& tree, size_t ranks) {
  std::vector<int> height(ranks);
  for (auto edge = tree.edges.rbegin(); edge != tree.edges.rend(); ++edge)
    height[at(edge->from)] = std::max(height[at(edge->from)], height[at(edge->to)] + 1);
  return height;
}

std::vector<int> depths(const Tree& tree, size_t ranks) {
  std::vector<int> depth(ranks);
  for (const TreeEdge& edge : tree.edges) depth[at(edge.to)] = depth[at(edge.from)] + 1;
  return depth;
}

/// More trees of one chunk than this make messages too small.
constexpr int kMostSingles = 256;
/// A tree in which a rank passes data on gets as many lanes as this number of those in which it is a leaf.
constexpr size_t kInnerWeight = 3;

/// A move before it is written.
struct TreeMove {
  uint32_t share;
  int level;
  bool up;
  Rank src;  ///< equal to dst: the root copies its own data
  Rank dst;
  int below = 0;  ///< of data that go down: hops that follow, of which the most go first
};

class Writer {
 public:
  Writer(const ir::Shape& shape, const MoveOrder& order, const std::vector<Share>& shares,
         const std::vector<uint32_t>& region)
      : plan_("packing", shape),
        order_(order),
        shares_(shares),
        region_(region),
        sums_(shares.size() * at(shape.ranks)),
        held_(sums_.size()),
        arrivals_(shares.size()),
        open_(at(shape.ranks) * ir::kMaxLanes, kNobody) {}

  /// False if sums would have to be stored that are only passed on.
  bool write() {
    list_hops();
    if (order_.by_depth) {
      up_lanes_ = lanes_by_depth(true);
      down_lanes_ = lanes_by_depth(false);
    }
    std::ranges::sort(hops_, {}, [&](const TreeMove& hop) {
      const uint32_t share = order_.mirrored && !hop.up ? ~hop.share : hop.share;
      const int below = order_.mirrored || both() ? hop.below : 0;
      return std::tuple(order_.by_level ? 0 : share, hop.level, share, -below, hop.dst);
    });
    for (const TreeMove& hop : hops_) {
      if (!(hop.up ? climb(hop) : descend(hop))) return false;
    }
    return true;
  }
  ir::Plan take() { return plan_.take(); }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;

  bool both() const { return reduces(plan_.shape().kind) && spreads(plan_.shape().kind); }
  size_t place(uint32_t share, Rank rank) const { return share * at(plan_.shape().ranks) + at(rank); }
  uint32_t chunks(const Share& share) const { return static_cast<uint32_t>(share.chunks); }

  /// The first chunk in the buffers whose blocks are the ranks' (`blocks`), or in those with one block.
  uint32_t chunk(const Share& share, bool blocks) const {
    const uint32_t start = both()   ? region_[at(share.root())]
                           : blocks ? static_cast<uint32_t>(share.root()) * plan_.shape().chunks
                                    : 0;
    return start + static_cast<uint32_t>(share.first);
  }
  Operand input(const Share& share) const {
    return ir::input(chunk(share, plan_.shape().kind == Collective::reduce_scatter));
  }
  Operand result(const Share& share) const {
    return ir::output(chunk(share, plan_.shape().kind == Collective::all_gather));
  }

  /// The levels of ups count towards their roots and those of downs from their roots, so that all trees turn
  /// at the same level.
  void list_hops() {
    const size_t ranks = at(plan_.shape().ranks);
    for (const Share& share : shares_) {
      if (share.up != nullptr) turn_ = std::max(turn_, std::ranges::max(depths(*share.up, ranks)));
    }
    for (uint32_t number = 0; number < shares_.size(); ++number) {
      const Share& share = shares_[number];
      if (share.up != nullptr) {
        const std::vector<int> depth = depths(*share.up, ranks);
        for (const TreeEdge& edge : share.up->edges) {
          hops_.push_back({number, turn_ - depth[at(edge.to)], true, edge.to, edge.from});
          if (edge.from == share.root()) ++arrivals_[number];
        }
      }
      if (share.down != nullptr) {
        const std::vector<int> depth = depths(*share.down, ranks);
        const std::vector<int> below = heights(*share.down, ranks);
        for (const TreeEdge& edge : share.down->edges)
          hops_.push_back(
              {number, turn_ + depth[at(edge.from)], false, edge.from, edge.to, below[at(edge.to)]});
        if (share.up == nullptr) hops_.push_back({number, turn_, false, share.root(), share.root()});
      }
    }
  }

  /// A rank's place in a tree. Sorted as lanes are assigned.
  struct Role {
    bool leaf;
    int depth;
    uint32_t share;
    auto operator<=>(const Role&) const = default;
  };

  /// How many of a group's lanes are for trees in which the rank passes data on.
  size_t lanes_of_inner(size_t inner, size_t leaves) const {
    const size_t lanes = at(order_.groups);
    if (leaves == 0 || inner == 0 || lanes == 1) return leaves == 0 ? lanes : 0;
    return std::clamp<size_t>(lanes * kInnerWeight * inner / (kInnerWeight * inner + leaves), 1, lanes - 1);
  }

  /// Index: share and rank.
  std::vector<uint8_t> lanes_by_depth(bool up) const {
    const size_t ranks = at(plan_.shape().ranks);
    std::vector<uint8_t> lanes(shares_.size() * ranks);
    std::vector<std::vector<Role>> roles(ranks);
    for (uint32_t share = 0; share < shares_.size(); ++share) {
      const Tree* const tree = up ? shares_[share].up : shares_[share].down;
      if (tree == nullptr) continue;
      const std::vector<int> depth = depths(*tree, ranks);
      const std::vector<int> below = heights(*tree, ranks);
      for (size_t rank = 0; rank < ranks; ++rank)
        roles[rank].push_back({order_.mirrored && below[rank] == 0, depth[rank], share});
    }
    for (size_t rank = 0; rank < ranks; ++rank) {
      std::ranges::sort(roles[rank]);
      const size_t inner = at(std::ranges::count(roles[rank], false, &Role::leaf));
      const size_t leaves = roles[rank].size() - inner;
      const size_t first = lanes_of_inner(inner, leaves);
      for (size_t i = 0; i < roles[rank].size(); ++i) {
        const size_t lane =
            i < inner ? i * first / inner : first + (i - inner) * (at(order_.groups) - first) / leaves;
        lanes[roles[rank][i].share * ranks + rank] = static_cast<uint8_t>(lane);
      }
    }
    return lanes;
  }

  /// The lane of a rank whose sends of a tree are at `level`.
  uint8_t lane(uint32_t share, Rank rank, int level, bool up) const {
    if (order_.by_depth) {
      const bool of_sums = up && shares_[share].up != nullptr;
      return static_cast<uint8_t>((of_sums || !both() ? 0 : order_.groups) +
                                  (of_sums ? up_lanes_ : down_lanes_)[place(share, rank)]);
    }
    const int group = static_cast<int>(share % static_cast<uint32_t>(order_.groups));
    const int lanes = order_.groups * order_.phases;
    return static_cast<uint8_t>((up && both() && order_.apart ? lanes : 0) + group * order_.phases +
                                level % order_.phases);
  }

  bool climb(const TreeMove& hop) {
    const Share& share = shares_[hop.share];
    const uint8_t from = lane(hop.share, hop.src, hop.level, true);
    const uint8_t to = lane(hop.share, hop.dst, hop.level + 1, true);
    if (!settles(hop.src, from, hop.share) || !opens(hop.dst, to, hop.share)) return false;
    plan_.lanes(from, to);
    Operand& sum = sums_[place(hop.share, hop.dst)];
    const Operand& arriving = sums_[place(hop.share, hop.src)];
    const auto or_own = [&](const Operand& operand) {
      return operand.kind == Operand::Kind::none ? input(share) : operand;
    };
    const bool last = hop.dst == share.root() && --arrivals_[hop.share] == 0;
    sum = ir::value(
        plan_.send(hop.src, hop.dst, or_own(arriving),
                   {.with = or_own(sum), .to = last ? result(share) : Operand{}, .chunks = chunks(share)}));
    if (last) return settles(hop.dst, to, hop.share);
    return true;
  }

  bool descend(const TreeMove& hop) {
    const Share& share = shares_[hop.share];
    const bool at_root = hop.src == share.root();
    const uint8_t from = lane(hop.share, hop.src, hop.level, at_root);
    const uint8_t to = hop.src == hop.dst ? from : lane(hop.share, hop.dst, hop.level + 1, false);
    if (!settles(hop.src, from, hop.share) || !settles(hop.dst, to, hop.share)) return false;
    plan_.lanes(from, to);
    Operand source = held_[place(hop.share, hop.src)];
    if (at_root) source = share.up != nullptr ? sums_[place(hop.share, hop.src)] : input(share);
    const ir::Arrival arrival{.to = result(share), .chunks = chunks(share)};
    if (hop.src == hop.dst) {
      plan_.local(hop.src, source, arrival);
    } else {
      held_[place(hop.share, hop.dst)] = ir::value(plan_.send(hop.src, hop.dst, source, arrival));
    }
    return true;
  }

  /// A sum that is not stored has to leave its lane before anything else happens there.
  bool opens(Rank rank, uint8_t lane, uint32_t share) {
    uint32_t& open = open_[at(rank) * ir::kMaxLanes + lane];
    if (open != kNobody && open != share) return false;
    open = share;
    return true;
  }
  bool settles(Rank rank, uint8_t lane, uint32_t share) {
    if (!opens(rank, lane, share)) return false;
    open_[at(rank) * ir::kMaxLanes + lane] = kNobody;
    return true;
  }

  Builder plan_;
  const MoveOrder& order_;
  const std::vector<Share>& shares_;
  const std::vector<uint32_t>& region_;  // index: root; in an all-reduce, its first chunk
  std::vector<TreeMove> hops_;
  int turn_ = 0;                // the level at which sums are complete
  std::vector<Operand> sums_;   // index: share and rank; what has arrived so far; none: nothing
  std::vector<Operand> held_;   // index: share and rank; what came down
  std::vector<int> arrivals_;   // index: share; still to come at the root
  std::vector<uint32_t> open_;  // index: rank and lane; the share whose sum is there
  std::vector<uint8_t> up_lanes_, down_lanes_;  // by depth; index: share and rank
};

Status unsuited(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

Status check_roots(Collective kind, const Packing& packing) {
  const std::vector<int64_t>& shares = packing.shares;
  if (kind == Collective::all_reduce) return {};
  if (has_root(kind)) {
    const auto roots = std::ranges::count_if(shares, [](int64_t share) { return share != 0; });
    if (roots != 1)
      return unsuited(fmt::format("{}: trees of {} roots: expected one root", name(kind), roots));
    return {};
  }
  const auto other = std::ranges::find_if(shares, [&](int64_t share) { return share != shares[0]; });
  if (other == shares.end()) return {};
  return unsuited(fmt::format("{}: rank {} is the root of {} trees and rank 0 of {}: expected equal numbers",
                              name(kind), other - shares.begin(), *other, shares[0]));
}

/// A single rank needs no plan.
Result<ir::Shape> shape_of(Collective kind, const Packing& packing, const Division& division) {
  const auto ranks = static_cast<int>(packing.shares.size());
  WEIR_TRY(check_roots(kind, packing));
  if (ranks < 2) return unsuited(fmt::format("a packing over {} ranks: expected at least 2", ranks));
  const int64_t most = std::ranges::max(packing.shares);
  const int64_t all = std::accumulate(packing.shares.begin(), packing.shares.end(), int64_t{0});
  const int64_t chunks = division.chunks(kind == Collective::all_reduce ? all : most);
  if (chunks < 1 || chunks > UINT32_MAX) {
    return unsuited(
        fmt::format("a packing that divides a block into {} chunks: expected 1 to {}", chunks, UINT32_MAX));
  }
  const auto root = has_root(kind) ? std::ranges::find(packing.shares, most) - packing.shares.begin() : 0;
  return ir::Shape{kind, ranks, static_cast<Rank>(root), static_cast<uint32_t>(chunks)};
}

/// The first chunk of each root if they share one block.
std::vector<uint32_t> regions(const Packing& packing, const Division& division) {
  std::vector<uint32_t> first(packing.shares.size());
  uint32_t next = 0;
  for (size_t rank = 0; rank < first.size(); ++rank) {
    first[rank] = next;
    next += static_cast<uint32_t>(division.chunks(packing.shares[rank]));
  }
  return first;
}

}  // namespace

Result<ir::Plan> plan_with(Collective collective, const Halves& halves, const MoveOrder& order) {
  if (halves.up != nullptr && halves.down != nullptr && halves.up->shares != halves.down->shares) {
    return unsuited(
        "all_reduce: the roots of the packings that sum and that spread differ: expected equal numbers of "
        "trees per root");
  }
  const Packing& any = halves.up != nullptr ? *halves.up : *halves.down;
  const Division division = divided(halves, order.parts, order.single);
  const auto shape = shape_of(collective, any, division);
  WEIR_TRY(shape.status());
  const std::vector<uint32_t> region = regions(any, division);
  Writer writer(*shape, order, division.shares, region);
  if (!writer.write()) {
    return unsuited(fmt::format("an order by level with {} groups of {} lanes: sums would have to be stored",
                                order.groups, order.phases));
  }
  return writer.take();
}

std::vector<MoveOrder> move_orders(const Halves& halves, int most_lanes) {
  const auto shares = static_cast<int>(divided(halves, 1).shares.size());
  const auto singles = static_cast<int>(divided(halves, 1, true).shares.size());
  const bool both = halves.up != nullptr && halves.down != nullptr;
  const int lanes = std::max(most_lanes / (both ? 2 : 1), 1);
  std::vector<MoveOrder> orders;
  for (int parts = 1; shares * parts <= lanes; parts *= 2)
    orders.push_back({.by_level = true, .groups = shares * parts, .parts = parts});
  if (both && shares <= most_lanes) orders.push_back({.by_level = true, .groups = shares, .apart = false});
  // Trees with several chunks and with one get equal parts of a link unless they are divided.
  if (singles > shares) {
    if (singles <= lanes) orders.push_back({.by_level = true, .groups = singles, .single = true});
    if (both && singles <= most_lanes)
      orders.push_back({.by_level = true, .groups = singles, .apart = false, .single = true});
    if (singles > lanes && singles <= kMostSingles) {
      orders.push_back({.by_level = true, .groups = lanes, .single = true});
      orders.push_back({.groups = lanes, .single = true});
    }
  }
  if (shares > lanes) {
    // With some lanes fewer, trees that share links wait for each other, and their data arrive sooner.
    for (const int groups : {std::max(lanes * 3 / 4, 1), lanes})
      orders.push_back({.groups = groups, .by_depth = true, .mirrored = true});
    if (!both) orders.push_back({.by_level = true, .groups = lanes, .by_depth = true});
    orders.push_back({.groups = lanes, .by_depth = true});
  }
  if (singles > lanes && singles > shares && singles <= kMostSingles) {
    orders.push_back({.groups = lanes, .by_depth = true, .mirrored = true, .single = true});
    if (!both) orders.push_back({.by_level = true, .groups = lanes, .by_depth = true, .single = true});
    orders.push_back({.groups = lanes, .by_depth = true, .single = true});
  }
  for (const int phases : {2, 1, 4}) {
    for (int groups = lanes / phases; groups >= 1; groups /= 2) {
      if (groups < shares) orders.push_back({.by_level = true, .groups = groups, .phases = phases});
    }
  }
  const int fewest = std::clamp(lanes / 4, 1, 8);
  for (int groups = lanes; groups >= fewest; groups /= 2)
    orders.push_back({.groups = std::min(groups, shares)});
  return orders;
}

}  // namespace weir::algorithms
