// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/ir/builder.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;

/// Number of lanes that trees use in turn; the sums of an all-reduce use as many others.
constexpr int kLanes = 8;
static_assert(2 * kLanes <= ir::kMaxLanes);

/// A tree and the chunks it carries, relative to the first chunk of its root.
struct Part {
  const Tree* tree;
  uint32_t first;
  uint32_t chunks;
};

int64_t common_factor(const Packing& packing, int64_t factor = 0) {
  for (const Tree& tree : packing.trees) factor = std::gcd(factor, tree.multiplicity);
  return std::max<int64_t>(factor, 1);
}

std::vector<Part> parts_of(const Packing& packing, int64_t factor) {
  std::vector<int64_t> used(packing.shares.size());
  std::vector<Part> parts;
  for (const Tree& tree : packing.trees) {
    int64_t& first = used[at(tree.root)];
    parts.push_back({&tree, static_cast<uint32_t>(first), static_cast<uint32_t>(tree.multiplicity / factor)});
    first += tree.multiplicity / factor;
  }
  return parts;
}

/// Sends the root's data at `from` down the tree, from a separate lane of the root; all others store it at
/// output chunk `to`.
void descend(Builder& plan, const Part& part, Operand from, uint32_t to, uint8_t root_lane, uint8_t lane) {
  const Rank root = part.tree->root;
  std::vector<Operand> held(at(plan.shape().ranks));
  held[at(root)] = from;
  for (const TreeEdge& edge : part.tree->edges) {
    plan.lanes(edge.from == root ? root_lane : lane, lane);
    held[at(edge.to)] = ir::value(
        plan.send(edge.from, edge.to, held[at(edge.from)], {.to = ir::output(to), .chunks = part.chunks}));
  }
}

/// Adds up all ranks' input chunks from `own` on up the tree, in the builder's lane; the root stores the sum
/// at output chunk `to`.
class Ascent {
 public:
  Ascent(Builder& plan, const Part& part, uint32_t own, uint32_t to)
      : plan_(plan), part_(part), own_(own), to_(to), children_(at(plan.shape().ranks)) {
    for (const TreeEdge& edge : part.tree->edges) children_[at(edge.from)].push_back(edge.to);
  }
  Operand run() { return climb(part_.tree->root); }

 private:
  /// The sum of `rank` and all ranks below it. Arrivals at a rank are consecutive, so that they are fused.
  Operand climb(Rank rank) {
    std::vector<Operand> sums;
    for (Rank child : children_[at(rank)]) sums.push_back(climb(child));
    Operand sum = ir::input(own_);
    for (size_t i = 0; i < sums.size(); ++i) {
      const bool last = rank == part_.tree->root && i + 1 == sums.size();
      const Operand keep = last ? ir::output(to_) : Operand{};
      sum = ir::value(plan_.send(children_[at(rank)][i], rank, sums[i],
                                 {.with = sum, .to = keep, .chunks = part_.chunks}));
    }
    return sum;
  }

  Builder& plan_;
  const Part& part_;
  uint32_t own_;
  uint32_t to_;
  std::vector<std::vector<Rank>> children_;
};

Status unsuited(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

/// The shape of a plan with `chunks` per block. A single rank needs no plan.
Result<ir::Shape> shape_of(Collective kind, const Packing& packing, Rank root, int64_t chunks) {
  const auto ranks = static_cast<int>(packing.shares.size());
  if (ranks < 2) return unsuited(fmt::format("a packing over {} ranks: expected at least 2", ranks));
  if (chunks < 1 || chunks > UINT32_MAX) {
    return unsuited(
        fmt::format("a packing that divides a block into {} chunks: expected 1 to {}", chunks, UINT32_MAX));
  }
  return ir::Shape{kind, ranks, root, static_cast<uint32_t>(chunks)};
}

Result<ir::Shape> equal_blocks(Collective kind, const Packing& packing) {
  for (size_t r = 1; r < packing.shares.size(); ++r) {
    if (packing.shares[r] == packing.shares[0]) continue;
    return unsuited(
        fmt::format("{}: rank {} is the root of {} trees and rank 0 of {}: expected equal numbers",
                    name(kind), r, packing.shares[r], packing.shares[0]));
  }
  const int64_t share = packing.shares.empty() ? 0 : packing.shares[0];
  return shape_of(kind, packing, 0, share / common_factor(packing));
}

Result<ir::Shape> one_root(Collective kind, const Packing& packing) {
  const auto roots = packing.shares.size() -
                     static_cast<size_t>(std::count(packing.shares.begin(), packing.shares.end(), 0));
  if (roots != 1) return unsuited(fmt::format("{}: trees of {} roots: expected one root", name(kind), roots));
  const auto root =
      std::find_if(packing.shares.begin(), packing.shares.end(), [](int64_t share) { return share != 0; });
  return shape_of(kind, packing, static_cast<Rank>(root - packing.shares.begin()),
                  *root / common_factor(packing));
}

/// A plan whose parts are written by `emit(builder, part, lane)`; that lane is the builder's.
template <typename Emit>
ir::Plan written(const ir::Shape& shape, const Packing& packing, Emit&& emit) {
  Builder plan("packing", shape);
  int turn = 0;
  for (const Part& part : parts_of(packing, common_factor(packing))) {
    const auto lane = static_cast<uint8_t>(turn++ % kLanes);
    plan.lane(lane);
    emit(plan, part, lane);
  }
  return plan.take();
}

/// Chunks with one tree up and one tree down.
struct Turn {
  Part up;
  Part down;
};

/// Both sorted by root, with equal numbers of chunks for each root.
std::vector<Turn> turns_of(std::vector<Part> up, std::vector<Part> down) {
  std::vector<Turn> turns;
  const auto shorten = [](std::vector<Part>& parts, size_t& next, uint32_t chunks) {
    Part& part = parts[next];
    part.first += chunks;
    part.chunks -= chunks;
    if (part.chunks == 0) ++next;
  };
  for (size_t u = 0, d = 0; u < up.size();) {
    Turn turn{up[u], down[d]};
    turn.up.chunks = turn.down.chunks = std::min(up[u].chunks, down[d].chunks);
    turns.push_back(turn);
    shorten(up, u, turn.up.chunks);
    shorten(down, d, turn.up.chunks);
  }
  return turns;
}

}  // namespace

