// SPDX-License-Identifier: Apache-2.0
/// Builds plans move by move. An algorithm reads like its description:
///
///     Builder plan("ring", shape);
///     MoveId carried = plan.send(0, 1, input(c));                      // 0 -> 1
///     carried = plan.send(1, 2, value(carried), {.with = input(c)});   // 1 adds its own and passes it on
///
/// The builder does not check anything; verify() does.
/// Tests: tests/ir/verify_test.cc, tests/ir/text_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "algorithms/ir/plan.h"

namespace weir::ir {

using MoveId = uint32_t;

inline Operand input(uint32_t chunk) { return {Operand::Kind::input, chunk}; }
inline Operand output(uint32_t chunk) { return {Operand::Kind::output, chunk}; }
inline Operand scratch(uint32_t chunk) { return {Operand::Kind::scratch, chunk}; }
inline Operand value(MoveId move) { return {Operand::Kind::value, move}; }

/// Operations on a move's chunks at the destination.
struct Arrival {
  Operand with = {};  ///< left operand of the reduction
  Operand to = {};    ///< destination of the value
  uint32_t chunks = 1;
};

class Builder {
 public:
  Builder(std::string algorithm, Shape shape) : plan_{std::move(algorithm), shape, 0, {}} {}

  /// Later moves leave from lane `src` and arrive in lane `dst`. Both are initially 0.
  void lanes(uint8_t src, uint8_t dst) { src_lane_ = src, dst_lane_ = dst; }
  void lane(uint8_t both) { lanes(both, both); }

  /// src sends chunks to dst through a channel.
  MoveId send(Rank src, Rank dst, Operand from, Arrival arrival) {
    return add(src, dst, false, from, arrival);
  }
  /// dst reads chunks from the memory of src.
  MoveId pull(Rank src, Rank dst, Operand from, Arrival arrival) {
    return add(src, dst, true, from, arrival);
  }
  /// src writes chunks into the memory of dst, at `to`.
  MoveId push(Rank src, Rank dst, Operand from, Operand to, uint32_t chunks) {
    const MoveId move = add(src, dst, false, from, {.to = to, .chunks = chunks});
    plan_.moves[move].push = true;
    return move;
  }
  /// A copy or reduction within one rank, in the current destination lane.
  MoveId local(Rank rank, Operand from, Arrival arrival) {
    const MoveId move = add(rank, rank, false, from, arrival);
    plan_.moves[move].src_lane = dst_lane_;
    return move;
  }

  void scratch_chunks(uint32_t count) { plan_.scratch_chunks = count; }
  const Shape& shape() const { return plan_.shape; }
  Plan take() { return std::move(plan_); }

 private:
  MoveId add(Rank src, Rank dst, bool pull, Operand from, const Arrival& arrival) {
    plan_.moves.push_back(
        {src, dst, src_lane_, dst_lane_, pull, arrival.chunks, from, arrival.with, arrival.to, false});
    return static_cast<MoveId>(plan_.moves.size() - 1);
  }

  Plan plan_;
  uint8_t src_lane_ = 0;
  uint8_t dst_lane_ = 0;
};

}  // namespace weir::ir
