// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/ring_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::MoveId;
using ir::Operand;
using ir::Shape;

/// The data that a rank passes to its neighbour on a ring.
struct RingHop {
  size_t ring;
  int at;  ///< position of `src` on the ring
  Rank src;
  Rank dst;
};

/// Emits rounds of hops and remembers what each rank received in the previous round.
class Rounds {
 public:
  Rounds(const Shape& shape, const Rings& rings)
      : plan_(rings.size() == 1 ? "ring" : "ring_set", shape), rings_(rings), ranks_(shape.ranks) {}

  Builder& plan() { return plan_; }

  /// `emit(hop)` makes the move of each hop of the round.
  template <typename Emit>
  void round(int number, Emit&& emit) {
    std::vector<MoveId> sent(rings_.size() * static_cast<size_t>(ranks_));
    for (size_t ring = 0; ring < rings_.size(); ++ring) {
      for (int at = 0; at < ranks_; ++at) {
        plan_.lanes(lane(ring, number), lane(ring, number + 1));
        const int next = wrap(at + 1, ranks_);
        sent[index(ring, next)] = emit(RingHop{ring, at, place(ring, at), place(ring, next)});
      }
    }
    got_ = std::move(sent);
  }
  /// The value that `hop.src` received in the previous round.
  Operand got(const RingHop& hop) const { return ir::value(got_[index(hop.ring, hop.at)]); }
  Rank place(size_t ring, int at) const { return rings_[ring][static_cast<size_t>(at)]; }
  static uint8_t lane(size_t ring, int round) {
    return static_cast<uint8_t>(2 * ring + static_cast<size_t>(round % 2));
  }

 private:
  size_t index(size_t ring, int at) const {
    return ring * static_cast<size_t>(ranks_) + static_cast<size_t>(at);
  }

  Builder plan_;
  const Rings& rings_;
  const int ranks_;
  std::vector<MoveId> got_;
};

/// Number of chunks of a block that one ring carries.
uint32_t share_of(const Shape& shape, const Rings& rings) {
  return shape.chunks / static_cast<uint32_t>(rings.size());
}

/// Calls visit(chunk, ring) for each chunk of the block; rings alternate.
template <typename Visit>
void each_chunk(const Shape& shape, const Rings& rings, Visit&& visit) {
  const uint32_t share = share_of(shape, rings);
  for (uint32_t c = 0; c < share; ++c) {
    for (size_t ring = 0; ring < rings.size(); ++ring) visit(static_cast<uint32_t>(ring) * share + c, ring);
  }
}

int place_of(const Ring& ring, Rank rank) {
  return static_cast<int>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
}

}  // namespace

Ring ring_in_order(int places) {
  Ring ring(static_cast<size_t>(places));
  std::iota(ring.begin(), ring.end(), 0);
  return ring;
}

Status check_rings(const Rings& rings, int places) {
  const auto wrong = [](std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); };
  if (rings.empty()) return wrong("no rings: expected rings of a network or a graph file");
  if (rings.size() > kMostRings)
    return wrong(fmt::format("{} rings: expected at most {} parallel rings", rings.size(), kMostRings));
  for (size_t number = 0; number < rings.size(); ++number) {
    Ring sorted = rings[number];
    std::sort(sorted.begin(), sorted.end());
    if (sorted == ring_in_order(places)) continue;
    return wrong(fmt::format("ring {} is {}: expected each of {} positions once", number,
                             fmt::join(rings[number], ","), places));
  }
  return {};
}

ir::Plan ring_all_reduce(const Shape& shape, const Rings& rings) {
  const int n = shape.ranks;
  const uint32_t part = share_of(shape, rings);
  const uint32_t share = part / static_cast<uint32_t>(n);
  Rounds rounds(shape, rings);
  for (int round = 0; round < 2 * n - 2; ++round) {
    rounds.round(round, [&](const RingHop& hop) {
      const uint32_t chunk =
          static_cast<uint32_t>(hop.ring) * part + static_cast<uint32_t>(wrap(hop.at - round, n)) * share;
      const Operand from = round == 0 ? ir::input(chunk) : rounds.got(hop);
      const Operand with = round < n - 1 ? ir::input(chunk) : Operand{};
      const Operand to = round >= n - 2 ? ir::output(chunk) : Operand{};
      return rounds.plan().send(hop.src, hop.dst, from, {with, to, share});
    });
  }
  return rounds.plan().take();
}

