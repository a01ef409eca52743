// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/direct.h"

#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;

/// Partial sums are stored after this number of additions: the maximum of one program step.
constexpr int kSumsOfAStep = 3;

class Direct {
 public:
  Direct(Collective kind, int ranks, Rank root)
      : plan_("direct", {kind, ranks, root, direct_chunks(kind, ranks)}), ranks_(ranks), root_(root) {}

  ir::Plan take() {
    for (Rank rank = 0; rank < ranks_; ++rank) add(rank);
    return plan_.take();
  }

 private:
  /// Emits the moves of `rank`.
  void add(Rank rank) {
    const auto own = static_cast<uint32_t>(rank);
    switch (plan_.shape().kind) {
      case Collective::all_reduce:
        push_everywhere(rank, sum(rank, ir::input(own), ir::output(own)), ir::output(own));
        break;
      case Collective::reduce: {
        const Operand made = sum(rank, ir::input(own), rank == root_ ? ir::output(own) : Operand{});
        if (rank != root_) plan_.push(rank, root_, made, ir::output(own), 1);
        break;
      }
      case Collective::reduce_scatter: sum(rank, ir::input(own), ir::output(0)); break;
      case Collective::all_gather:
        push_everywhere(rank, ir::value(plan_.local(rank, ir::input(0), {.to = ir::output(own)})),
                        ir::output(own));
        break;
      case Collective::broadcast: fetch(root_, rank, ir::input(0), ir::output(0)); break;
      case Collective::scatter: fetch(root_, rank, ir::input(own), ir::output(0)); break;
      case Collective::gather:
        if (rank == root_) {
          plan_.local(rank, ir::input(0), {.to = ir::output(own)});
        } else {
          plan_.push(rank, root_, ir::input(0), ir::output(own), 1);
        }
        break;
      default:
        for (int i = 0; i < ranks_; ++i) {
          const Rank src = wrap(rank + i, ranks_);
          fetch(src, rank, ir::input(own), ir::output(static_cast<uint32_t>(src)));
        }
    }
  }

  /// The sum of all ranks' `from` at `rank`; stored at `to`, which also holds partial sums, if there is one.
  Operand sum(Rank rank, Operand from, Operand to) {
    Operand made = from;
    for (int i = 1; i < ranks_; ++i) {
      const bool kept = i % kSumsOfAStep == 0 || i == ranks_ - 1;
      made = ir::value(
          plan_.pull(wrap(rank + i, ranks_), rank, from, {.with = made, .to = kept ? to : Operand{}}));
    }
    return made;
  }

  void push_everywhere(Rank rank, Operand made, Operand to) {
    for (int i = 1; i < ranks_; ++i) plan_.push(rank, wrap(rank + i, ranks_), made, to, 1);
  }

  void fetch(Rank src, Rank dst, Operand from, Operand to) {
    if (src == dst) {
      plan_.local(dst, from, {.to = to});
    } else {
      plan_.pull(src, dst, from, {.to = to});
    }
  }

  Builder plan_;
  const int ranks_;
  const Rank root_;
};

}  // namespace

uint32_t direct_chunks(Collective kind, int ranks) {
  const bool shared = kind == Collective::all_reduce || kind == Collective::reduce;
  return shared ? static_cast<uint32_t>(ranks) : 1;
}

ir::Plan direct(Collective kind, int ranks, Rank root) { return Direct(kind, ranks, root).take(); }

}  // namespace weir::algorithms