Result<ir::Plan> tree_all_gather(const Packing& packing) {
  auto shape = equal_blocks(Collective::all_gather, packing);
  WEIR_TRY(shape.status());
  return written(*shape, packing, [](Builder& plan, const Part& part, uint8_t lane) {
    const Rank root = part.tree->root;
    const uint32_t to = static_cast<uint32_t>(root) * plan.shape().chunks + part.first;
    descend(plan, part, ir::input(part.first), to, lane, lane);
    plan.local(root, ir::input(part.first), {.to = ir::output(to), .chunks = part.chunks});
  });
}

Result<ir::Plan> tree_reduce_scatter(const Packing& reversed_packing) {
  auto shape = equal_blocks(Collective::reduce_scatter, reversed_packing);
  WEIR_TRY(shape.status());
  return written(*shape, reversed_packing, [](Builder& plan, const Part& part, uint8_t) {
    const uint32_t own = static_cast<uint32_t>(part.tree->root) * plan.shape().chunks + part.first;
    Ascent(plan, part, own, part.first).run();
  });
}

Result<ir::Plan> tree_broadcast(const Packing& packing) {
  auto shape = one_root(Collective::broadcast, packing);
  WEIR_TRY(shape.status());
  return written(*shape, packing, [](Builder& plan, const Part& part, uint8_t lane) {
    descend(plan, part, ir::input(part.first), part.first, lane, lane);
    plan.local(part.tree->root, ir::input(part.first), {.to = ir::output(part.first), .chunks = part.chunks});
  });
}

Result<ir::Plan> tree_reduce(const Packing& reversed_packing) {
  auto shape = one_root(Collective::reduce, reversed_packing);
  WEIR_TRY(shape.status());
  return written(*shape, reversed_packing, [](Builder& plan, const Part& part, uint8_t) {
    Ascent(plan, part, part.first, part.first).run();
  });
}

Result<ir::Plan> tree_all_reduce(const Packing& reversed_packing, const Packing& packing) {
  if (reversed_packing.shares != packing.shares) {
    return unsuited(
        "all_reduce: the roots of the packings that sum and that spread differ: expected equal numbers of "
        "trees per root");
  }
  const int64_t factor = std::max<int64_t>(1, common_factor(packing, common_factor(reversed_packing)));
  const int64_t total = std::accumulate(packing.shares.begin(), packing.shares.end(), int64_t{0});
  auto shape = shape_of(Collective::all_reduce, packing, 0, total / factor);
  WEIR_TRY(shape.status());
  std::vector<uint32_t> region(packing.shares.size());  // index: root; its first chunk
  uint32_t next = 0;
  for (size_t r = 0; r < region.size(); ++r) {
    region[r] = next;
    next += static_cast<uint32_t>(packing.shares[r] / factor);
  }
  Builder plan("packing", *shape);
  int turn_number = 0;
  for (const Turn& turn : turns_of(parts_of(reversed_packing, factor), parts_of(packing, factor))) {
    const uint32_t chunk = region[at(turn.up.tree->root)] + turn.up.first;
    const auto down = static_cast<uint8_t>(turn_number++ % kLanes);
    const auto up = static_cast<uint8_t>(kLanes + down);
    plan.lane(up);
    const Operand sum = Ascent(plan, turn.up, chunk, chunk).run();
    descend(plan, turn.down, sum, chunk, up, down);
  }
  return plan.take();
}

}  // namespace weir::algorithms
