// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/ir/symbolic.h"

namespace weir::ir {
namespace {

using Kind = Operand::Kind;

template <typename... Args>
Status wrong(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::invalid_argument, fmt::format(format, std::forward<Args>(args)...)};
}

std::string_view word(Kind kind) {
  constexpr std::string_view kWords[] = {"nothing", "input", "output", "scratch", "value"};
  return kWords[static_cast<int>(kind)];
}

/// Checks everything about a move that does not depend on the contents of chunks.
class Forms {
 public:
  explicit Forms(const Plan& plan)
      : plan_(plan), map_(plan.shape, plan.scratch_chunks, Placement::apart), used_(plan.moves.size()) {}

  Status check() {
    uint64_t traffic = 0;
    for (number_ = 0; number_ < plan_.moves.size(); ++number_) {
      WEIR_TRY(check_move(plan_.moves[number_]));
      traffic += plan_.moves[number_].chunks;
      if (traffic > kMaxPlanTraffic) {
        return wrong("the plan moves more than {} chunks up to move {}", kMaxPlanTraffic, number_);
      }
    }
    for (size_t m = 0; m < plan_.moves.size(); ++m) {
      if (!used_[m] && plan_.moves[m].to.kind == Kind::none) {
        return wrong("move {} makes a value that is neither stored nor used by a later move", m);
      }
    }
    return {};
  }
  /// For each move, whether a later one uses its value. REQUIRES: check() was ok.
  const std::vector<bool>& used() const { return used_; }

 private:
  Status check_move(const Move& move) {
    const int ranks = plan_.shape.ranks;
    if (move.src < 0 || move.src >= ranks) return no_such_rank("src", move.src);
    if (move.dst < 0 || move.dst >= ranks) return no_such_rank("dst", move.dst);
    if (const int lane = std::max(move.src_lane, move.dst_lane); lane >= kMaxLanes) {
      return wrong("move {} uses lane {}: expected lanes 0 to {}", number_, lane, kMaxLanes - 1);
    }
    if (move.src == move.dst && move.src_lane != move.dst_lane) {
      return wrong("move {} is local to rank {}, but uses lanes {} and {}", number_, move.src,
                   int{move.src_lane}, int{move.dst_lane});
    }
    if (move.chunks == 0) return wrong("move {} moves 0 chunks", number_);
    if (move.from.kind == Kind::none) return wrong("move {} has no source", number_);
    if (move.pull && move.src == move.dst) {
      return wrong("move {} pulls at rank {} from itself: expected a local move", number_, move.src);
    }
    if (move.pull && !move.from.in_memory()) {
      return wrong("move {} pulls a value: expected an operand in memory", number_);
    }
    if (move.push) WEIR_TRY(check_push(move));
    if (move.with.kind != Kind::none && !reduces(plan_.shape.kind)) {
      return wrong("move {} sums chunks, but {} does not reduce", number_, name(plan_.shape.kind));
    }
    if (move.to.kind == Kind::input) {
      return wrong("move {} writes input chunk {} of rank {}: inputs are only read", number_, move.to.index,
                   move.dst);
    }
    if (move.to.kind == Kind::value)
      return wrong("move {} stores its value in a value: expected output or scratch", number_);
    WEIR_TRY(check_operand(move, move.from, move.src, move.src_lane));
    WEIR_TRY(check_operand(move, move.with, move.dst, move.dst_lane));
    return check_operand(move, move.to, move.dst, move.dst_lane);
  }

  Status check_push(const Move& move) const {
    if (move.pull) return wrong("move {} is both pulled and pushed: expected only one of the two", number_);
    if (move.src == move.dst)
      return wrong("move {} pushes at rank {} to itself: expected a local move", number_, move.src);
    if (move.with.kind != Kind::none)
      return wrong(
          "move {} pushes and sums: expected a push without a sum, because the destination executes nothing",
          number_);
    if (!move.to.in_memory())
      return wrong("move {} pushes without a destination: expected output or scratch", number_);
    return {};
  }

  Status no_such_rank(std::string_view end, Rank rank) const {
    return wrong("move {} has {} rank {}: expected ranks 0 to {}", number_, end, rank, plan_.shape.ranks - 1);
  }

