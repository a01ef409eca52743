// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/halving_doubling.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/catalogue/cores.h"
#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;
using ir::Shape;

constexpr uint8_t kSendLane = 0;
constexpr uint8_t kReceiveLane = 1;

/// All-reduce over cores.
class Rabenseifner {
 public:
  explicit Rabenseifner(const Shape& shape)
      : cores_(shape.ranks),
        share_(shape.chunks / static_cast<uint32_t>(cores_.count)),
        plan_("halving_doubling", shape),
        held_(static_cast<size_t>(cores_.count), {0, static_cast<uint32_t>(cores_.count)}) {
    plan_.lanes(kSendLane, kReceiveLane);
  }

  ir::Plan emit() {
    const uint32_t all = plan_.shape().chunks;
    for (Rank even = 0; even < 2 * cores_.spare; even += 2) {
      plan_.send(even + 1, even, ir::input(0), {ir::input(0), ir::output(0), all});
    }
    for (int distance = 1; distance < cores_.count; distance *= 2) halve(distance);
    for (int distance = cores_.count / 2; distance > 0; distance /= 2) spread(distance);
    for (Rank even = 0; even < 2 * cores_.spare; even += 2) {
      plan_.send(even, even + 1, ir::output(0), {.to = ir::output(0), .chunks = all});
    }
    return plan_.take();
  }

 private:
  struct Range {
    uint32_t first, end;  // range of shares
  };

  Rank rank(int core) const { return cores_.rank(core); }
  Range& held(int core) { return held_[static_cast<size_t>(core)]; }

  /// Position of `core`'s partial sum: the input, or the output once something was added.
  Operand sum(int core, int distance, uint32_t share) const {
    const bool added = distance > 1 || core < cores_.spare;
    return added ? ir::output(share * share_) : ir::input(share * share_);
  }

  void halve(int distance) {
    cores_.pairs(distance, [&](int low, int high) {
      const Range both = held(low);
      const uint32_t middle = (both.first + both.end) / 2;
      const uint32_t chunks = (middle - both.first) * share_;
      plan_.send(rank(low), rank(high), sum(low, distance, middle),
                 {sum(high, distance, middle), ir::output(middle * share_), chunks});
      plan_.send(rank(high), rank(low), sum(high, distance, both.first),
                 {sum(low, distance, both.first), ir::output(both.first * share_), chunks});
      held(low) = {both.first, middle};
      held(high) = {middle, both.end};
    });
  }

  void spread(int distance) {
    cores_.pairs(distance, [&](int low, int high) {
      copy(low, high);
      copy(high, low);
      held(low).end = held(high).end;
      held(high).first = held(low).first;
    });
  }

  void copy(int from, int to) {
    const Range range = held(from);
    const Operand place = ir::output(range.first * share_);
    plan_.send(rank(from), rank(to), place, {.to = place, .chunks = (range.end - range.first) * share_});
  }

  const Cores cores_;
  const uint32_t share_;
  Builder plan_;
  std::vector<Range> held_;
};

/// Sends adjacent blocks in one move as long as every operand continues where the last block's operand ended.
class RunSender {
 public:
  RunSender(Builder& plan, Rank src, Rank dst) : plan_(plan), src_(src), dst_(dst) {}
  ~RunSender() { flush(); }
  RunSender(const RunSender&) = delete;
  RunSender& operator=(const RunSender&) = delete;

  void add(Operand from, Operand with, Operand to) {
    const uint32_t block = plan_.shape().chunks;
    if (run_.chunks > 0 && follows(from, from_) && follows(with, run_.with) && follows(to, run_.to)) {
      run_.chunks += block;
      return;
    }
    flush();
    from_ = from;
    run_ = {with, to, block};
  }

 private:
  bool follows(Operand next, Operand first) const {
    if (next.kind != first.kind) return false;
    return next.kind == Operand::Kind::none || next.index == first.index + run_.chunks;
  }
  void flush() {
    if (run_.chunks > 0) plan_.send(src_, dst_, from_, run_);
    run_.chunks = 0;
  }

  Builder& plan_;
  Rank src_, dst_;
  Operand from_;
  ir::Arrival run_{.chunks = 0};
};

}  // namespace

ir::Plan halving_doubling_all_reduce(const Shape& shape) { return Rabenseifner(shape).emit(); }

/// After the round of distance d a rank has the blocks of itself and of the 2d - 1 ranks after it.
ir::Plan halving_doubling_all_gather(const Shape& shape) {
  const int n = shape.ranks;
  const auto block = [&](Rank rank) {
    return ir::output(static_cast<uint32_t>(wrap(rank, n)) * shape.chunks);
  };
  Builder plan("halving_doubling", shape);
  for (int distance = 1; distance < n; distance *= 2) {
    for (Rank src = 0; src < n; ++src) {
      plan.lanes(kSendLane, kReceiveLane);
      const int blocks = std::min(distance, n - distance);
      {
        RunSender run(plan, src, wrap(src - distance, n));
        for (int i = 0; i < blocks; ++i) {
          run.add(distance == 1 ? ir::input(0) : block(src + i), {}, block(src + i));
        }
      }
      if (distance > 1) continue;
      plan.lane(kSendLane);
      plan.local(src, ir::input(0), {.to = block(src), .chunks = shape.chunks});
    }
  }
  return plan.take();
}

/// The all-gather backwards: in the round of distance d a rank sends its sums for the rank d after it and for
/// the d - 1 ranks after that. Partial sums are in scratch, indexed from the rank's own block.
ir::Plan halving_doubling_reduce_scatter(const Shape& shape) {
  const int n = shape.ranks;
  Builder plan("halving_doubling", shape);
  plan.lanes(kSendLane, kReceiveLane);
  int summed = 0;  // number of blocks, from its own on, for which every rank has added to scratch
  const auto sum = [&](Rank rank, int offset) {
    if (offset < summed) return ir::scratch(static_cast<uint32_t>(offset) * shape.chunks);
    return ir::input(static_cast<uint32_t>(wrap(rank + offset, n)) * shape.chunks);
  };
  uint32_t scratch = 0;
  for (int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) / 2; distance > 0;
       distance /= 2) {
    const int blocks = std::min(distance, n - distance);
    for (Rank src = 0; src < n; ++src) {
      const Rank dst = wrap(src + distance, n);
      RunSender run(plan, src, dst);
      for (int i = 0; i < blocks; ++i) {
        const Operand to =
            distance == 1 ? ir::output(0) : ir::scratch(static_cast<uint32_t>(i) * shape.chunks);
        run.add(sum(src, distance + i), sum(dst, i), to);
      }
    }
    if (distance == 1) break;
    summed = std::max(summed, blocks);
    scratch = std::max(scratch, static_cast<uint32_t>(blocks) * shape.chunks);
  }
  plan.scratch_chunks(scratch);
  return plan.take();
}

}  // namespace weir::algorithms
