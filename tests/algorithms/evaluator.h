// SPDX-License-Identifier: Apache-2.0
/// Carries a plan out on real values: written apart from verify() and its symbols, to check them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

/// The outputs of all ranks. T is anything with +; memory that nothing has written holds T{}.
template <typename T>
class Evaluator {
 public:
  using Inputs = std::function<T(Rank rank, uint32_t chunk)>;

  Evaluator(const ir::Plan& plan, bool in_place) : plan_(plan) {
    const ir::Shape& s = plan.shape;
    for (Rank r = 0; r < s.ranks; ++r) {
      const size_t inputs = size_t{s.chunks} * static_cast<size_t>(input_blocks(s, r));
      const size_t outputs = size_t{s.chunks} * static_cast<size_t>(output_blocks(s, r));
      const size_t own = size_t{s.chunks} * static_cast<size_t>(r);
      Buffers& b = buffers_.emplace_back();
      b.input = 0;
      b.output = inputs;
      if (in_place && inputs > 0 && outputs > 0) {
        b.output = 0;
        if (s.kind == Collective::all_gather || s.kind == Collective::gather) b.input = own;
        if (s.kind == Collective::reduce_scatter || s.kind == Collective::scatter) b.output = own;
      }
      b.inputs = inputs;
      b.outputs = outputs;
      b.scratch = inputs + outputs;
      b.cells.resize(inputs + outputs + plan.scratch_chunks);
    }
  }

  std::vector<std::vector<T>> run(const Inputs& input) {
    for (Rank r = 0; r < plan_.shape.ranks; ++r) {
      Buffers& b = at(r);
      for (size_t c = 0; c < b.inputs; ++c) b.cells[b.input + c] = input(r, static_cast<uint32_t>(c));
    }
    for (const ir::Move& move : plan_.moves) carry_out(move);
    std::vector<std::vector<T>> outputs;
    for (const Buffers& b : buffers_) {
      const auto begin = b.cells.begin() + static_cast<std::ptrdiff_t>(b.output);
      outputs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(b.outputs));
    }
    return outputs;
  }

 private:
  struct Buffers {
    size_t input, output, scratch, inputs, outputs;
    std::vector<T> cells;
  };
  Buffers& at(Rank rank) { return buffers_[static_cast<size_t>(rank)]; }

  std::vector<T> read(Rank rank, const ir::Operand& operand, uint32_t chunks) {
    if (operand.kind == ir::Operand::Kind::value) return values_[operand.index];
    std::vector<T> result;
    for (uint32_t c = 0; c < chunks; ++c) result.push_back(cell(rank, operand, c));
    return result;
  }
  T& cell(Rank rank, const ir::Operand& operand, uint32_t c) {
    Buffers& b = at(rank);
    const size_t base = operand.kind == ir::Operand::Kind::input    ? b.input
                        : operand.kind == ir::Operand::Kind::output ? b.output
                                                                    : b.scratch;
    return b.cells[base + operand.index + c];
  }
  void carry_out(const ir::Move& move) {
    std::vector<T> made = read(move.src, move.from, move.chunks);
    if (move.with.kind != ir::Operand::Kind::none) {
      const std::vector<T> with = read(move.dst, move.with, move.chunks);
      for (uint32_t c = 0; c < move.chunks; ++c) made[c] = with[c] + made[c];
    }
    if (move.to.kind != ir::Operand::Kind::none) {
      for (uint32_t c = 0; c < move.chunks; ++c) cell(move.dst, move.to, c) = made[c];
    }
    values_.push_back(std::move(made));
  }

  const ir::Plan& plan_;
  std::vector<Buffers> buffers_;
  std::vector<std::vector<T>> values_;
};

/// What output chunk `chunk` of `rank` must be, straight from the definition of the collective.
template <typename T>
T defined_output(const ir::Shape& s, Rank rank, uint32_t chunk, const typename Evaluator<T>::Inputs& input) {
  const uint32_t block = chunk / s.chunks, part = chunk % s.chunks;
  const uint32_t own = static_cast<uint32_t>(rank) * s.chunks + part;
  const auto sum = [&](uint32_t c) {
    T total = input(0, c);
    for (Rank r = 1; r < s.ranks; ++r) total = total + input(r, c);
    return total;
  };
  switch (s.kind) {
    case Collective::all_reduce:
    case Collective::reduce: return sum(chunk);
    case Collective::reduce_scatter: return sum(own);
    case Collective::broadcast: return input(s.root, chunk);
    case Collective::all_gather:
    case Collective::gather: return input(static_cast<Rank>(block), part);
    case Collective::all_to_all: return input(static_cast<Rank>(block), own);
    case Collective::scatter: return input(s.root, own);
    default: return T{};
  }
}

}  // namespace weir::algorithms
