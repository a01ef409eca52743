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
  std::vector<Share> flows;
  std::vector<int64_t> used(ranks);
  for (size_t u = 0, d = 0; u < up.size() || d < down.size();) {
    Share flow;
    flow.chunks = INT64_MAX;
    if (u < up.size()) flow.up = up[u].tree, flow.chunks = up[u].trees;
    if (d < down.size()) flow.down = down[d].tree, flow.chunks = std::min(flow.chunks, down[d].trees);
    if (u < up.size() && (up[u].trees -= flow.chunks) == 0) ++u;
    if (d < down.size() && (down[d].trees -= flow.chunks) == 0) ++d;
    flow.first = std::exchange(used[at(flow.root())], used[at(flow.root())] + flow.chunks);
    flows.push_back(flow);
  }
  return flows;
}

/// All shares, in chunks.
struct Division {
  std::vector<Share> shares;
  int64_t factor = 1;  ///< number of trees that are one chunk
  int64_t parts = 1;   ///< number of shares into which each was divided: so many times as many chunks
  int64_t chunks(int64_t trees) const { return trees / factor * parts; }
};

Division divided(const Halves& halves, int parts) {
  std::vector<Bundle> up = halves.up != nullptr ? bundles_of(*halves.up) : std::vector<Bundle>();
  std::vector<Bundle> down = halves.down != nullptr ? bundles_of(*halves.down) : std::vector<Bundle>();
  Division division;
  division.factor = std::max<int64_t>(1, common_factor(down, common_factor(up)));
  division.parts = parts;
  const Packing& any = halves.up != nullptr ? *halves.up : *halves.down;
  for (Share share : shares_of(std::move(up), std::move(down), any.shares.size())) {
    share.first = division.chunks(share.first);
    share.chunks /= division.factor;
    for (int part = 0; part < parts; ++part) {
      division.shares.push_back(share);
      share.first += share.chunks;
    }
  }
  return division;
}

std::vector<int> depths(const Tree& tree, size_t ranks) {
  std::vector<int> depth(ranks);
  for (const TreeEdge& edge : tree.edges) depth[at(edge.to)] = depth[at(edge.from)] + 1;
  return depth;
}

/// A move before it is written.
struct TreeMove {
  uint32_t flow;
  int level;
  bool up;
  Rank src;  ///< equal to dst: the root copies its own data
  Rank dst;
};

class Writer {
 public:
  Writer(const ir::Shape& shape, const MoveOrder& order, const std::vector<Share>& flows,
         const std::vector<uint32_t>& region)
      : plan_("packing", shape),
        order_(order),
        flows_(flows),
        region_(region),
        sums_(flows.size() * at(shape.ranks)),
        held_(sums_.size()),
        arrivals_(flows.size()),
        open_(at(shape.ranks) * ir::kMaxLanes, kNobody) {}

