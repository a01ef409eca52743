// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "algorithms/catalogue/all_pairs.h"
#include "algorithms/catalogue/binomial.h"
#include "algorithms/catalogue/chain.h"
#include "algorithms/catalogue/double_tree.h"
#include "algorithms/catalogue/halving_doubling.h"
#include "algorithms/catalogue/hierarchical.h"
#include "algorithms/catalogue/kary_tree.h"
#include "algorithms/catalogue/one_shot.h"
#include "algorithms/catalogue/pairwise.h"
#include "algorithms/catalogue/pat.h"
#include "algorithms/catalogue/planned.h"
#include "algorithms/catalogue/rail.h"
#include "algorithms/catalogue/recursive_doubling.h"
#include "algorithms/catalogue/ring_set.h"
#include "algorithms/catalogue/two_shot.h"
#include "algorithms/ir/builder.h"
#include "algorithms/ir/verify.h"

namespace weir::algorithms {
namespace {

uint32_t one(int, const Layout&) { return 1; }
uint32_t two(int, const Layout&) { return 2; }
uint32_t one_per_rank(int ranks, const Layout&) { return static_cast<uint32_t>(ranks); }
uint32_t power_of_two(int ranks, const Layout&) { return std::bit_floor(static_cast<uint32_t>(ranks)); }
uint32_t one_per_ring(int, const Layout& layout) {
  return static_cast<uint32_t>(std::max<size_t>(layout.rings.size(), 1));
}
uint32_t one_per_ring_and_rank(int ranks, const Layout& layout) {
  return one_per_ring(ranks, layout) * static_cast<uint32_t>(ranks);
}

template <int kArity>
ir::Plan tree_all_reduce(const ir::Shape& shape) {
  return kary_tree_all_reduce(shape, kArity);
}
template <int kArity>
ir::Plan tree_reduce(const ir::Shape& shape) {
  return kary_tree_reduce(shape, kArity);
}
template <int kArity>
ir::Plan tree_broadcast(const ir::Shape& shape) {
  return kary_tree_broadcast(shape, kArity);
}

ir::Plan flat_all_gather(const ir::Shape& shape) { return pat_all_gather(shape, {}, kPatAggregate); }
ir::Plan flat_reduce_scatter(const ir::Shape& shape) { return pat_reduce_scatter(shape, {}, kPatAggregate); }
ir::Plan nested_all_gather(const ir::Shape& shape, std::span<const Groups> levels) {
  return pat_all_gather(shape, levels, kPatAggregate);
}
ir::Plan nested_reduce_scatter(const ir::Shape& shape, std::span<const Groups> levels) {
  return pat_reduce_scatter(shape, levels, kPatAggregate);
}

constexpr std::string_view kRing =
    "large messages on uniform links: all links are always busy; ranks - 1 hops";
constexpr std::string_view kChain = "large messages: a pipeline along the ranks; ranks - 1 hops";
constexpr std::string_view kRings = "large messages, if one ring leaves links idle: several parallel rings";
constexpr std::string_view kTree =
    "medium messages, many ranks: two trees with half of the data each; 2 log2(ranks) hops";
constexpr std::string_view kTree4 = "small messages, slow hops: log4(ranks) hops, 4 messages per inner rank";
constexpr std::string_view kTree8 =
    "small messages, very slow hops: log8(ranks) hops, 8 messages per inner rank";
constexpr std::string_view kHalving = "medium messages: log2(ranks) exchanges; best for powers of two";
constexpr std::string_view kDoubling =
    "small messages: log2(ranks) exchanges of whole messages; best for powers of two";
constexpr std::string_view kHierarchy =
    "large messages, hosts or leaves that share uplinks: rings inside rings";
constexpr std::string_view kPat =
    "small messages, many hosts: log2(hosts) messages per rail; distant ones come first and are small";
constexpr std::string_view kOneShot =
    "small messages: one hop, ranks - 1 messages per rank; sums in rank order";
constexpr std::string_view kTwoShot = "for ranks that can read each other's memory; sums in rank order";
constexpr std::string_view kRail =
    "for hosts with a NIC per rank: only ranks with the same position in their hosts exchange blocks";
constexpr std::string_view kPairwise = "large blocks: one peer at a time";
constexpr std::string_view kPlanned =
    "large messages on unequal links: trees or rings computed for a known network";
constexpr std::string_view kAllPairs =
    "medium and large messages, sums in rank order: each rank sums its part and sends it to all; two hops";
constexpr std::string_view kRankChain =
    "large messages, sums in rank order: partial sums pass from rank to rank; 2 (ranks - 1) hops";
constexpr std::string_view kBinomial = "small messages, many ranks: log2(ranks) hops";

/// The number of chunks of the layout's plan of that kind.
template <Collective kKind>
uint32_t planned_chunks(int ranks, const Layout& layout) {
  const ir::Plan* plan = planned_for(kKind, ranks, layout);
  return plan == nullptr ? 1 : plan->shape.chunks;
}

using OverRings = ir::Plan (*)(const ir::Shape&, const Rings&);

/// The plan over one ring, in the order of positions.
template <OverRings kMake>
ir::Plan in_order(const ir::Shape& shape) {
  return kMake(shape, {ring_in_order(shape.ranks)});
}

/// The plan over all rings of the layout.
template <OverRings kMake>
Result<ir::Plan> over_rings(const ir::Shape& shape, const Layout& layout) {
  WEIR_TRY(check_rings(layout.rings, shape.ranks));
  return kMake(shape, layout.rings);
}

/// The plan of an algorithm that uses groups.
template <ir::Plan (*kMake)(const ir::Shape&, std::span<const Groups>)>
Result<ir::Plan> over_groups(const ir::Shape& shape, const Layout& layout) {
  WEIR_TRY(check_levels(layout.levels, shape.ranks));
  return kMake(shape, layout.levels);
}

using enum Collective;
constexpr Entry kEntries[] = {
    {"ring", all_reduce, one_per_rank, in_order<ring_all_reduce>, kRing},
    {"ring", reduce_scatter, one, in_order<ring_reduce_scatter>, kRing},
    {"ring", all_gather, one, in_order<ring_all_gather>, kRing},
    {"ring", broadcast, one, in_order<ring_broadcast>, kChain},
    {"ring", reduce, one, in_order<ring_reduce>, kChain},
    {"ring_set", all_reduce, one_per_ring_and_rank, nullptr, kRings, false, over_rings<ring_all_reduce>},
    {"ring_set", reduce_scatter, one_per_ring, nullptr, kRings, false, over_rings<ring_reduce_scatter>},
    {"ring_set", all_gather, one_per_ring, nullptr, kRings, false, over_rings<ring_all_gather>},
    {"ring_set", broadcast, one_per_ring, nullptr, kRings, false, over_rings<ring_broadcast>},
    {"ring_set", reduce, one_per_ring, nullptr, kRings, false, over_rings<ring_reduce>},
    {"double_tree", all_reduce, two, double_tree_all_reduce, kTree},
    {"double_tree", reduce, two, double_tree_reduce, kTree},
    {"double_tree", broadcast, two, double_tree_broadcast, kTree},
    {"tree4", all_reduce, one, tree_all_reduce<4>, kTree4},
    {"tree4", reduce, one, tree_reduce<4>, kTree4},
    {"tree4", broadcast, one, tree_broadcast<4>, kTree4},
    {"tree8", all_reduce, one, tree_all_reduce<8>, kTree8},
    {"tree8", reduce, one, tree_reduce<8>, kTree8},
    {"tree8", broadcast, one, tree_broadcast<8>, kTree8},
    {"halving_doubling", all_reduce, power_of_two, halving_doubling_all_reduce, kHalving},
    {"halving_doubling", reduce_scatter, one, halving_doubling_reduce_scatter, kHalving},
    {"halving_doubling", all_gather, one, halving_doubling_all_gather, kHalving},
    {"hierarchical", all_reduce, one_per_rank, nullptr, kHierarchy, false,
     over_groups<hierarchical_all_reduce>},
    {"hierarchical", reduce_scatter, one, nullptr, kHierarchy, false,
     over_groups<hierarchical_reduce_scatter>},
    {"hierarchical", all_gather, one, nullptr, kHierarchy, false, over_groups<hierarchical_all_gather>},
    {"pat", reduce_scatter, one, flat_reduce_scatter, kPat, false, over_groups<nested_reduce_scatter>},
    {"pat", all_gather, one, flat_all_gather, kPat, false, over_groups<nested_all_gather>},
    {"one_shot", all_reduce, one, one_shot_all_reduce, kOneShot},
    {"one_shot", reduce, one, one_shot_reduce, kOneShot},
    {"one_shot", broadcast, one, one_shot_broadcast, kOneShot},
    {"one_shot", all_gather, one, one_shot_all_gather, kOneShot},
    {"one_shot", reduce_scatter, one, one_shot_reduce_scatter, kOneShot},
    {"one_shot", all_to_all, one, one_shot_all_to_all, kOneShot},
    {"one_shot", gather, one, one_shot_gather, kOneShot},
    {"one_shot", scatter, one, one_shot_scatter, kOneShot},
    {"two_shot", all_reduce, one_per_rank, two_shot_all_reduce, kTwoShot, true},
    {"two_shot", reduce_scatter, one, two_shot_reduce_scatter, kTwoShot, true},
    {"two_shot", all_gather, one, two_shot_all_gather, kTwoShot, true},
    {"all_pairs", all_reduce, one_per_rank, all_pairs_all_reduce, kAllPairs},
    {"all_pairs", reduce, one_per_rank, all_pairs_reduce, kAllPairs},
    {"chain", all_reduce, one, chain_all_reduce, kRankChain},
    {"chain", reduce, one, chain_reduce, kRankChain},
    {"chain", reduce_scatter, one, chain_reduce_scatter, kRankChain},
    {"recursive_doubling", all_reduce, one, recursive_doubling_all_reduce, kDoubling},
    {"pairwise", all_to_all, one, pairwise_all_to_all, kPairwise},
    {"rail", all_to_all, one, nullptr, kRail, false, over_groups<rail_all_to_all>},
    {"rail", gather, one, nullptr, kRail, false, over_groups<rail_gather>},
    {"rail", scatter, one, nullptr, kRail, false, over_groups<rail_scatter>},
    {"binomial", broadcast, one, binomial_broadcast, kBinomial},
    {"binomial", reduce, one, binomial_reduce, kBinomial},
    {"binomial", gather, one, binomial_gather, kBinomial},
    {"binomial", scatter, one, binomial_scatter, kBinomial},
    {"planned", all_reduce, planned_chunks<all_reduce>, nullptr, kPlanned, false, planned},
    {"planned", reduce_scatter, planned_chunks<reduce_scatter>, nullptr, kPlanned, false, planned},
    {"planned", all_gather, planned_chunks<all_gather>, nullptr, kPlanned, false, planned},
};

/// One rank: for every algorithm the input is copied to the output.
ir::Plan alone(std::string_view algorithm, const ir::Shape& shape) {
  ir::Builder plan(std::string(algorithm), shape);
  plan.local(0, ir::input(0), {.to = ir::output(0), .chunks = shape.chunks});
  return plan.take();
}

Status refuse(std::string message) { return {Code::invalid_argument, std::move(message)}; }

Status unknown(std::string_view algorithm, Collective kind) {
  std::string others;
  bool known = false;
  for (const Entry& entry : kEntries) {
    known |= entry.algorithm == algorithm;
    if (entry.kind == kind) others += fmt::format("{}{}", others.empty() ? "" : ", ", entry.algorithm);
  }
  return refuse(fmt::format("{} algorithm \"{}\"{}: expected {}", known ? "the" : "unknown", algorithm,
                            known ? fmt::format(" does not support {}", name(kind)) : "",
                            others.empty() ? "another collective" : "one of " + others));
}

}  // namespace

std::span<const Entry> catalogue() { return kEntries; }

const Entry* find(std::string_view algorithm, Collective kind) {
  const auto* entry = std::find_if(std::begin(kEntries), std::end(kEntries), [&](const Entry& e) {
    return e.algorithm == algorithm && e.kind == kind;
  });
  return entry == std::end(kEntries) ? nullptr : entry;
}

bool sums_in_rank_order(const Entry& entry) {
  const bool direct = entry.algorithm == "one_shot" || entry.algorithm == "two_shot";
  return reduces(entry.kind) && (direct || is_for_rank_order(entry));
}

bool is_for_rank_order(const Entry& entry) {
  return entry.algorithm == "all_pairs" || entry.algorithm == "chain";
}

bool needs_layout(const Entry& entry, const Layout& layout) {
  return entry.make_on != nullptr && (entry.make == nullptr || !layout.levels.empty());
}

uint32_t default_chunks(const Entry& entry, int ranks, const Layout& layout) {
  return ranks < 2 ? 1 : entry.default_chunks(ranks, layout);
}

Result<ir::Plan> emit(std::string_view algorithm, const ir::Shape& shape, const Layout& layout) {
  const Entry* entry = find(algorithm, shape.kind);
  if (entry == nullptr) return unknown(algorithm, shape.kind);
  WEIR_TRY(ir::check_shape(shape));
  const uint32_t unit = default_chunks(*entry, shape.ranks, layout);
  if (shape.chunks == 0 || shape.chunks % unit != 0) {
    return refuse(fmt::format("{} {} over {} ranks: expected a multiple of {} chunks, not {}", algorithm,
                              name(shape.kind), shape.ranks, unit, shape.chunks));
  }
  if (shape.ranks == 1) return alone(algorithm, shape);
  if (!needs_layout(*entry, layout)) return entry->make(shape);
  auto plan = entry->make_on(shape, layout);
  if (plan.ok()) return plan;
  return refuse(fmt::format("{} {}: {}", algorithm, name(shape.kind), plan.status().message()));
}

}  // namespace weir::algorithms
