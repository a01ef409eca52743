#include "algorithms/ring.h"

#include <vector>

#include "algorithms/ir/builder.h"
#include "algorithms/wrap.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::MoveId;
using ir::Operand;
using ir::Shape;

/// One round of a ring: what rank `src` hands to its neighbour in round `round`.
uint8_t lane_of(int round) { return static_cast<uint8_t>(round % 2); }

}  // namespace

ir::Plan ring_all_reduce(const Shape& shape) {
  const int n = shape.ranks;
  const uint32_t share = shape.chunks / static_cast<uint32_t>(n);
  Builder plan("ring", shape);
  std::vector<MoveId> got(static_cast<size_t>(n));
  for (int round = 0; round < 2 * n - 2; ++round) {
    plan.lanes(lane_of(round), lane_of(round + 1));
    std::vector<MoveId> sent(static_cast<size_t>(n));
    for (Rank src = 0; src < n; ++src) {
      const Rank dst = wrap(src + 1, n);
      const uint32_t chunk = static_cast<uint32_t>(wrap(src - round, n)) * share;
      const Operand from = round == 0 ? ir::input(chunk) : ir::value(got[static_cast<size_t>(src)]);
      const Operand with = round < n - 1 ? ir::input(chunk) : Operand{};
      const Operand to = round >= n - 2 ? ir::output(chunk) : Operand{};
      sent[static_cast<size_t>(dst)] = plan.send(src, dst, from, {with, to, share});
    }
    got = sent;
  }
  return plan.take();
}

ir::Plan ring_reduce_scatter(const Shape& shape) {
  const int n = shape.ranks;
  Builder plan("ring", shape);
  std::vector<MoveId> got(static_cast<size_t>(n));
  for (int round = 0; round < n - 1; ++round) {
    plan.lanes(lane_of(round), lane_of(round + 1));
    std::vector<MoveId> sent(static_cast<size_t>(n));
    for (Rank src = 0; src < n; ++src) {
      const Rank dst = wrap(src + 1, n);
      const uint32_t block = static_cast<uint32_t>(wrap(src - 1 - round, n)) * shape.chunks;
      const Operand from = round == 0 ? ir::input(block) : ir::value(got[static_cast<size_t>(src)]);
      const Operand to = round == n - 2 ? ir::output(0) : Operand{};
      sent[static_cast<size_t>(dst)] = plan.send(src, dst, from, {ir::input(block), to, shape.chunks});
    }
    got = sent;
  }
  return plan.take();
}

ir::Plan ring_all_gather(const Shape& shape) {
  const int n = shape.ranks;
  Builder plan("ring", shape);
  std::vector<MoveId> got(static_cast<size_t>(n));
  for (int round = 0; round < n - 1; ++round) {
    std::vector<MoveId> sent(static_cast<size_t>(n));
    for (Rank src = 0; src < n; ++src) {
      const Rank dst = wrap(src + 1, n);
      const uint32_t block = static_cast<uint32_t>(wrap(src - round, n)) * shape.chunks;
      const Operand from = round == 0 ? ir::input(0) : ir::value(got[static_cast<size_t>(src)]);
      plan.lanes(lane_of(round), lane_of(round + 1));
      sent[static_cast<size_t>(dst)] =
          plan.send(src, dst, from, {.to = ir::output(block), .chunks = shape.chunks});
      if (round > 0) continue;
      plan.lane(lane_of(round));
      plan.local(src, ir::input(0), {.to = ir::output(block), .chunks = shape.chunks});
    }
    got = sent;
  }
  return plan.take();
}

ir::Plan ring_broadcast(const Shape& shape) {
  const int n = shape.ranks;
  Builder plan("ring", shape);
  for (uint32_t c = 0; c < shape.chunks; ++c) {
    Operand carried = ir::input(c);
    for (int hop = 0; hop < n - 1; ++hop) {
      const Rank src = wrap(shape.root + hop, n);
      carried = ir::value(plan.send(src, wrap(src + 1, n), carried, {.to = ir::output(c)}));
      if (hop == 0) plan.local(shape.root, ir::input(c), {.to = ir::output(c)});
    }
  }
  return plan.take();
}

ir::Plan ring_reduce(const Shape& shape) {
  const int n = shape.ranks;
  Builder plan("ring", shape);
  for (uint32_t c = 0; c < shape.chunks; ++c) {
    Operand carried = ir::input(c);
    for (int hop = 1; hop < n; ++hop) {
      const Rank src = wrap(shape.root + hop, n);
      const Rank dst = wrap(src + 1, n);
      const Operand to = dst == shape.root ? ir::output(c) : Operand{};
      carried = ir::value(plan.send(src, dst, carried, {.with = ir::input(c), .to = to}));
    }
  }
  return plan.take();
}

}  // namespace weir::algorithms