  /// False if sums would have to be stored that are only passed on.
  bool write() {
    list_hops();
    std::ranges::sort(hops_, {}, [&](const TreeMove& hop) {
      return std::tuple(order_.by_level ? 0 : hop.flow, hop.level, hop.flow, hop.dst);
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
  size_t place(uint32_t flow, Rank rank) const { return flow * at(plan_.shape().ranks) + at(rank); }
  uint32_t chunks(const Share& flow) const { return static_cast<uint32_t>(flow.chunks); }

  /// The first chunk in the buffers whose blocks are the ranks' (`blocks`), or in those with one block.
  uint32_t chunk(const Share& flow, bool blocks) const {
    const uint32_t start = both()   ? region_[at(flow.root())]
                           : blocks ? static_cast<uint32_t>(flow.root()) * plan_.shape().chunks
                                    : 0;
    return start + static_cast<uint32_t>(flow.first);
  }
  Operand input(const Share& flow) const {
    return ir::input(chunk(flow, plan_.shape().kind == Collective::reduce_scatter));
  }
  Operand result(const Share& flow) const {
    return ir::output(chunk(flow, plan_.shape().kind == Collective::all_gather));
  }

  /// The levels of ups count towards their roots and those of downs from their roots, so that all trees turn
  /// at the same level.
  void list_hops() {
    const size_t ranks = at(plan_.shape().ranks);
    for (const Share& flow : flows_) {
      if (flow.up != nullptr) turn_ = std::max(turn_, std::ranges::max(depths(*flow.up, ranks)));
    }
    for (uint32_t number = 0; number < flows_.size(); ++number) {
      const Share& flow = flows_[number];
      if (flow.up != nullptr) {
        const std::vector<int> depth = depths(*flow.up, ranks);
        for (const TreeEdge& edge : flow.up->edges) {
          hops_.push_back({number, turn_ - depth[at(edge.to)], true, edge.to, edge.from});
          if (edge.from == flow.root()) ++arrivals_[number];
        }
      }
      if (flow.down != nullptr) {
        const std::vector<int> depth = depths(*flow.down, ranks);
        for (const TreeEdge& edge : flow.down->edges)
          hops_.push_back({number, turn_ + depth[at(edge.from)], false, edge.from, edge.to});
        if (flow.up == nullptr) hops_.push_back({number, turn_, false, flow.root(), flow.root()});
      }
    }
  }

  /// The lane of a rank whose sends of a tree are at `level`.
  uint8_t lane(uint32_t flow, int level, bool up) const {
    const int group = static_cast<int>(flow % static_cast<uint32_t>(order_.groups));
    const int lanes = order_.groups * order_.phases;
    return static_cast<uint8_t>((up && both() && order_.apart ? lanes : 0) + group * order_.phases +
                                level % order_.phases);
  }

  bool climb(const TreeMove& hop) {
    const Share& flow = flows_[hop.flow];
    const uint8_t from = lane(hop.flow, hop.level, true), to = lane(hop.flow, hop.level + 1, true);
    if (!settles(hop.src, from, hop.flow) || !opens(hop.dst, to, hop.flow)) return false;
    plan_.lanes(from, to);
    Operand& sum = sums_[place(hop.flow, hop.dst)];
    const Operand& arriving = sums_[place(hop.flow, hop.src)];
    const auto or_own = [&](const Operand& operand) {
      return operand.kind == Operand::Kind::none ? input(flow) : operand;
    };
    const bool last = hop.dst == flow.root() && --arrivals_[hop.flow] == 0;
    sum = ir::value(
        plan_.send(hop.src, hop.dst, or_own(arriving),
                   {.with = or_own(sum), .to = last ? result(flow) : Operand{}, .chunks = chunks(flow)}));
    if (last) return settles(hop.dst, to, hop.flow);
    return true;
  }

  bool descend(const TreeMove& hop) {
    const Share& flow = flows_[hop.flow];
    const bool at_root = hop.src == flow.root();
    const uint8_t from = lane(hop.flow, hop.level, at_root);
    const uint8_t to = hop.src == hop.dst ? from : lane(hop.flow, hop.level + 1, false);
    if (!settles(hop.src, from, hop.flow) || !settles(hop.dst, to, hop.flow)) return false;
    plan_.lanes(from, to);
    Operand source = held_[place(hop.flow, hop.src)];
    if (at_root) source = flow.up != nullptr ? sums_[place(hop.flow, hop.src)] : input(flow);
    const ir::Arrival arrival{.to = result(flow), .chunks = chunks(flow)};
    if (hop.src == hop.dst) {
      plan_.local(hop.src, source, arrival);
    } else {
      held_[place(hop.flow, hop.dst)] = ir::value(plan_.send(hop.src, hop.dst, source, arrival));
    }
    return true;
  }

  /// A sum that is not stored has to leave its lane before anything else happens there.
  bool opens(Rank rank, uint8_t lane, uint32_t flow) {
    uint32_t& open = open_[at(rank) * ir::kMaxLanes + lane];
    if (open != kNobody && open != flow) return false;
    open = flow;
    return true;
  }
  bool settles(Rank rank, uint8_t lane, uint32_t flow) {
    if (!opens(rank, lane, flow)) return false;
    open_[at(rank) * ir::kMaxLanes + lane] = kNobody;
    return true;
  }

  Builder plan_;
  const MoveOrder& order_;
  const std::vector<Share>& flows_;
  const std::vector<uint32_t>& region_;  // index: root; in an all-reduce, its first chunk
  std::vector<TreeMove> hops_;
  int turn_ = 0;                // the level at which sums are complete
  std::vector<Operand> sums_;   // index: flow and rank; what has arrived so far; none: nothing
  std::vector<Operand> held_;   // index: flow and rank; what came down
  std::vector<int> arrivals_;   // index: flow; still to come at the root
  std::vector<uint32_t> open_;  // index: rank and lane; the flow whose sum is there
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
  const Division division = divided(halves, order.parts);
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

std::vector<MoveOrder> move_orders(const Halves& halves) {
  const auto shares = static_cast<int>(divided(halves, 1).shares.size());
  const bool both = halves.up != nullptr && halves.down != nullptr;
  const int lanes = ir::kMaxLanes / (both ? 2 : 1);
  std::vector<MoveOrder> orders;
  for (int parts = 1; shares * parts <= lanes; parts *= 2)
    orders.push_back({.by_level = true, .groups = shares * parts, .parts = parts});
  if (both && shares <= ir::kMaxLanes) orders.push_back({.by_level = true, .groups = shares, .apart = false});
  for (const int phases : {2, 1, 4}) {
    for (int groups = lanes / phases; groups >= 1; groups /= 2) {
      if (groups < shares) orders.push_back({.by_level = true, .groups = groups, .phases = phases});
    }
  }
  for (int groups = lanes; groups >= 8; groups /= 2) orders.push_back({.groups = std::min(groups, shares)});
  return orders;
}

}  // namespace weir::algorithms