  Status check_operand(const Move& move, Operand operand, Rank at, int lane) {
    if (operand.kind == Kind::none) return {};
    if (operand.kind == Kind::value) return check_value(move, operand.index, at, lane);
    const uint64_t size = map_.chunks(at, operand.kind);
    if (uint64_t{operand.index} + move.chunks <= size) return {};
    if (size == 0)
      return wrong("move {} uses {} of rank {}, which has none", number_, word(operand.kind), at);
    return wrong("move {} uses {} chunks {} to {} of rank {}, which has chunks 0 to {}", number_,
                 word(operand.kind), operand.index, uint64_t{operand.index} + move.chunks - 1, at, size - 1);
  }

  Status check_value(const Move& move, uint32_t maker, Rank at, int lane) {
    if (maker >= number_)
      return wrong("move {} uses the value of move {}, which comes later", number_, maker);
    const Move& made = plan_.moves[maker];
    if (made.dst != at) {
      return wrong("move {} uses the value of move {} at rank {}, but it was made at rank {}", number_, maker,
                   at, made.dst);
    }
    if (made.push)
      return wrong(
          "move {} uses the value of move {}, which was pushed: expected the memory to which it was pushed",
          number_, maker);
    if (made.to.kind == Kind::none && made.dst_lane != lane) {
      return wrong("move {} uses the value of move {} in lane {}, but it was made in lane {} and not stored",
                   number_, maker, lane, int{made.dst_lane});
    }
    if (made.chunks != move.chunks) {
      return wrong("move {} of {} chunks uses the value of move {}, which has {}", number_, move.chunks,
                   maker, made.chunks);
    }
    used_[maker] = true;
    return {};
  }

  const Plan& plan_;
  MemoryMap map_;
  std::vector<bool> used_;
  size_t number_ = 0;
};

/// Carries a well-formed plan out, chunk by chunk.
class Run {
 public:
  Run(const Plan& plan, const std::vector<bool>& used, Placement placement, RankSetKind kind)
      : plan_(plan),
        symbols_(plan.shape, kind),
        map_(plan.shape, plan.scratch_chunks, placement),
        memory_(map_.start(symbols_)),
        value_of_(plan.moves.size()),
        where_(placement == Placement::in_place ? "in place, " : "") {
    size_t values = 0;
    for (size_t m = 0; m < plan.moves.size(); ++m) {
      value_of_[m] = values;
      if (used[m]) values += plan.moves[m].chunks;
    }
    value_of_.push_back(values);
    values_.resize(values);
  }

  Status check() {
    for (size_t m = 0; m < plan_.moves.size(); ++m) WEIR_TRY(carry_out(m));
    for (Rank rank = 0; rank < plan_.shape.ranks; ++rank) WEIR_TRY(check_output(rank));
    return {};
  }

 private:
  Contribution* look_up(Operand operand, Rank at) {
    if (operand.kind == Kind::none) return nullptr;
    if (operand.kind == Kind::value) return values_.data() + value_of_[operand.index];
    return memory_.data() + map_.place(at, operand);
  }

  Status carry_out(size_t number) {
    const Move& move = plan_.moves[number];
    const Contribution* from = look_up(move.from, move.src);
    const Contribution* with = look_up(move.with, move.dst);
    Contribution* to = look_up(move.to, move.dst);
    if (to != nullptr && (overlap(from, to, move.chunks) || overlap(with, to, move.chunks))) {
      return wrong("{}move {} reads and writes ranges of rank {} that overlap without being equal", where_,
                   number, move.dst);
    }
    Contribution* value = values_.data() + value_of_[number];
    const bool used = value_of_[number + 1] != value_of_[number];
    for (uint32_t c = 0; c < move.chunks; ++c) {
      Contribution result = from[c];
      if (!result.present()) return unwritten(number, move.from, move.src, c);
      if (with != nullptr) {
        if (!with[c].present()) return unwritten(number, move.with, move.dst, c);
        if (const auto sum = symbols_.add(with[c], from[c], result); sum != Symbols::Sum::right) {
          return wrong("{}move {} {}", where_, number, symbols_.refusal(sum, with[c], from[c], move.dst));
        }
      }
      WEIR_TRY(check_part(number, c, result));
      if (to != nullptr) to[c] = result;
      if (used) value[c] = result;
      if (c == 0) first_part_ = result.chunk % plan_.shape.chunks;
    }
    return {};
  }

