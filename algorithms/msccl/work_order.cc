// SPDX-License-Identifier: Apache-2.0

#include "algorithms/msccl/work_order.h"

#include <algorithm>
#include <utility>

#include "algorithms/ir/symbolic.h"
#include "algorithms/msccl/blocks.h"

namespace weir::msccl {
namespace {

using ir::Move;
using ir::Operand;
using Kind = Operand::Kind;

class Reader {
 public:
  explicit Reader(const ir::Plan& plan)
      : plan_(plan), map_(plan.shape, plan.scratch_chunks, tightest_placement(plan.shape)) {}

  WorkOrder read() {
    find_makers();
    find_order();
    return std::move(result_);
  }

 private:
  /// The last access to each chunk of memory.
  struct Cell {
    size_t writer = kNoMove;
    std::vector<size_t> readers;  // work since then
  };

  const Move& move(size_t number) const { return plan_.moves[number]; }

  bool last_written_by(const std::vector<size_t>& writer, Rank rank, Operand place, uint32_t chunks,
                       size_t number) const {
    const auto first = writer.begin() + static_cast<ptrdiff_t>(map_.place(rank, place));
    return std::all_of(first, first + chunks, [&](size_t last) { return last == number; });
  }

  void find_makers() {
    const size_t moves = plan_.moves.size();
    result_.maker.assign(moves, kNoMove);
    result_.uses.assign(moves, 0);
    result_.needs_copy.assign(moves, 0);
    std::vector<size_t> writer(map_.size(), kNoMove);
    for (size_t number = 0; number < moves; ++number) {
      const Move& own = move(number);
      for (const auto& [operand, rank] : {std::pair(own.from, own.src), std::pair(own.with, own.dst)}) {
        if (operand.kind != Kind::value) continue;
        ++result_.uses[operand.index];
        const Operand kept = move(operand.index).to;
        if (kept.in_memory() && !last_written_by(writer, rank, kept, own.chunks, operand.index))
          result_.needs_copy[operand.index] = 1;
      }
      if (own.src != own.dst) result_.maker[number] = maker_of(own, writer);
      if (!own.to.in_memory()) continue;
      std::fill_n(writer.begin() + static_cast<ptrdiff_t>(map_.place(own.dst, own.to)), own.chunks, number);
    }
  }

  size_t maker_of(const Move& own, const std::vector<size_t>& writer) const {
    const size_t found = own.from.kind == Kind::value ? own.from.index
                         : own.from.in_memory()       ? writer[map_.place(own.src, own.from)]
                                                      : kNoMove;
    if (found == kNoMove || move(found).src == move(found).dst) return kNoMove;
    if (own.from.kind == Kind::value) return found;
    const bool same = move(found).to == own.from && move(found).chunks == own.chunks;
    return same && last_written_by(writer, own.src, own.from, own.chunks, found) ? found : kNoMove;
  }

  void find_order() {
    std::vector<Cell> cells(map_.size());
    for (size_t number = 0; number < plan_.moves.size(); ++number) {
      const Move& own = move(number);
      const size_t source = sending(number), destination = receiving(plan_, number);
      read(cells, own.src, own.from, own.chunks, source);
      read(cells, own.dst, own.with, own.chunks, destination);
      if (own.to.in_memory()) write(cells, own, destination);
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    result_.pending.assign(2 * plan_.moves.size(), 0);
    result_.first.assign(2 * plan_.moves.size() + 1, 0);
    for (const auto& [before, after] : edges_) {
      ++result_.pending[after];
      ++result_.first[before + 1];
      result_.later.push_back(after);
    }
    for (size_t work = 1; work < result_.first.size(); ++work) result_.first[work] += result_.first[work - 1];
  }

  void order(size_t before, size_t after) {
    if (before != kNoMove && before != after) edges_.emplace_back(before, after);
  }

  void read(std::vector<Cell>& cells, Rank rank, Operand operand, uint32_t chunks, size_t work) {
    if (operand.kind == Kind::value) {
      order(receiving(plan_, operand.index), work);
      const Operand kept = move(operand.index).to;
      operand = result_.needs_copy[operand.index] != 0 ? Operand{} : kept;
    }
    if (!operand.in_memory()) return;
    for (uint32_t c = 0; c < chunks; ++c) {
      Cell& cell = cells[map_.place(rank, operand) + c];
      order(cell.writer, work);
      cell.readers.push_back(work);
    }
  }

  void write(std::vector<Cell>& cells, const Move& own, size_t work) {
    for (uint32_t c = 0; c < own.chunks; ++c) {
      Cell& cell = cells[map_.place(own.dst, own.to) + c];
      order(cell.writer, work);
      for (const size_t reader : cell.readers) order(reader, work);
      cell = {work, {}};
    }
  }

  const ir::Plan& plan_;
  const ir::MemoryMap map_;
  WorkOrder result_;
  std::vector<std::pair<size_t, size_t>> edges_;
};

}  // namespace

WorkOrder work_order_of(const ir::Plan& plan) { return Reader(plan).read(); }

}  // namespace weir::msccl
