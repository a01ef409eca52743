// SPDX-License-Identifier: Apache-2.0

#include "tests/ir/draw.h"

#include <fmt/format.h>

#include <map>

namespace weir::ir {
namespace {

using Kind = Operand::Kind;

std::string words(Operand operand, uint32_t chunks) {
  constexpr std::string_view kWords[] = {"nothing", "input", "output", "scratch", "the value of move"};
  if (operand.kind == Kind::none) return "nothing";
  std::string text = fmt::format("{} {}", kWords[static_cast<int>(operand.kind)], operand.index);
  if (operand.in_memory() && chunks > 1) text += fmt::format("-{}", uint64_t{operand.index} + chunks - 1);
  return text;
}

std::string title(const Plan& plan) {
  const std::string root = has_root(plan.shape.kind) ? fmt::format(", root {}", plan.shape.root) : "";
  return fmt::format("{} by {}: {} ranks{}, {} chunks per block, {} of scratch, {} moves",
                     name(plan.shape.kind), plan.algorithm, plan.shape.ranks, root, plan.shape.chunks,
                     plan.scratch_chunks, plan.moves.size());
}

/// "from", "with + from": the value that a move makes, as the destination sees it.
std::string making(const Move& move) {
  std::string from = words(move.from, move.chunks);
  if (move.src != move.dst) from += fmt::format(" of rank {}", move.src);
  return move.with.kind == Kind::none ? from : fmt::format("{} + {}", words(move.with, move.chunks), from);
}

std::string at_destination(const Move& move) {
  const std::string_view verb = move.src == move.dst ? "makes"
                                : move.pull          ? "pulls"
                                : move.push          ? "receives (pushed)"
                                                     : "gets";
  const std::string kept =
      move.to.kind == Kind::none ? "forwards it" : "stores it in " + words(move.to, move.chunks);
  return fmt::format("{} {}, {}", verb, making(move), kept);
}

}  // namespace

std::string draw_table(const Plan& plan) {
  std::string text = title(plan) + "\n";
  std::map<Rank, std::string> ranks;
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank) ranks[rank];
  const auto line = [&](Rank rank, size_t move, int lane, const std::string& does) {
    ranks[rank] += fmt::format("{:>6}  {:>4}  {}\n", move, lane, does);
  };
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const Move& move = plan.moves[m];
    if (move.src != move.dst && !move.pull) {
      line(move.src, m, move.src_lane,
           fmt::format("sends {} to rank {}", words(move.from, move.chunks), move.dst));
    }
    line(move.dst, m, move.dst_lane, at_destination(move));
  }
  for (const auto& [rank, lines] : ranks)
    text += fmt::format("\nrank {}\n  move  lane  does\n{}", rank, lines);
  return text;
}

}  // namespace weir::ir