ir::Plan ring_reduce_scatter(const Shape& shape, const Rings& rings) {
  const int n = shape.ranks;
  const uint32_t share = share_of(shape, rings);
  Rounds rounds(shape, rings);
  for (int round = 0; round < n - 1; ++round) {
    rounds.round(round, [&](const RingHop& hop) {
      const uint32_t own = static_cast<uint32_t>(hop.ring) * share;
      const Rank block = rounds.place(hop.ring, wrap(hop.at - 1 - round, n));
      const uint32_t chunk = static_cast<uint32_t>(block) * shape.chunks + own;
      const Operand from = round == 0 ? ir::input(chunk) : rounds.got(hop);
      const Operand to = round == n - 2 ? ir::output(own) : Operand{};
      return rounds.plan().send(hop.src, hop.dst, from, {ir::input(chunk), to, share});
    });
  }
  return rounds.plan().take();
}

ir::Plan ring_all_gather(const Shape& shape, const Rings& rings) {
  const int n = shape.ranks;
  const uint32_t share = share_of(shape, rings);
  Rounds rounds(shape, rings);
  for (int round = 0; round < n - 1; ++round) {
    rounds.round(round, [&](const RingHop& hop) {
      const uint32_t own = static_cast<uint32_t>(hop.ring) * share;
      const Rank block = rounds.place(hop.ring, wrap(hop.at - round, n));
      const uint32_t chunk = static_cast<uint32_t>(block) * shape.chunks + own;
      const Operand from = round == 0 ? ir::input(own) : rounds.got(hop);
      const MoveId sent =
          rounds.plan().send(hop.src, hop.dst, from, {.to = ir::output(chunk), .chunks = share});
      if (round > 0) return sent;
      rounds.plan().lane(Rounds::lane(hop.ring, round));
      rounds.plan().local(hop.src, ir::input(own), {.to = ir::output(chunk), .chunks = share});
      return sent;
    });
  }
  return rounds.plan().take();
}

ir::Plan ring_broadcast(const Shape& shape, const Rings& rings) {
  const int n = shape.ranks;
  Rounds rounds(shape, rings);
  Builder& plan = rounds.plan();
  each_chunk(shape, rings, [&](uint32_t chunk, size_t ring) {
    plan.lane(Rounds::lane(ring, 0));
    const int first = place_of(rings[ring], shape.root);
    Operand carried = ir::input(chunk);
    for (int hop = 0; hop < n - 1; ++hop) {
      const Rank src = rounds.place(ring, wrap(first + hop, n));
      const Rank dst = rounds.place(ring, wrap(first + hop + 1, n));
      carried = ir::value(plan.send(src, dst, carried, {.to = ir::output(chunk)}));
      if (hop == 0) plan.local(shape.root, ir::input(chunk), {.to = ir::output(chunk)});
    }
  });
  return plan.take();
}

ir::Plan ring_reduce(const Shape& shape, const Rings& rings) {
  const int n = shape.ranks;
  Rounds rounds(shape, rings);
  Builder& plan = rounds.plan();
  each_chunk(shape, rings, [&](uint32_t chunk, size_t ring) {
    plan.lane(Rounds::lane(ring, 0));
    const int last = place_of(rings[ring], shape.root);
    Operand carried = ir::input(chunk);
    for (int hop = 1; hop < n; ++hop) {
      const Rank src = rounds.place(ring, wrap(last + hop, n));
      const Rank dst = rounds.place(ring, wrap(last + hop + 1, n));
      const Operand to = hop == n - 1 ? ir::output(chunk) : Operand{};
      carried = ir::value(plan.send(src, dst, carried, {.with = ir::input(chunk), .to = to}));
    }
  });
  return plan.take();
}

}  // namespace weir::algorithms