  /// Chunks differ in length by their part of the block, so parts must be consecutive and fit into their
  /// destination.
  Status check_part(size_t number, uint32_t c, Contribution value) const {
    const Move& move = plan_.moves[number];
    const uint32_t parts = plan_.shape.chunks;
    const uint32_t part = value.chunk % parts;
    if (c > 0 && part != (first_part_ + c) % parts) {
      return wrong("{}move {} moves part {} of a block right after part {}: expected part {}", where_, number,
                   part, (first_part_ + c - 1) % parts, (first_part_ + c) % parts);
    }
    if (move.to.kind == Kind::output && (move.to.index + c) % parts != part) {
      return wrong("{}move {} writes part {} of a block into output chunk {}, which is for part {}", where_,
                   number, part, move.to.index + c, (move.to.index + c) % parts);
    }
    return {};
  }

  static bool overlap(const Contribution* source, const Contribution* to, uint32_t chunks) {
    return source != nullptr && source != to && source < to + chunks && to < source + chunks;
  }

  Status unwritten(size_t number, Operand operand, Rank at, uint32_t chunk) const {
    return wrong("{}move {} reads {} chunk {} of rank {}, which was never written", where_, number,
                 word(operand.kind), operand.index + chunk, at);
  }

  Status check_output(Rank rank) {
    const auto chunks = static_cast<uint32_t>(map_.chunks(rank, Kind::output));
    const Contribution* output = memory_.data() + map_.place(rank, {Kind::output, 0});
    for (uint32_t c = 0; c < chunks; ++c) {
      const Contribution expected = symbols_.expected(rank, c);
      if (symbols_.equal(output[c], expected)) continue;
      return wrong("{}after all moves output chunk {} of rank {} {}", where_, c, rank,
                   symbols_.difference(expected, output[c]));
    }
    return {};
  }

  const Plan& plan_;
  Symbols symbols_;
  MemoryMap map_;
  std::vector<Contribution> memory_;
  std::vector<Contribution> values_;
  std::vector<size_t> value_of_;  // index: move; first of its chunks in values_; one more entry than moves
  std::string_view where_;
  uint32_t first_part_ = 0;  // of the move being carried out
};

}  // namespace

Status check_shape(const Shape& shape, uint32_t scratch_chunks) {
  if (shape.kind >= Collective::send_recv) {
    return wrong(
        "a plan of {}: expected one of the collectives",
        shape.kind == Collective::send_recv ? "send_recv" : std::to_string(static_cast<int>(shape.kind)));
  }
  if (shape.ranks < 1 || shape.ranks > kMaxPlanRanks) {
    return wrong("a plan for {} ranks: expected 1 to {}", shape.ranks, kMaxPlanRanks);
  }
  if (shape.relays != 0 && (shape.kind != Collective::all_to_all || shape.relays < 0 || shape.members() < 1))
    return wrong("a plan of {} with {} relays among {} ranks: expected none, or fewer in an all-to-all",
                 name(shape.kind), shape.relays, shape.ranks);
  if (shape.chunks < 1) return wrong("a plan with blocks of 0 chunks: expected at least 1");
  if (shape.root < 0 || shape.root >= shape.ranks || (shape.root != 0 && !has_root(shape.kind))) {
    return wrong("root {} of {} over {} ranks: expected {}", shape.root, name(shape.kind), shape.ranks,
                 has_root(shape.kind) ? "one of the ranks" : "0, because the collective has no root");
  }
  uint64_t blocks = 0;
  for (Rank r = 0; r < shape.ranks; ++r) {
    blocks += static_cast<uint64_t>(input_blocks(shape, r)) + static_cast<uint64_t>(output_blocks(shape, r));
  }
  const uint64_t memory =
      blocks * shape.chunks + uint64_t{scratch_chunks} * static_cast<uint64_t>(shape.ranks);
  if (memory > kMaxPlanMemory) {
    return wrong("the plan uses {} chunks of memory over all ranks: expected at most {}", memory,
                 kMaxPlanMemory);
  }
  return {};
}

Status verify(const Plan& plan, RankSetKind kind) {
  WEIR_TRY(check_shape(plan.shape, plan.scratch_chunks));
  Forms forms(plan);
  WEIR_TRY(forms.check());
  WEIR_TRY(Run(plan, forms.used(), Placement::apart, kind).check());
  if (!has_in_place(plan.shape.kind)) return {};
  return Run(plan, forms.used(), Placement::in_place, kind).check();
}

}  // namespace weir::ir
