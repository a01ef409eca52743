// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/host_trees.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "algorithms/bound/cut.h"
#include "algorithms/cluster/weights.h"
#include "algorithms/packing/pack.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// Some of a network's edges, possibly with reduced capacity.
struct Part {
  Network network;
  std::vector<int32_t> number;  ///< index: edge; its number in the whole network
};

Part part_of(const Network& network, const std::vector<int64_t>& capacity) {
  Part part{network, {}};
  part.network.edges.clear();
  for (size_t e = 0; e < network.edges.size(); ++e) {
    if (capacity[e] <= 0) continue;
    part.network.edges.push_back(network.edges[e]);
    part.network.edges.back().capacity = capacity[e];
    part.number.push_back(static_cast<int32_t>(e));
  }
  return part;
}

struct HostPacking {
  Packing packing;
  bool optimal = true;  ///< it fills the narrowest cut of its part
};

/// Packs trees into a part of the network; `few`: number of trees per root, or 0 for what a good packing
/// needs. For one rank: the tree without edges.
Result<HostPacking> trees_in(const Part& part, const std::vector<int64_t>& weights, int few) {
  const auto ranks = weights.size();
  if (std::all_of(weights.begin(), weights.end(), [](int64_t weight) { return weight == 0; }))
    return HostPacking{{weights, 1, {}}};
  if (ranks == 1) return HostPacking{{{1}, 1, {{0, 1, {}}}}};
  std::vector<Rank> sinks(ranks);
  std::iota(sinks.begin(), sinks.end(), 0);
  const auto cut = narrowest_cut(part.network, weights, sinks, Direction::along);
  WEIR_TRY(cut.status());
  const Rational bound = exactly(cut->ratio);
  auto packed = few > 0 ? pack_few(part.network, weights, bound, few) : pack(part.network, weights, bound);
  WEIR_TRY(packed.status());
  Packing& packing = packed->packing;
  for (Tree& tree : packing.trees) {
    for (TreeEdge& edge : tree.edges) {
      for (int32_t& step : edge.route) step = part.number[at(step)];
    }
  }
  return HostPacking{std::move(packing), packed->part_of_bound == 1};
}

/// Hosts of more ranks do not get trees over the links to their NICs where others do: packing would take
/// seconds. These links carry direct parts instead (direct_parts.h).
constexpr size_t kMostRanksBesideNics = 16;

/// One shape, and its time with given trees.
class Planter {
 public:
  Planter(HostShape& shape, const std::vector<Attachment>& uplinks, int64_t parts, int64_t blocks)
      : shape_(shape), parts_(parts), own_(shape.blocks.begin(), shape.blocks.end()), foreign_(own_.size()) {
    own_blocks_ = std::accumulate(own_.begin(), own_.end(), int64_t{0});
    foreign_blocks_ = blocks - own_blocks_;
    passing_blocks_ = std::max(foreign_blocks_, own_blocks_);
    std::vector<int64_t> passing(uplinks.size());
    through_gates_.resize(shape.network.edges.size());
    for (const Gate& gate : shape.gates) {
      foreign_[at(gate.rank)] += gate.parts;
      passing[at(gate.uplink)] += gate.parts;
      for (const auto* way : {&gate.in, &gate.out}) {
        for (const int32_t edge : *way) through_gates_[at(edge)] += gate.parts;
      }
    }
    to_lowest_terms(foreign_);
    for (size_t u = 0; u < uplinks.size(); ++u)
      allowed_ = std::max(allowed_, Rational(passing[u], parts) * passing_blocks_ / uplinks[u].capacity);
  }

  Status plant() {
    Status last;
    std::optional<Rational> best;
    for (const auto& capacity : {beside_ways(), beside_traffic(), whole()}) {
      const Part part = part_of(shape_.network, capacity);
      for (const int few : {1, 2, 0}) {
        auto own = trees_in(part, own_, few);
        auto foreign = !own.ok() || own_ == foreign_ ? own : trees_in(part, foreign_, few);
        if (!foreign.ok()) {
          last = foreign.status();
          break;  // more trees do not help
        }
        const Rational time = time_with(own->packing, foreign->packing);
        const bool optimal = own->optimal && foreign->optimal && (own_ == foreign_ || large());
        if (!best.has_value() || time < *best) {
          best = time;
          shape_.own = std::move(own->packing);
          shape_.foreign = std::move(foreign->packing);
          if (time <= allowed_) return {};
        }
        if (optimal) break;  // nor do they here
      }
      if (best.has_value() && large()) return {};
    }
    return best.has_value() ? Status() : last;
  }

 private:
  bool large() const { return own_.size() > kMostRanksBesideNics; }
  std::vector<int64_t> whole() const {
    std::vector<int64_t> capacity;
    for (const Edge& edge : shape_.network.edges) capacity.push_back(edge.capacity);
    return capacity;
  }
  std::vector<int64_t> beside_ways() const {
    std::vector<int64_t> capacity = whole();
    for (size_t e = 0; e < capacity.size(); ++e) capacity[e] = through_gates_[e] > 0 ? 0 : capacity[e];
    return capacity;
  }
  /// The capacity that gates leave over if uplinks are always busy.
  std::vector<int64_t> beside_traffic() const {
    std::vector<int64_t> capacity = whole();
    if (allowed_ == 0) return capacity;
    for (size_t e = 0; e < capacity.size(); ++e) {
      const Rational pace = Rational(through_gates_[e], parts_) * passing_blocks_ / allowed_;
      capacity[e] -= static_cast<int64_t>(
          boost::multiprecision::cpp_int((numerator(pace) + denominator(pace) - 1) / denominator(pace)));
    }
    return capacity;
  }

  /// An estimate for all blocks: a host's sends depend on the rings.
  Rational time_with(const Packing& own, const Packing& foreign) const {
    std::vector<Rational> load(through_gates_.size());
    for (size_t e = 0; e < load.size(); ++e) load[e] = Rational(through_gates_[e], parts_) * passing_blocks_;
    const auto add = [&](const Packing& packing, int64_t blocks) {
      const int64_t all = std::accumulate(packing.shares.begin(), packing.shares.end(), int64_t{0});
      std::vector<int64_t> trees(load.size());
      for (const Tree& tree : packing.trees) {
        for (const TreeEdge& edge : tree.edges) {
          for (const int32_t step : edge.route) trees[at(step)] += tree.multiplicity;
        }
      }
      for (size_t e = 0; e < load.size(); ++e) {
        if (trees[e] > 0) load[e] += Rational(trees[e], all) * blocks;
      }
    };
    add(own, own_blocks_);
    add(foreign, foreign_blocks_);
    Rational most = 0;
    for (size_t e = 0; e < load.size(); ++e)
      most = std::max<Rational>(most, load[e] / shape_.network.edges[e].capacity);
    return most;
  }

  HostShape& shape_;
  int64_t parts_;
  std::vector<int64_t> own_;      // weights; index: rank
  std::vector<int64_t> foreign_;  // weights; index: rank
  int64_t own_blocks_ = 0;
  int64_t foreign_blocks_ = 0;
  int64_t passing_blocks_ = 0;          // blocks that pass the gates one way: at least the host's own
  std::vector<int64_t> through_gates_;  // index: edge; parts of a block
  Rational allowed_ = 0;                // time that uplinks take in any case
};

}  // namespace

Status plant_trees(HostShape& shape, const std::vector<Attachment>& uplinks, int64_t parts, int64_t blocks) {
  return Planter(shape, uplinks, parts, blocks).plant();
}

}  // namespace weir::algorithms
